"""Traps: each is a study, the oracle is the best fixed limit, and a table says who copes."""

from pathlib import Path

import numpy as np
import pytest

from flashcrowd import traps
from flashcrowd.cli import main
from flashcrowd.study import Study
from flashcrowd.study.runner import run
from flashcrowd.traps import outcome, trap, words
from flashcrowd.traps.observed_run import ObservedRun
from flashcrowd.traps.trap import CONTROL, REFLECTORS, SHARES


@pytest.mark.parametrize("name", traps.names())
def test_each_is_a_study_with_all_that_is_held_against_each_other(name: str) -> None:
    one = trap.load(name)
    study = one.study(traps.controllers(), repeats=1)
    named = [dict(point.values)[CONTROL]["name"] for point in study.points()]
    assert named == ["fixed"] * len(SHARES) + traps.controllers()
    assert 0 <= one.begin_s <= one.from_s < one.to_s
    assert all(start < to for start, to in one.stretches)
    assert one.says in study.title


def test_what_a_trap_does_not_say_is_as_on_the_line() -> None:
    below = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    assert trap.laid_over(below, {"a": {"c": {"d": 4}}, "e": {"f": 5}}) == {
        "a": {"b": 1, "c": {"d": 4}},
        "e": {"f": 5},
    }
    assert below["e"] == 3
    usual, two = trap.load("usual"), trap.load("two-clients")
    assert [2 * each.bps for each in two.limits] == [each.bps for each in usual.limits]


def seen(up: float, down: float, rtt_ms: float, seed: int = 1) -> ObservedRun:
    """A run in which nothing ever changes."""
    seconds = np.arange(180.0)
    nothing = np.empty(0)
    return ObservedRun(
        seed, np.full(180, up), np.full(180, down), seconds, np.full(180, rtt_ms), nothing, None
    )


def test_the_oracle_is_the_highest_limit_that_does_no_harm() -> None:
    usual = trap.load("usual")
    (stretch,) = usual.stretches
    harm = [[seen(1, 8e6 if share <= 0.5 else 7e6, 300 + share)] for share in SHARES]
    assert SHARES[outcome._oracle(usual, harm, stretch)] == 0.5
    # Without a download it is a queue that stands: a packet of 12 ms is none.
    queue = [[seen(1, 0, 56 if share <= 0.7 else 69)] for share in SHARES]
    assert SHARES[outcome._oracle(usual, queue, stretch)] == 0.7


def test_a_controller_is_measured_by_the_oracle() -> None:
    usual = trap.load("usual")
    best = outcome._Oracle(usual, [[seen(4e5, 8e6, 300, seed) for seed in (1, 2)]])
    runs = [seen(2e5, 8e6, 310, 1), seen(1e5, 4e6, 350, 2)]
    found = outcome._outcome(best, "ours", runs)
    assert found.upload.mean == pytest.approx(0.375)
    assert found.download is not None
    assert found.download.mean == pytest.approx(0.75)
    assert found.delay_ms.mean == pytest.approx(30)
    # The second run is below half of the oracle's upload all the time, in means over 5 s.
    assert (found.half_s.minimum, found.half_s.maximum) == (0, 116)
    assert found.start_s == float("inf")
    assert found.aims == {
        "download": False,
        "upload": False,
        "delay": True,
        "start": False,
        "step": True,
        "half": False,
    }
    own = outcome._outcome(best, "oracle", None)
    assert all(own.aims.values())
    assert own.start_s == 10


def test_a_trap_is_run_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["traps", "only-uploads", "--controller", "unlimited", "--repeats", "1"]
    with pytest.raises(SystemExit) as ended:
        main([*command, "--out", str(tmp_path)])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    page = (tmp_path / "traps.md").read_text(encoding="utf-8")
    (found,) = traps.conduct(["only-uploads"], ["unlimited"], tmp_path, repeats=1)
    assert words.title(found) in printed
    assert words.title(found) in page
    oracle, unlimited = found.outcomes
    # Without a limit the whole queue stands: a second and more.
    assert 0.5 <= found.shares[0] < 1
    assert unlimited.upload.mean > oracle.upload.mean
    assert unlimited.delay_ms.mean > 500


def test_what_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words_ in (["nowhere"], ["usual", "--controller", "nobody"]):
        with pytest.raises(SystemExit) as ended:
            main(["traps", *words_])
        assert ended.value.code == 2
        assert "there are" in capsys.readouterr().err


def test_a_start_behind_a_queue_of_the_client_finds_the_line(tmp_path: Path) -> None:
    """The client has uploaded without a limit for up to 20 s, and the modem's queue is full."""
    one = trap.load("only-uploads")
    control = {"name": "autolimit-delay", "reflector": list(REFLECTORS), "start_spread": "20 s"}
    document = {**one.document, "sweep": {CONTROL: [control]}}
    place = trap.HOME / f"{one.name}.toml"
    study = Study.from_dict(document, place=str(place), directory=trap.HOME, repeats=8)
    rows = run(study, out=tmp_path, jobs=2).control
    runs, times, limits = (rows[name].to_numpy() for name in ("run", "t_s", "limit_bps"))
    for each in range(8):
        since = times[runs == each] - times[runs == each][0]
        found = limits[runs == each][(since >= 30) & (since < 60)] / 8e3
        # The line has 125 kB/s, and the share is 0.4 of it.
        assert np.median(found) > 30, f"run {each}"
