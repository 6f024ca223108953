"""Why it was slow, from tables whose numbers are known."""

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from flashcrowd.report import diagnosis, points, waits
from flashcrowd.report.diagnosis import sentences
from flashcrowd.scenario.queue import DISCIPLINES

UPLOAD = "workloads.swarm.populations.seed.upload"


@dataclass
class Known:
    """What a report reads."""

    tables: dict[str, pa.Table]
    study: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)


def run(number: int, **more: Any) -> dict[str, Any]:
    outcome = {"outcome": "completed", "reason": "", "end_s": 9.0}
    return {"run": number, "point": 0, "repeat": number, "seed": number, **outcome, **more}


def population(run: int, role: str, **more: Any) -> dict[str, Any]:
    shares = dict.fromkeys(
        [f"{word}_share" for word in ("alone", "uninterested", "choked", "unchoked", "idle")], None
    )
    return {
        "run": run, "swarm": "swarm", "population": {"seed": "seed"}.get(role, "homes"),
        "role": role, "peers": 1, "completed": 0, "uploaded_bytes": 0, "downloaded_bytes": 0,
        "wasted_bytes": 0, "timeouts": 0, "online_s": 100.0, "downloading_s": 100.0,
        "needed_s": 100.0, "limited_share": 0.0, **shares, **more,
    }  # fmt: skip


def link(name: str, utilisation: float | None, wait_s: float | None = 0.0) -> dict[str, Any]:
    return {
        "run": 0, "link": name, "packets": 10, "bytes": 1, "dropped": 0, "lost": 0,
        "mean_queue_delay_s": wait_s, "max_queue_packets": 1, "utilisation": utilisation,
    }  # fmt: skip


def known(study: dict[str, Any] | None = None, **rows: list[dict[str, Any]]) -> Known:
    rows.setdefault("runs", [run(0)])
    return Known({name: pa.Table.from_pylist(found) for name, found in rows.items()}, study or {})


def swarm(upload: str) -> dict[str, Any]:
    return {"workloads": {"swarm": {"populations": {"seed": {"upload": upload}}}}}


def test_a_used_up_limit_is_named_with_its_value_and_its_share() -> None:
    rows = [population(0, "seed", limited_share=0.97, idle_share=0.01)]
    (text,) = sentences(known(swarm("100 kB/s"), populations=rows))
    assert text == (
        "The upload limit of seed (100 kB/s) was used up 97 % of the time in which a peer still "
        "downloaded."
    )


def test_who_must_not_upload_is_not_said_to_have_nothing_to_upload() -> None:
    rows = [population(0, "seed", idle_share=1.0)]
    assert sentences(known(swarm("0 B/s"), populations=rows)) == [
        "Seed was not allowed to upload (0 B/s)."
    ]


def test_a_swept_limit_is_that_of_the_point_and_a_changed_one_is_left_out() -> None:
    rows = [population(number, "seed", limited_share=0.5) for number in (0, 1)]
    runs = [run(0, **{UPLOAD: "1 kB/s"}), run(1, point=1, **{UPLOAD: "2 kB/s"})]
    results = known(swarm("9 kB/s"), populations=rows, runs=runs)
    second = points.read(results.tables["runs"]).points[1]
    assert "of seed (2 kB/s) was" in sentences(results, second)[0]
    assert "of seed was" in sentences(results)[0]
    changed = swarm("9 kB/s") | {"timeline": {"more": {"change": UPLOAD, "to": "1 MB/s"}}}
    assert "of seed was" in sentences(known(changed, populations=rows[:1]))[0]


def test_shares_are_weighted_with_their_times_and_the_greatest_comes_first() -> None:
    rows = [
        population(0, "leecher", choked_share=0.5, alone_share=0.01, unchoked_share=0.49),
        population(1, "leecher", choked_share=0.1, uninterested_share=0.9, downloading_s=300.0),
    ]
    assert sentences(known(populations=rows)) == [
        "90 % of their time, homes had neighbours, and none of them had a piece to ask for.",
        "20 % of their time, homes waited for a slot: all who had what they lacked choked them.",
    ]


