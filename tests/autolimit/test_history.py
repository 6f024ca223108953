"""The history of a run, and the page of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from flashcrowd.autolimit import history, page
from flashcrowd.autolimit.session import Status
from flashcrowd.cli import main
from flashcrowd.client_api.client import Refused
from flashcrowd.store import ResultsError

MS = 10**6
SECOND = 10**9


def status(
    up: float | None, delay: int | None, phase: str = "raising", down: float = 5e5
) -> Status:
    return Status(up, down, 100_000, 100_000, delay, delay, 10**7, phase, "no queue stands")


def test_rows_come_back_and_another_run_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    for run in range(2):
        written = history.History(folder, client="Fake 1", control="fixed")
        for second in range(40):
            if second == 3:
                written.remark(second * SECOND, f"remark of {run}")
            written.status(second * SECOND, status(1e4 * second if second else None, 5_000_000))
            written.status(second * SECOND + 1, status(None, None))
        assert history.read(folder)[1].num_rows == 40 * run + 30, "on disk while it runs"
        written.flush()
    manifest, table = history.read(folder)
    assert manifest["client"] == "Fake 1"
    assert table.num_rows == 80
    assert table["up_bytes_per_s"].to_pylist()[:2] == [None, 1e4]
    assert [text for _, text in history.remarks(table)] == ["remark of 0", "remark of 1"]


def test_the_page_says_what_happened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = history.History(tmp_path, client="Fake 1", control="fixed")
    written.remark(0, "the <route> has changed")
    for second in range(50):
        phase = "holding" if second % 5 == 0 else "raising"
        written.status(second * SECOND, status(1e4, 1_000_000 * second, phase))
    written.flush()
    with pytest.raises(SystemExit) as ended:
        main(["report", str(tmp_path)])
    assert ended.value.code == 0
    said = (tmp_path / "report.html").read_text().replace("\u00a0", " ")
    assert "Yes: the added delay was at no time above 150 ms (median 24 ms, " in said
    assert "Mean upload 10 kB/s, mean download 500 kB/s, last limit 100 kB/s." in said
    assert "the &lt;route&gt; has changed" in said
    assert "20 %" in said
    assert "80 %" in said
    assert (tmp_path / "figures" / "autolimit.svg").is_file()


def test_the_page_says_no_where_the_line_was_not_left_free(tmp_path: Path) -> None:
    written = history.History(tmp_path, client="Fake 1", control="fixed")
    for second in range(50):
        written.status(second * SECOND, status(1e4, 8_000_000 * second, "raising"))
    written.flush()
    lead = page.made(*history.read(tmp_path)).lead
    assert lead.startswith("No: the added delay was for 62 % of the time above 150 ms")


@pytest.mark.parametrize(
    ("late", "verdict"), [(0, "Yes"), (1, "Mostly"), (9, "Mostly"), (11, "No")]
)
def test_the_verdict_goes_by_the_part_of_the_time(late: int, verdict: str, tmp_path: Path) -> None:
    written = history.History(tmp_path, client="Fake 1", control="autolimit-delay")
    for second in range(100):
        written.status(second * SECOND, status(1e4, (245 if second < late else 1) * MS))
    written.flush()
    lead = page.made(*history.read(tmp_path)).lead
    assert lead.startswith(f"{verdict}: the added delay was "), lead


def test_a_page_has_nothing_to_show_of_downloads_that_were_none(tmp_path: Path) -> None:
    written = history.History(tmp_path, client="Fake 1", control="autolimit-delay")
    for second in range(50):
        written.status(second * SECOND, status(1e4, MS, down=0.0))
    written.flush()
    page.write(tmp_path, tmp_path)
    said = (tmp_path / "report.html").read_text().replace("\u00a0", " ")
    assert ">download" not in said, "neither a row nor an axis nor a key"
    assert "mean download" not in said
    assert "95 % of the delays below" not in said, "one row per stretch"
    assert "autolimit-delay (--favour delay)" in said


@pytest.mark.parametrize(
    ("up", "much"), [(0.0, "nothing"), (None, "nothing"), (1.2e3, "at most 1.2 kB/s")]
)
def test_the_page_of_a_run_without_uploads_says_that_it_shows_nothing(
    up: float | None, much: str, tmp_path: Path
) -> None:
    written = history.History(tmp_path, client="Fake 1", control="fixed")
    for second in range(50):
        written.status(second * SECOND, status(up, 1_000_000, "waiting"))
    written.flush()
    lead = page.made(*history.read(tmp_path)).lead
    assert lead.startswith(f"This session does not show it: the client uploaded {much}. ")


def test_a_history_without_answers_has_a_page(tmp_path: Path) -> None:
    written = history.History(tmp_path, client="Fake 1")
    written.status(0, Status(None, None, None, None, None, None, None, "learning", "why"))
    written.flush()
    page.write(tmp_path, tmp_path)
    assert "No probe was answered" in (tmp_path / "report.html").read_text()


def test_a_run_goes_on_without_its_history(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    written = history.History(folder)
    shutil.rmtree(folder)
    for second in range(70):
        written.status(second * SECOND, status(1e4, MS))
    assert str(folder) in written.failed
    assert written.failed.endswith("cannot be written: No such file or directory")


def test_what_is_no_history_is_said(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(Refused, match="something else"):
        history.History(tmp_path)
    (tmp_path / history.MANIFEST).write_text("[]")
    with pytest.raises(ResultsError):
        history.read(tmp_path)
    (tmp_path / history.MANIFEST).write_text('{"format": 1}')
    with pytest.raises(ResultsError, match="no rows"):
        history.read(tmp_path)
