"""The rule of thumb of `docs/questions/upload-limit.md`, and what its tables say of it.

`FLASHCROWD_WRITE=1 pytest -m slow -n 0 tests/docs/test_upload_rule.py` runs the study over each
line and in each other case, and writes the tables into the page (minutes).
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from benches.validation.points import made

import flashcrowd
from flashcrowd.base.units import Rate
from flashcrowd.report import headline, points, wording
from flashcrowd.scenario import Queue
from flashcrowd.scenario.line import line_values

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "questions" / "upload-limit.md"
STUDY = ROOT / "studies" / "upload-limit.toml"
TABLE = re.compile(r"(?<=<!-- rule -->\n\n).*?(?=\n<!-- end of rule -->)", re.S)
LINES = (
    "ADSL 1/8",
    "2/16 Mbit/s",
    "cable 5/50",
    "VDSL 10/50",
    "4G 10/40",
    "20/100 Mbit/s",
)
HEAD = (
    "line",
    "queue",
    "limit",
    "download",
    "ping",
    "download at 1.5 times the limit",
    "at no limit",
)
ROW = re.compile(
    r"^ +(?:[\d.]+ k?B/s|unlimited) +4 +[\d.]+ +(\S+)(?: %)? +[\d.]+ +(\S+)(?: %)?", re.M
)
"""What changes from no upload, in per cent: the 95th percentile of pings, and the download."""
SPARED = 2.0
"""Per cent of the download that the rule may cost."""

OTHERS = re.compile(r"(?<=<!-- others -->\n\n).*?(?=\n<!-- end of others -->)", re.S)
OTHERS_HEAD = ("line", "limit", "download", "ping", "lost pings")
LONG = {"access.down_queue": "1000 packets"}
CAKE = 'kind = "cake", bandwidth = "950 kbit/s"'
FAIR = {"access.up_queue": "fq-codel"}
BARE = {"access.up_queue": f"{{ {CAKE} }}"}
OTHER_CASES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("`cable 5/50`, a modem queue of 1000 packets", "cable 5/50", "200 kB/s", LONG),
    ("the same, half of the rule", "cable 5/50", "100 kB/s", LONG),
    ("`cable 5/50`", "cable 5/50", "375 kB/s", {}),
    ("`ADSL 1/8`, uploads over TCP", "ADSL 1/8", "unlimited", {"transport": "inherit"}),
    ("`ADSL 1/8`, FQ-CoDel", "ADSL 1/8", "75 kB/s", FAIR),
    ("the same without a limit", "ADSL 1/8", "unlimited", FAIR),
    ("`ADSL 1/8`, CAKE without its ACK filter", "ADSL 1/8", "75 kB/s", BARE),
    ("the same without a limit", "ADSL 1/8", "unlimited", BARE),
)
"""Words of the table, the line, the limit, and what else is set."""
PLACES = {
    "access.up_queue": "network.groups.home.access.up_queue",
    "access.down_queue": "network.groups.home.access.down_queue",
    "transport": "workloads.seeding.populations.others.transport",
}


def queue_ms(line: str) -> float:
    """How long the modem holds a download."""
    values = {"down_queue": "200 packets", **line_values(line)}
    packets = re.fullmatch(r"(\d+) packets", str(Queue(values["down_queue"])))
    assert packets is not None
    return int(packets[1]) * 1500 * 8e3 / Rate(values["down"]).bps


def limit_kbs(line: str) -> float:
    """The rule: upload in Mbit/s, times the queue in ms, over 6."""
    return Rate(line_values(line)["up"]).bps / 1e6 * queue_ms(line) / 6


def rows(text: str) -> list[list[str]]:
    found = TABLE.search(text)
    assert found is not None
    lines = found[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines[2:]]


def test_the_limits_of_the_table_are_those_of_the_rule_and_spare_the_download() -> None:
    found = rows(PAGE.read_text(encoding="utf-8"))
    assert [row[0].strip("`") for row in found] == list(LINES)
    for line, (_, queue, limit, download, ping, more, _) in zip(LINES, found, strict=True):
        up = Rate(line_values(line)["up"]).bps
        share = 100 * limit_kbs(line) * 8e3 / up
        assert queue == f"{queue_ms(line):.0f} ms"
        assert limit == f"{limit_kbs(line):.0f} kB/s ({share:.0f} %)"
        assert float(_number(download)) > -SPARED
        assert ping.startswith("−"), "no worse"
        assert float(_number(more)) < 2 * float(_number(download)), "a bound that bounds"


def _number(cell: str) -> str:
    return cell.removesuffix(" %").replace("−", "-")


def played(
    line: str, limits: list[str], measures: list[str], folder: Path, *words: str
) -> tuple[str, Path]:
    """What a run of the study over another line prints, and its results."""
    text = STUDY.read_text(encoding="utf-8").split("[[sweep]]")[0]
    text = text.replace('"ADSL 1/8"', f'"{line}"').replace("repeats = 8", "repeats = 4")
    listed = ", ".join(f'"{each}"' for each in limits)
    text += f"[sweep]\nworkloads.seeding.populations.home.upload = [{listed}]\n\n[report]\n"
    text += f'headline = {json.dumps(measures)}\nbaseline = {{ upload = "0 B/s" }}\n'
    study = folder / "rule.toml"
    study.write_text(text, encoding="utf-8")
    out = folder / "results"
    done = subprocess.run(
        [sys.executable, "-m", "flashcrowd", "run", str(study), "--out", str(out), *words],
        env=os.environ | {"COLUMNS": "140"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout, out


def row(line: str, folder: Path) -> list[str]:
    """A line of the table, run."""
    limit = limit_kbs(line)
    limits = ["0 B/s", f"{limit:g} kB/s", f"{1.5 * limit:g} kB/s", "unlimited"]
    printed, _ = played(line, limits, ["p95 ping", "goodput of download"], folder)
    _, (ping, download), (_, more), (_, none) = ROW.findall(printed)
    up = Rate(line_values(line)["up"]).bps
    return [
        f"`{line}`", f"{queue_ms(line):.0f} ms",
        f"{limit:.0f} kB/s ({100 * limit * 8e3 / up:.0f} %)",
        *(f"{each} %" for each in (download, ping, more, none)),
    ]  # fmt: skip


def other(case: str, line: str, limit: str, sets: dict[str, str], folder: Path) -> list[str]:
    """A line of the table of other cases, run."""
    words = [f"{PLACES[key]}={value}" for key, value in sets.items()]
    measures = ["p95 ping", "unanswered pings", "goodput of download"]
    asked = ["--set", *words] if words else []
    _, out = played(line, ["0 B/s", limit], measures, folder, *asked)
    results = flashcrowd.open(out)
    read = points.points_of(results)
    of = headline.headline(results, read)
    ping, lost, download = of.measures
    change = of.change(download, read.points[1])
    assert change
    cells = [wording.change(change)[0]]
    for measure in (ping, lost):
        before, after = (measure.at(point) for point in read.points)
        assert before
        assert after
        ends = dict.fromkeys(f"{it.mean:.0f}" for it in (before, after))
        cells.append(f"{' to '.join(ends)} {measure.unit}")
    return [case, limit, *cells]


def written(
    what: str, head: Sequence[str], found: Sequence[Sequence[str]], place: re.Pattern[str]
) -> None:
    """Compares a table with that of the page, or writes it there."""
    table = "".join(f"| {' | '.join(each)} |\n" for each in [head, ["---"] * len(head), *found])
    text = PAGE.read_text(encoding="utf-8")
    fresh = place.sub(lambda _: table, text)
    if os.environ.get("FLASHCROWD_WRITE"):
        PAGE.write_text(fresh, encoding="utf-8")
        made("questions/upload-limit.md", what, date.today())
    else:
        assert fresh == text


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_table_is_what_the_study_shows(tmp_path: Path) -> None:
    found = []
    for number, line in enumerate(LINES):
        (tmp_path / str(number)).mkdir()
        found.append(row(line, tmp_path / str(number)))
    written("the rule over six lines", HEAD, found, TABLE)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_table_of_other_cases_is_what_the_study_shows(tmp_path: Path) -> None:
    found = []
    for number, case in enumerate(OTHER_CASES):
        (tmp_path / str(number)).mkdir()
        found.append(other(*case, tmp_path / str(number)))
    written("other cases", OTHERS_HEAD, found, OTHERS)
