"""The rule of thumb of `docs/questions/upload-limit.md`, and what its table says of it.

`FLASHCROWD_WRITE=1 pytest -m slow -n 0 tests/docs/test_upload_rule.py` runs the study over each
line and writes the table into the page (minutes).
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flashcrowd.base.units import Rate
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


def row(line: str, folder: Path) -> list[str]:
    """A line of the table, run."""
    limit = limit_kbs(line)
    limits = ["0 B/s", f"{limit:g} kB/s", f"{1.5 * limit:g} kB/s", "unlimited"]
    text = STUDY.read_text(encoding="utf-8").split("[[sweep]]")[0]
    text = text.replace('"ADSL 1/8"', f'"{line}"').replace("repeats = 8", "repeats = 4")
    listed = ", ".join(f'"{each}"' for each in limits)
    text += f"[sweep]\nworkloads.seeding.populations.home.upload = [{listed}]\n\n[report]\n"
    text += 'headline = ["p95 ping", "goodput of download"]\nbaseline = { upload = "0 B/s" }\n'
    study = folder / "rule.toml"
    study.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "flashcrowd", "run", str(study), "--out", str(folder / "results")],
        env=os.environ | {"COLUMNS": "140"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    _, (ping, download), (_, more), (_, none) = ROW.findall(done.stdout)
    up = Rate(line_values(line)["up"]).bps
    return [
        f"`{line}`", f"{queue_ms(line):.0f} ms",
        f"{limit:.0f} kB/s ({100 * limit * 8e3 / up:.0f} %)",
        *(f"{each} %" for each in (download, ping, more, none)),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_table_is_what_the_study_shows(tmp_path: Path) -> None:
    found = []
    for number, line in enumerate(LINES):
        (tmp_path / str(number)).mkdir()
        found.append(row(line, tmp_path / str(number)))
    table = "".join(f"| {' | '.join(each)} |\n" for each in [HEAD, ["---"] * len(HEAD), *found])
    text = PAGE.read_text(encoding="utf-8")
    fresh = TABLE.sub(lambda _: table, text)
    if os.environ.get("FLASHCROWD_WRITE"):
        PAGE.write_text(fresh, encoding="utf-8")
    else:
        assert fresh == text