def test_an_idle_seed_and_what_the_swarm_saved() -> None:
    rows = [
        population(0, "seed", idle_share=0.45, uploaded_bytes=25),
        population(
            0, "leecher", uploaded_bytes=75, downloaded_bytes=100, wasted_bytes=5, timeouts=3
        ),
    ]
    assert sentences(known(populations=rows)) == [
        "Seed had nothing to upload 45 % of the time that leechers waited: no request was there, "
        "and nothing was on its way.",
        "Leechers uploaded 75 % of all that was uploaded, seeds 25 %.",
        "5 % of what was downloaded was there already, or given up.",
        "Connections ran into 1.5 retransmission timeouts per peer.",
    ]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (
            [link("homes-1 up", 0.98, 0.8), link("homes-2 up", 0.92, 1.2), link("neck", 0.5)],
            "The uplink of each of homes was full: it carried 95 % of what it could, and packets "
            "waited 1.0 s for it on average.",
        ),
        (
            [link("homes-1 up", 0.1), link("neck", 0.6, 0.0023), link("wire", None, None)],
            "No line was full all the time. The busiest, the link neck, carried 60 % of what it "
            "could, and packets waited 2.3 ms for it on average.",
        ),
    ],
)
def test_the_busiest_line_is_named(links: list[dict[str, Any]], expected: str) -> None:
    study = {"network": {"groups": {"homes": {"hosts": 2}}}}
    assert sentences(known(study, links=links)) == [expected]


def test_runs_that_did_not_end_are_said_first() -> None:
    runs = [run(0), run(1, outcome="stalled", reason="no seed left")]
    assert sentences(known(runs=runs)) == ["1 run of 2 got stuck: no seed left."]


def _of_two_points() -> Known:
    """A limit that matters as much at both points, and timeouts at the second alone."""
    runs = [{**run(n), "point": n, "network.rtt": f"{400 * n} ms"} for n in (0, 1)]
    rows = [
        population(n, "seed", limited_share=0.9, timeouts=timeouts, peers=2)
        for n, timeouts in ((0, 4), (1, 400))
    ]
    queues = [{**link("homes-1 up", 0.87, 0.002 + 1.5 * n), "run": n} for n in (0, 1)]
    return known(runs=runs, populations=rows, links=queues)


def test_the_diagnosis_is_a_table_with_a_column_a_point_and_what_differs_most_first() -> None:
    made = _of_two_points()
    both = points.points_of(made).points
    table = diagnosis.table(made, both)
    assert table is not None
    assert list(table.header) == ["", "RTT 0 ms", "RTT 400 ms"]
    rows = [[it if isinstance(it, str) else it.text for it in row] for row in table.rows]
    assert rows[:2] == [
        ["Packets waited for the link homes-1 up", "–", "1.5 s"],
        ["Retransmission timeouts per peer", "2.0", "200.0"],
    ]
    assert rows[-1][1] == rows[-1][2]


def test_a_line_with_long_waits_is_called_bufferbloat_and_what_mends_it_is_said() -> None:
    made = _of_two_points()
    both = points.points_of(made)
    (text,) = waits.long_waits(made, both)
    assert text.startswith("Bufferbloat with an RTT of 400 ms: packets waited 1.5 s on average")
    assert "carried 87 % of its capacity" in text
    assert "FQ-CoDel" in text
    assert waits.long_waits(made, both.only(both.points[:1])) == []


@pytest.mark.parametrize("discipline", [*DISCIPLINES, "200 packets"])
@pytest.mark.parametrize("whole", [False, True])
def test_queues_of_single_flows_are_no_bufferbloat(discipline: str, whole: bool) -> None:
    path = "network.groups.homes.access"
    swept = {f"{path}.up_queue": discipline}
    if whole:
        swept = {path: json.dumps({"up_queue": {"kind": discipline}})}
    made = known(
        {"network": {"groups": {"homes": {"access": {"up_queue": "200 packets"}}}}},
        runs=[{**run(0), **swept}],
        links=[link("homes-1 up", 0.9, 1.9)],
    )
    (text,) = waits.long_waits(made, points.points_of(made))
    assert ("Bufferbloat" in text) == (discipline not in {"sfq", "drr", "fq-codel", "cake"})
    assert ("has a queue for each flow" in text) == ("Bufferbloat" not in text)


def test_nothing_known_is_no_table() -> None:
    made = known()
    assert diagnosis.table(made, points.points_of(made).points) is None
