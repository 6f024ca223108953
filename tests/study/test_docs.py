"""The examples of `docs/studies.md`: the first is complete, the others are added to it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from flashcrowd.base.errors import StudyError
from flashcrowd.base.metrics import METRICS
from flashcrowd.scenario import LINES
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.trace_file import read_capacity
from flashcrowd.study import Study

PAGE = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.M | re.S)


def merged(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        added = {key: merged(below.get(key), value) for key, value in above.items()}
        return {**below, **added}
    return above


FIRST, *PARTS = [tomllib.loads(text) for text in blocks("toml")]


def test_the_first_example_is_complete():
    assert len(list(Study.from_dict(FIRST).runs())) == 20


@pytest.mark.parametrize("part", PARTS, ids=[",".join(part) for part in PARTS])
def test_the_others_can_be_added_to_it(part: dict[str, Any]):
    document = {**FIRST, "sweep": {}}
    Study.from_dict(merged(document, part))


def test_the_csv_is_read(tmp_path):
    text, trace = blocks("csv")
    (tmp_path / "sites.csv").write_text(text)
    assert read_capacity(_written(tmp_path, trace), Files(tmp_path)).bps[2] == 0
    rtt = {"network": {"rtt": {"file": "sites.csv"}}}
    study = Study.from_dict(merged({**FIRST, "sweep": {}}, rtt), directory=tmp_path)
    (point,) = study.points()
    draw = point.plan().data["network"]["cores"][0]["draw"]
    assert draw is not None
    assert draw["rtt_s"] == [(0.0, 0.002), (0.5, 0.04), (1.0, 0.3)]
    assert Study.from_dict(study.resolved()).fingerprint() == study.fingerprint()


def _written(folder: Path, text: str) -> str:
    (folder / "trace.csv").write_text(text)
    return "trace.csv"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fraction,RTT\n0,1\n",
        "fraction,RTT [kg]\n0,1\n",
        "f,RTT [ms]\nx,1\n",
        "f,RTT [ms]\n2,1\n",
    ],
)
def test_a_csv_that_is_none_is_refused(tmp_path, text: str):
    (tmp_path / "sites.csv").write_text(text)
    rtt = {"network": {"rtt": {"file": "sites.csv"}}}
    with pytest.raises(StudyError, match=r"network\.rtt"):
        Study.from_dict(merged({**FIRST, "sweep": {}}, rtt), directory=tmp_path)


def test_the_python_runs(capsys):
    (code,) = blocks("python")
    exec(compile(code, "studies.md", "exec"), {})
    assert capsys.readouterr().out.startswith("network.rtt = 40 ms ")


def test_every_metric_is_on_the_page():
    for metric in METRICS:
        kinds = ", ".join([metric.kind, *metric.others])
        row = f"| {metric.name} | {kinds} | {metric.unit} | {metric.meaning} |"
        assert row in PAGE, row


def test_every_access_line_is_on_the_page():
    for name, values in LINES.items():
        row = next(line for line in PAGE.splitlines() if line.startswith("|") and name in line)
        assert values["up"] in row
        assert values["delay"] in row
