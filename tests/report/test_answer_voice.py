"""Whatever comes out of a study, its answer keeps to plain English."""

from __future__ import annotations

from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.conftest import Synthetic
from tests.report.voice import NUMBER, UNIT, breaches

from flashcrowd.report import answer, axis_words, lacking
from flashcrowd.report.headline import headline
from flashcrowd.report.points import Axis, points_of

AXES = {
    "network.rtt": ["0 ms", "25 ms", "100 ms", "400 ms", "1 s"],
    "network.loss": ["none", "1 %", "5 %", "2 % in bursts of 2"],
    "network.groups.home.access.up_queue": ["20 packets", "200 packets", "fq-codel"],
    "workloads.upload.flows": [0, 1, 4],
    "workloads.upload.limit": ["25 kB/s", "50 kB/s", "100 kB/s", "unlimited"],
    "workloads.upload.transport": ["linux-6", "bbr", "libutp", "ledbat-plus-plus", "cubic"],
    "stacks.linux.tso": [True, False],
    "workloads.swarm.populations.people.departure": ["at-once", "after 1 min", "all-done"],
}
"""Swept paths with some of their values."""

HOW_SURE = ("The diff", "Each diff", "Each number is a", "The runs of a", "How well")
"""How the sentence begins that says how sure the others are."""

NUMBERS = st.floats(0.001, 5000, allow_nan=False).map(lambda it: float(f"{it:.4g}"))


@st.composite
def studies(draw: st.DrawFn) -> Synthetic:
    """Results of a sweep over one to three axes, or none, with what may come of it."""
    paths = draw(st.lists(st.sampled_from(sorted(AXES)), max_size=3, unique=True))
    axes = {path: draw(chosen(AXES[path])) for path in paths}
    repeats = draw(st.sampled_from([1, 2, 3, 8]))
    noise = draw(st.sampled_from([0.0, 0.01, 0.3]))
    lost = draw(st.sampled_from([0.0, 0.0, 0.2]))
    level = draw(NUMBERS)
    runs, transfers, pings = [], [], []
    for point, values in enumerate(product(*axes.values())):
        factor = draw(st.sampled_from([1.0, 1.0, 1.01, 1.2, 3.0, 40.0]))
        bad = draw(st.floats(0, 1)) < lost
        for repeat in range(repeats):
            run = len(runs)
            luck = 1 + noise * draw(st.sampled_from([-1.0, 0.0, 0.5, 1.0]))
            runs.append(
                {"run": run, "point": point, "repeat": repeat, "seed": repeat,
                 **dict(zip(paths, values, strict=True)),
                 "outcome": "undelivered" if bad and repeat == 0 else "completed",
                 "reason": "", "end_s": 60.0}
            )  # fmt: skip
            rate = 1e6 * level * luck / factor
            for name in ("upload", "download"):
                transfers.append(
                    {"run": run, "transfer": name, "flow": 0, "start_s": 0.0, "end_s": None,
                     "duration_s": None, "bytes": int(rate * 7), "goodput_bps": rate,
                     "mean_rtt_s": None}
                )  # fmt: skip
            for sent in (0.0, 1.0):
                rtt = None if bad and sent else 0.02 * factor * luck
                pings.append({"run": run, "ping": "game", "sent_s": sent, "rtt_s": rtt})
    tables = {
        "runs": pa.Table.from_pylist(runs),
        "transfers": pa.Table.from_pylist(transfers),
        "pings": pa.Table.from_pylist(pings),
    }
    workloads = {"upload": {"kind": "transfer"}, "download": {"kind": "transfer"}}
    report = draw(st.sampled_from([{}, {"matters": "1 %"}, {"headline": ["p95 ping"]}]))
    title = {"title": "Does it?", "report": report}
    return Synthetic(tables, {**title, "workloads": {**workloads, "game": {"kind": "ping"}}})


def chosen(values: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=2, unique=True)


@given(studies())
def test_every_sentence_of_an_answer_keeps_to_the_voice(results: Synthetic) -> None:
    points = points_of(results)
    found = headline(results, points)
    notes = [text for measure in found.measures for text in lacking.sentences(measure, points)]
    said = [text for text in answer.sentences(found, points) if text not in notes]
    assert len([text for text in said if not text.startswith(HOW_SURE)]) <= 3
    assert len([text for text in said if text.startswith(HOW_SURE)]) <= 1
    for text in said:
        assert breaches(text) == [], text
        assert not NUMBER.search(text) or UNIT.search(text), text


@pytest.mark.parametrize(
    ("path", "values", "words"),
    [
        ("network.rtt", ["0 ms", "400 ms"], "an RTT of 0 or 400 ms"),
        (
            "network.groups.home.access.up_queue",
            ["20 packets"],
            "a home upload queue of 20 packets",
        ),
        ("network.groups.home.access.up_queue", ["fq-codel"], "FQ-CoDel as home upload queue"),
        ("workloads.upload.flows", ["1"], "1 upload flow"),
        ("workloads.upload.flows", ["0", "1"], "0 or 1 upload flows"),
        ("workloads.upload.limit", ["unlimited"], "no upload limit"),
        (
            "workloads.s.populations.peers.upload",
            ["20 kB/s", "unlimited"],
            "a peers' upload limit of 20 kB/s or unlimited",
        ),
        ("network.loss", ["none", "2 %"], "no loss or 2 %"),
        ("network.loss", ["2 % in bursts of 4"], "a loss of 2 % in bursts of 4"),
        ("network.stack", ["linux-6", "bbr"], "linux-6 or BBR as stack"),
        ("workloads.a.at", ["x"], "a at x"),
        ("stacks.own.tso", [True], "TSO on"),
    ],
)
def test_settings_have_their_article_and_plural(path: str, values: list[Any], words: str) -> None:
    from flashcrowd.report.setting_names import short_name

    axis = Axis((path,), short_name(path, [path]), tuple((value,) for value in values))
    assert axis_words.settings(axis, range(len(values))) == words
