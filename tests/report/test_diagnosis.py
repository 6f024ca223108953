"""Why it was slow, from tables whose numbers are known."""

import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from flashcrowd.report import diagnosis, points, waits
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


def facts(results: Known, point: points.Point | None = None) -> dict[str, str]:
    """What held runs up, with its value as text."""
    return {fact.what: fact.shown for fact in diagnosis.facts(results, point)}


def test_a_used_up_limit_is_named_with_its_share() -> None:
    rows = [population(0, "seed", limited_share=0.97, idle_share=0.01)]
    known_ones = facts(known(swarm("100 kB/s"), populations=rows))
    assert known_ones == {"Seed: upload limit used up": "97 %"}


def test_who_must_not_upload_is_not_said_to_have_nothing_to_upload() -> None:
    rows = [population(0, "seed", idle_share=1.0)]
    made = known(swarm("0 B/s"), populations=rows)
    assert facts(made) == {"Seed: not allowed to upload": "100 %"}


def test_a_swept_limit_is_that_of_the_point_and_a_changed_one_is_left_out() -> None:
    rows = [population(number, "seed", idle_share=0.5) for number in (0, 1)]
    runs = [run(0, **{UPLOAD: "1 kB/s"}), run(1, point=1, **{UPLOAD: "0 B/s"})]
    results = known(swarm("0 B/s"), populations=rows, runs=runs)
    first, second = points.read(results.tables["runs"]).points
    idle, forbidden = {"Seed: nothing to upload": "50 %"}, {"Seed: not allowed to upload": "100 %"}
    assert (facts(results, first), facts(results, second), facts(results)) == (
        idle,
        forbidden,
        idle,
    )
    changed = swarm("0 B/s") | {"timeline": {"more": {"change": UPLOAD, "to": "1 MB/s"}}}
    assert facts(known(changed, populations=rows[:1])) == idle


def test_shares_are_weighted_with_their_times_and_the_greatest_comes_first() -> None:
    rows = [
        population(0, "leecher", choked_share=0.5, alone_share=0.01, unchoked_share=0.49),
        population(1, "leecher", choked_share=0.1, uninterested_share=0.9, downloading_s=300.0),
    ]
    assert list(facts(known(populations=rows)).items()) == [
        ("Homes: neighbours had nothing to ask for", "90 %"),
        ("Homes: waited for a slot", "20 %"),
    ]


def test_an_idle_seed_and_what_the_swarm_saved() -> None:
    rows = [
        population(0, "seed", idle_share=0.45, uploaded_bytes=25),
        population(
            0, "leecher", uploaded_bytes=75, downloaded_bytes=100, wasted_bytes=5, timeouts=3
        ),
    ]
    assert facts(known(populations=rows)) == {
        "Seed: nothing to upload": "45 %",
        "Share of the upload that leechers sent": "75 %",
        "Downloaded twice, or given up": "5 %",
        "Retransmission timeouts per peer": "1.5",
    }


@pytest.mark.parametrize(
    ("links", "line", "expected"),
    [
        (
            [link("homes-1 up", 0.98, 0.8), link("homes-2 up", 0.92, 1.2), link("neck", 0.5)],
            "uplink of each of homes",
            {
                "Busiest line: used": "95 %",
                "Packets waited for the uplink of each of homes": "1.0 s",
            },
        ),
        (
            [link("homes-1 up", 0.1), link("neck", 0.6, 0.0023), link("wire", None, None)],
            "link neck",
            {"Busiest line: used": "60 %"},
        ),
    ],
)
def test_the_busiest_line_is_named(
    links: list[dict[str, Any]], line: str, expected: dict[str, str]
) -> None:
    made = known({"network": {"groups": {"homes": {"hosts": 2}}}}, links=links)
    assert facts(made) == expected
    assert diagnosis.facts(made)[0].detail == line


def test_runs_that_did_not_end_are_said_first() -> None:
    runs = [run(0), run(1, outcome="stalled", reason="no seed left")]
    assert facts(known(runs=runs)) == {"runs that got stuck": "1 of 2"}


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
