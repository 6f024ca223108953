"""What a comparison says of two engines: their names, and which runs are in no mean."""

from __future__ import annotations

import pyarrow as pa

from flashcrowd.report import compare_match
from flashcrowd.report.compare_side import Side


def side(name: str, program: str, *outcomes: tuple[str, str], commit: str = "c1") -> Side:
    runs = {"outcome": [it for it, _ in outcomes], "reason": [why for _, why in outcomes]}
    return Side(name, {"runs": pa.table(runs)}, {}, {"commit": commit}, program=program)


def test_two_engines_of_one_build_are_no_different_programs():
    simulated = side("simulation", "simulation 0.1.0 (abc)")
    emulated = side("emulation", "emulation 0.1.0 (def)")
    assert not list(compare_match._programs([simulated, emulated]))
    for other in (
        side("emulation", "emulation 0.2.0 (def)"),
        side("emulation", "emulation 0.1.0 (def)", commit="c2"),
    ):
        (said,) = compare_match._programs([simulated, other])
        assert said.startswith("Made by different programs")
    (said,) = compare_match._programs([simulated, side("new", "simulation 0.1.0 (abd)"), emulated])
    assert "new by simulation 0.1.0 (abd)" in said


def test_folders_of_two_engines_have_their_names():
    folders = ["/a/one", "/b/two"]
    assert compare_match.names_of(["simulation", "emulation"], folders) == [
        "simulation",
        "emulation",
    ]
    assert compare_match.names_of(["simulation", "simulation"], folders) == ["one", "two"]


def test_an_engine_is_not_named_twice():
    of = side("emulation", "emulation 0.1.0 (abc)")
    assert compare_match._made_by(of) == "emulation 0.1.0 (abc)"
    of = side("before", "simulation 0.1.0 (abc)")
    assert compare_match._made_by(of) == "before by simulation 0.1.0 (abc)"


def test_runs_that_are_in_no_mean_are_named_with_the_reason():
    found = side(
        "emulation", "", ("completed", ""), ("invalid", "too late"), ("failed", "aria2 ended")
    )
    assert list(compare_match._uncounted(found)) == [
        "1 of 3 runs of emulation are invalid, and count in no mean: too late.",
        "1 of 3 runs of emulation failed, and count in no mean: aria2 ended.",
    ]
    assert not list(compare_match._uncounted(side("simulation", "", ("stalled", "no block"))))
