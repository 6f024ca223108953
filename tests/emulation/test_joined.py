"""Tables of a run out of those of its nodes."""

import pytest
from tests.engines import plans

from flashcrowd.emulation.joined import tables

_DATA = plans.plan(4, [plans.swarm(3) | {"name": "crowd"}, plans.transfer() | {"name": "bulk"}])
for _number, _host in enumerate(_DATA["network"]["hosts"]):
    _host["name"] = f"h-{_number}"
for _link, _name in zip(_DATA["network"]["links"], ("one", "two"), strict=False):
    _link["name"] = _name
_DATA["measures"]["pieces_ns"] = 500_000_000
PLAN = plans.made(_DATA)


def run(outcome: str = "completed", reason: str = "", **counts) -> dict:
    summed = ("events", "packets_sent", "packets_delivered", "packets_lost", "packets_dropped")
    summed += ("payload_bytes_delivered", "retransmitted_packets")
    row = {"outcome": outcome, "reason": reason, "end_s": 3.0}
    return {**row, **dict.fromkeys(summed, 1), **counts}


def second(**more) -> dict:
    row = {"t_s": 0.0, "packets": 10, "late_p50_s": 1e-5, "late_p99_s": 1e-4, "late_max_s": 1e-3}
    return {**row, "busy": 0.1, "oversleep_p99_s": 1e-3, "unmodelled_drops": 0, **more}


def population(**more) -> dict:
    row = {"swarm": "crowd", "population": "all", "role": "leecher", "peers": 2, "completed": 1}
    shares = {"alone_share": 0.5, "idle_share": None}
    return {**row, "downloading_s": 4.0, **shares, **more}


def part(**more) -> dict:
    empty = ("transfers", "pings", "calls", "links", "downloads", "have", "populations")
    empty += ("pieces", "series", "queues", "programs")
    return {**{name: [] for name in empty}, "run": [run()], "emulation": [second()], **more}


def test_what_one_node_did_not_deliver_the_run_did_not() -> None:
    lost = run("undelivered", "transfer bulk: 1 of 1 flows lost the connection")
    (row,) = tables(PLAN, [part(), part(run=[lost])])["run"]
    why = "node 1: transfer bulk: 1 of 1 flows lost the connection"
    assert (row["outcome"], row["reason"]) == ("undelivered", why)


def test_counts_add_up_and_the_worst_counts() -> None:
    one = part(run=[run(packets_sent=5)], emulation=[second(), second(t_s=1.0)])
    other = part(
        run=[run("invalid", "late", packets_sent=7)],
        emulation=[second(packets=3, late_p99_s=0.2, unmodelled_drops=2)],
    )
    found = tables(PLAN, [one, other])
    (row,) = found["run"]
    assert (row["outcome"], row["reason"]) == ("invalid", "node 1: late")
    assert (row["packets_sent"], row["packets_lost"]) == (12, 2)
    first, last = found["emulation"]
    assert (first["packets"], first["late_p99_s"], first["unmodelled_drops"]) == (13, 0.2, 2)
    assert (last["t_s"], last["packets"]) == (1.0, 10)


def test_peers_have_their_numbers_in_the_order_of_arrival() -> None:
    def came(*when: float) -> list[dict]:
        return [{"swarm": "crowd", "peer": peer, "arrived_s": at} for peer, at in enumerate(when)]

    def download(host: int, peer: int, at: float) -> dict:
        return {"swarm": "crowd", "host": f"h-{host}", "peer": peer, "arrived_s": at}

    one = part(arrivals=came(0.1, 0.4), downloads=[download(2, 1, 0.4)])
    other = part(arrivals=came(0.2, 0.3), downloads=[download(1, 0, 0.2), download(3, 1, 0.3)])
    other["have"] = [{"swarm": "crowd", "peer": 1, "piece": 0, "t_s": 0.9}]
    found = tables(PLAN, [one, other])
    numbers = {row["host"]: row["peer"] for row in found["downloads"]}
    assert numbers == {"h-1": 1, "h-2": 3, "h-3": 2}
    assert [row["host"] for row in found["downloads"]] == ["h-1", "h-2", "h-3"]
    assert found["have"][0]["peer"] == 2
    assert "arrivals" not in found


def test_what_is_of_one_swarm_is_put_together() -> None:
    def sample(t_s: float, value: float) -> dict:
        return {"what": "online", "source": "crowd", "t_s": t_s, "value": value}

    def pieces(t_s: float, leechers: int, mean: float) -> dict:
        row = {"swarm": "crowd", "population": "all", "t_s": t_s, "leechers": leechers}
        return {**row, "mean": mean, "min": int(mean) - 1, "max": int(mean) + 1}

    def estimate(samples: int, mean_s: float) -> dict:
        row = {"swarm": "crowd", "population": "all", "samples": samples, "mean_s": mean_s}
        return {**row, "min_s": mean_s / 2, "max_s": 2 * mean_s}

    link = {"what": "link-rate", "source": "one", "t_s": 0.7, "value": 5.0}
    one = part(
        series=[sample(0.5, 1.0), sample(1.0, 2.0), link],
        pieces=[pieces(0.5001, 1, 4.0), pieces(1.0, 1, 8.0)],
        populations=[population()],
        queues=[{"owner": "all", "way": "up", "packets": 1, "count": 2, "online": 0}],
        programs=[{"setting": "slots"}],
        rtts=[estimate(3, 0.1)],
    )
    other = part(
        series=[sample(0.51, 1.0), sample(1.01, 1.0)],
        pieces=[pieces(1.02, 3, 4.0)],
        populations=[population(downloading_s=12.0, alone_share=0.1)],
        queues=[
            {"owner": "all", "way": "up", "packets": n, "count": 1, "online": 0} for n in (0, 1)
        ],
        programs=[{"setting": "slots"}],
        links=[{"link": "one"}],
        rtts=[estimate(1, 0.3)],
    )
    one["links"] = [{"link": "two"}]
    found = tables(PLAN, [one, other])
    assert [(row["t_s"], row["value"]) for row in found["series"]] == [
        (0.5, 2.0),
        (0.7, 5.0),
        (1.0, 3.0),
    ]
    first, last = found["pieces"]
    assert (first["leechers"], first["mean"]) == (1, 4.0)
    assert (last["leechers"], last["mean"], last["min"], last["max"]) == (4, 5.0, 3, 9)
    (row,) = found["populations"]
    assert (row["peers"], row["completed"], row["downloading_s"]) == (4, 2, 16.0)
    assert row["alone_share"] == pytest.approx(0.2)
    assert row["idle_share"] is None
    assert [(row["packets"], row["count"]) for row in found["queues"]] == [(0, 1), (1, 3)]
    assert len(found["programs"]) == 1
    (estimates,) = found["rtts"]
    assert (estimates["samples"], estimates["mean_s"]) == (4, pytest.approx(0.15))
    assert (estimates["min_s"], estimates["max_s"]) == (0.05, 0.6)
    assert [row["link"] for row in found["links"]] == ["one", "two"]


def test_a_failure_that_all_know_is_said_once() -> None:
    known = "node 1: aria2 on homes-3: it was ended"
    parts = [part(run=[run("failed", why)]) for why in (known, known.removeprefix("node 1: "))]
    assert tables(PLAN, parts)["run"][0]["reason"] == known
