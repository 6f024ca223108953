import json
from typing import Any

import pytest
from tests.engines import plans

from flashcrowd.base.errors import StudyError
from flashcrowd.plan.lower import lower
from flashcrowd.plan.plan import Plan
from flashcrowd.scenario import Scenario
from flashcrowd.study import Study

MS = 10**6
S = 10**9

SWARM = {
    "kind": "swarm",
    "size": "1 MB",
    "populations": {
        "seed": {"role": "seed", "group": "a", "hosts": 1},
        "leechers": {"group": ["a", "b"], "upload": "20 KiB/s"},
    },
}


def plan(network: dict[str, Any], **parts: Any) -> Any:
    """The plan of a scenario with two groups, `a` and `b`, of two hosts each."""
    network = {"groups": {"a": {"hosts": 2}, "b": {"hosts": 2}}, **network}
    document = {"title": "T", "network": network, "workloads": {"swarm": SWARM}, **parts}
    return lower(Scenario.model_validate(document)).data


def core(network: dict[str, Any], first: str = "a", second: str = "b") -> Any:
    """The core from one group to another."""
    made = plan(network)["network"]
    groups = made["groups"]
    number = groups.index(first) * len(groups) + groups.index(second)
    return made["cores"][made["core_of"][number]]


def test_a_plain_network_is_one_core_that_all_pairs_share():
    network = plan({"rtt": "100 ms", "loss": "5 %"})["network"]
    assert network["groups"] == ["a", "b"]
    assert network["links"] == []
    assert network["core_of"] == [0, 0, 0, 0]
    assert network["cores"] == [
        {
            "links": [],
            "conditions": {
                "rate_bps": None,
                "queue": {"kind": "drop-tail", "packets": None, "bytes": None},
                "delay_ns": 50 * MS,
                "jitter": None,
                "loss": {
                    "side": "receiver",
                    "model": {"kind": "bernoulli", "probability": 0.05},
                },
                "framing": {"kind": "plain", "overhead_bytes": 0},
            },
            "draw": None,
        }
    ]
    assert network["hosts"] == [
        {"name": f"{group}-{number}", "group": index, "stack": 0, "up": [], "down": []}
        for index, group in enumerate("ab")
        for number in (1, 2)
    ]


def test_an_access_line_is_two_links_for_each_host():
    access = {
        "line": "ADSL 1/8",
        "up_queue": "50 packets, 64 KiB",
        "delay": "2 ms to 4 ms",
        "framing": "ethernet",
        "jitter": {"shape": "normal", "spread": "3 ms", "reorder": True},
    }
    network = plan({"groups": {"a": {"hosts": 2, "access": access}, "b": {"hosts": 2}}})["network"]
    assert [link["name"] for link in network["links"]] == [
        "a-1 up",
        "a-1 down",
        "a-2 up",
        "a-2 down",
    ]
    assert [(host["up"], host["down"]) for host in network["hosts"]] == [
        ([0], [1]),
        ([2], [3]),
        ([], []),
        ([], []),
    ]
    assert network["links"][0]["conditions"] == {
        "rate_bps": 1_000_000,
        "queue": {"kind": "drop-tail", "packets": 50, "bytes": 65536},
        "delay_ns": 2_500_000,
        "jitter": {"shape": "normal", "spread_ns": 3 * MS, "reorder": True},
        "loss": None,
        "framing": {"kind": "plain", "overhead_bytes": 38},
    }
    down = network["links"][3]["conditions"]
    assert (down["rate_bps"], down["queue"]["packets"], down["delay_ns"]) == (
        8_000_000,
        200,
        3_500_000,
    )


def test_delays_of_devices_add_up_as_on_a_testbed():
    network = {
        "groups": {
            "a": {"hosts": 2, "devices": {"loopback": "5 ms", "ethernet": "50 ms"}},
            "b": {"hosts": 2, "devices": {"loopback": "7 ms", "ethernet": "100 ms"}},
        }
    }
    assert 2 * core(network, "a", "a")["conditions"]["delay_ns"] == 4 * 5 * MS
    assert 2 * core(network, "b", "b")["conditions"]["delay_ns"] == 4 * 7 * MS
    assert 2 * core(network, "a", "b")["conditions"]["delay_ns"] == 2 * (50 + 100) * MS
    assert core(network, "a", "b") == core(network, "b", "a")
    farther = {**network, "rtt": "30 ms"}
    assert 2 * core(farther, "a", "b")["conditions"]["delay_ns"] == (300 + 30) * MS


def test_a_path_leads_through_shared_links_forth_and_back():
    network = {
        "rtt": "10 ms",
        "loss": "1 %",
        "links": {
            "first": {"rate": "10 Mbit/s", "queue": "42 packets"},
            "second": {"rate": "1 Mbit/s", "back": {"rate": "8 Mbit/s", "delay": "3 ms"}},
        },
        "paths": {
            "across": {"between": ["a", "b"], "through": ["first", "second"], "rtt": "50 ms"}
        },
    }
    links = plan(network)["network"]["links"]
    assert [link["name"] for link in links] == ["first", "first back", "second", "second back"]
    assert [link["conditions"]["rate_bps"] for link in links] == [10**7, 10**7, 10**6, 8 * 10**6]
    assert links[3]["conditions"]["delay_ns"] == 3 * MS
    assert links[3]["conditions"]["queue"]["packets"] == 100
    forth, back = core(network, "a", "b"), core(network, "b", "a")
    assert (forth["links"], back["links"]) == ([0, 2], [3, 1])
    assert forth["conditions"]["delay_ns"] == back["conditions"]["delay_ns"] == 25 * MS
    assert forth["conditions"]["loss"]["model"]["probability"] == 0.01
    inside = core(network, "a", "a")
    assert (inside["links"], inside["conditions"]["delay_ns"]) == ([], 5 * MS)


def test_pairs_draw_from_distributions_whose_points_travel_with_the_plan():
    made = core({"rtt": {"file": "iplane"}, "loss": {"file": "iplane"}})
    rtts, losses = dict(made["draw"]["rtt_s"]), dict(made["draw"]["loss"])
    assert (rtts[0.98], rtts[0.998]) == (0.4, 1.0)
    assert losses[0.95] == 0.05
    assert made["conditions"]["delay_ns"] == 0
    assert made["conditions"]["loss"] is None
    only = core({"loss": {"points": [["0 %", "0 %"], ["100 %", "10 %"]]}, "rtt": "20 ms"})
    assert only["draw"] == {"rtt_s": None, "loss": [(0.0, 0.0), (1.0, 0.1)]}
    assert only["conditions"]["delay_ns"] == 10 * MS


@pytest.mark.parametrize(
    ("loss", "model"),
    [
        ("none", None),
        ("0 %", None),
        ("2 %", {"kind": "bernoulli", "probability": 0.02}),
        (
            {"to_bad": "1 %", "to_good": "25 %", "loss_bad": "50 %"},
            {
                "kind": "gilbert-elliott",
                "to_bad": 0.01,
                "to_good": 0.25,
                "loss_good": 0.0,
                "loss_bad": 0.5,
            },
        ),
    ],
)
def test_losses(loss: Any, model: Any):
    made = core({"loss": loss})["conditions"]["loss"]
    assert made == (model and {"side": "receiver", "model": model})


def test_bursts_lose_the_share_and_have_the_length_that_was_asked_for():
    model = core({"loss": "2 % in bursts of 20"})["conditions"]["loss"]["model"]
    to_bad, to_good = model["to_bad"], model["to_good"]
    assert to_bad / (to_bad + to_good) == pytest.approx(0.02)
    assert 1 / to_good == pytest.approx(20)


def test_populations_take_the_hosts_of_their_groups_in_order():
    (swarm,) = plan({})["workloads"]
    seed, leechers = swarm.pop("populations")
    assert swarm == {
        "kind": "swarm",
        "name": "swarm",
        "size_bytes": 10**6,
        "piece_bytes": 2**18,
        "block_bytes": 2**14,
        "tracker": plans.TRACKER,
        "stop_after_completions": None,
    }
    assert (seed["role"], seed["hosts"], seed["upload_bps"]) == ("seed", [0], None)
    assert (leechers["role"], leechers["hosts"]) == ("leecher", [1, 2, 3])
    assert leechers["upload_bps"] == 20 * 1024 * 8
    assert leechers["departure"] == {"kind": "never"}
    assert leechers["replace"] is False


def test_a_tracker_is_its_host_or_a_table():
    def tracker(given: Any) -> Any:
        return plan({}, workloads={"swarm": {**SWARM, "tracker": given}})["workloads"][0]["tracker"]

    assert tracker("none") == plans.TRACKER
    assert tracker("b-1") == {**plans.TRACKER, "host": 2}
    rules = {**plans.TRACKER["rules"], "default_peers": 25, "reshuffle_ns": 0}
    given = {"host": "b-2", "answer_delay": "30 ms", "default_peers": 25, "reshuffle": "0 s"}
    assert tracker(given) == {"host": 3, "answer_delay_ns": 30 * MS, "rules": rules}


def test_seeds_come_at_the_start_and_leechers_within_ten_seconds_unless_given():
    seed, leechers = plan({})["workloads"][0]["populations"]
    assert seed["arrivals"] == {"kind": "flash-crowd", "start_ns": 0, "spread_ns": 0}
    assert leechers["arrivals"] == {"kind": "flash-crowd", "start_ns": 0, "spread_ns": 10 * S}


@pytest.mark.parametrize(
    ("key", "written", "lowered"),
    [
        ("departure", "at-once", {"kind": "at-once"}),
        ("departure", "all-done", {"kind": "all-done"}),
        ("departure", "after 10 min", {"kind": "after", "mean_ns": 600 * S}),
        ("departure", {"mean": "1 s"}, {"kind": "after", "mean_ns": S}),
        ("departure", "after exactly 60 s", {"kind": "after-exactly", "stay_ns": 60 * S}),
        ("departure", " after  10 min ", {"kind": "after", "mean_ns": 600 * S}),
        ("departure", {"stay": "1 s"}, {"kind": "after-exactly", "stay_ns": S}),
        ("departure", "after 50 %", {"kind": "after-share", "share": 0.5}),
        ("arrivals", {"gap": "10 s"}, {"kind": "poisson", "start_ns": 0, "gap_ns": 10 * S}),
        ("arrivals", {"at": ["1 s", "2 s", "3 s"]}, {"kind": "times", "at_ns": [S, 2 * S, 3 * S]}),
    ],
)
def test_arrivals_and_departures(key: str, written: Any, lowered: Any):
    populations = {**SWARM["populations"]}
    populations["leechers"] = {**populations["leechers"], key: written}
    made = plan({}, workloads={"swarm": {**SWARM, "populations": populations}})
    assert made["workloads"][0]["populations"][1][key] == lowered


def test_flows_between_groups_go_pair_by_pair_or_from_one_to_all():
    flows = {
        "pairs": {"kind": "transfer", "from": "a", "to": "b", "flows": 4, "limit": "1 Mbit/s"},
        "one": {"kind": "transfer", "from": "a-1", "to": "b", "size": "1 MB", "spread": "1 s"},
        "echo": {"kind": "ping", "from": "a-1", "to": "b-2", "stop": "5 s"},
    }
    made = plan({}, workloads=flows)["workloads"]
    assert [(it["name"], it["from"], it["to"]) for it in made] == [
        ("pairs-1", 0, 2),
        ("pairs-2", 1, 3),
        ("one-1", 0, 2),
        ("one-2", 0, 3),
        ("echo", 0, 3),
    ]
    assert made[0] == {
        "kind": "transfer",
        "name": "pairs-1",
        "from": 0,
        "to": 2,
        "transport": None,
        "flows": 4,
        "size_bytes": None,
        "rate_bps": 10**6,
        "start_ns": 0,
        "spread_ns": 0,
        "stop_ns": None,
    }
    assert made[2]["size_bytes"] == 10**6
    assert made[4] == {
        "kind": "ping",
        "name": "echo",
        "from": 0,
        "to": 3,
        "size_bytes": 84,
        "interval_ns": S,
        "start_ns": 0,
        "stop_ns": 5 * S,
    }


def test_stacks_and_profiles_are_those_in_use_with_all_their_values():
    groups = {"a": {"hosts": 2}, "b": {"hosts": 2, "stack": "mine"}}
    stacks = {"mine": {"base": "windows-xp", "min_rto": "1 s", "delayed_ack": {"max": "500 ms"}}}
    profiles = {"unused": {"base": "modern"}}
    made = plan({"groups": groups, "stack": "linux-2.6"}, stacks=stacks, profiles=profiles)
    assert [stack["name"] for stack in made["stacks"]] == ["linux-2.6", "mine"]
    assert [host["stack"] for host in made["network"]["hosts"]] == [0, 0, 1, 1]
    mine = made["stacks"][1]
    assert mine["min_rto_ns"] == S
    assert mine["delayed_ack"]["max_ns"] == 500 * MS
    assert mine["receive_window"]["max_bytes"] == 17520
    assert "base" not in mine
    assert [profile["name"] for profile in made["profiles"]] == ["mainline-4.0.2"]


def test_measures_and_ends():
    measures = {
        "series": {"queue-delay": "100 ms", "online": "1 s"},
        "pieces": "10 s",
        "queues": "2 s",
        "rtts": True,
    }
    made = plan({}, measures=measures, stop={"horizon": "1 h"})
    assert made["measures"] == {
        "series": [
            {"what": "queue-delay", "every_ns": 100 * MS},
            {"what": "online", "every_ns": S},
        ],
        "pieces_ns": 10 * S,
        "queues_ns": 2 * S,
        "send_gaps": False,
        "payloads": False,
        "rtts": True,
        "unchokes": False,
        "have": False,
        "packets_ns": None,
        "windows": [],
        "connections": None,
    }
    assert made["stop"] == {"horizon_ns": 3600 * S, "stall_ns": 1800 * S}


def test_a_window_holds_for_the_tables_that_have_none_of_their_own():
    measures = {
        "window": {"from": "20 s", "to": "100 s"},
        "windows": {"pings": {}, "links": {"from": "5 s"}},
    }
    windows = plan({}, measures=measures)["measures"]["windows"]
    found = {window["table"]: (window["from_ns"] // S, window["to_ns"]) for window in windows}
    inside = (20, 100 * S)
    assert found == {"links": (5, None), "transfers": inside, "pages": inside, "calls": inside}


@pytest.mark.parametrize(
    ("measures", "place"),
    [
        ({"window": {"from": "30 s", "to": "20 s"}}, "measures.window.to"),
        ({"windows": {"calls": {"from": "1 h"}}}, "measures.windows.calls.from"),
    ],
)
def test_a_window_ends_after_it_begins_and_begins_in_the_run(measures: Any, place: str):
    with pytest.raises(StudyError) as caught:
        plan({}, measures=measures, stop={"horizon": "10 min"})
    assert [problem.path for problem in caught.value.problems] == [place]


def test_no_upload_is_zero_and_no_limit_is_none():
    def upload(text: str) -> int | None:
        leechers = {**SWARM["populations"]["leechers"], "upload": text}
        populations = {**SWARM["populations"], "leechers": leechers}
        made = plan({}, workloads={"swarm": {**SWARM, "populations": populations}})
        return made["workloads"][0]["populations"][1]["upload_bps"]

    assert (upload("0 B/s"), upload("unlimited"), upload("1 kB/s")) == (0, None, 8000)


def test_transports_are_named_and_become_carriers():
    stacks = {"slow": {"base": "ns2-tcp", "min_rto": "2 s"}}
    leechers = {**SWARM["populations"]["leechers"], "data_transport": "ns2-ledbat"}
    swarm = {**SWARM, "populations": {**SWARM["populations"], "leechers": leechers}}
    bulk = {"kind": "transfer", "from": "a-1", "to": "b-1", "size": "1 MB", "transport": "slow"}
    made = plan({}, stacks=stacks, workloads={"swarm": swarm, "bulk": bulk})
    seed, leechers = made["workloads"][0]["populations"]
    assert (seed["transport"], seed["data"], leechers["transport"]) == (None, None, None)
    names = [stack["name"] for stack in made["stacks"]]
    assert names[leechers["data"]["tcp"]] == "ns2-ledbat"
    assert names[made["workloads"][1]["transport"]["tcp"]] == "slow"


def test_each_run_draws_from_a_range_that_is_drawn():
    access = {"line": "ADSL 1/8", "delay": "1 ms to 25 ms, drawn"}
    links = plan({"groups": {"a": {"hosts": 2, "access": access}, "b": {"hosts": 2}}})["network"][
        "links"
    ]
    drawn = {"least_ns": MS, "most_ns": 25 * MS}
    assert [link["delay"] for link in links] == [drawn | {"number": n} for n in (0, 0, 1, 1)]
    assert {link["conditions"]["delay_ns"] for link in links} == {0}
    slower = {"change": "network.groups.a.access.delay", "to": "2 ms to 3 ms, drawn"}
    with pytest.raises(StudyError, match="what can change in place"):
        plan(
            {"groups": {"a": {"hosts": 2, "access": access}, "b": {"hosts": 2}}},
            timeline={"slower": {"at": "1 s", **slower}},
        )


def test_a_plan_is_read_back_as_it_was_written(tmp_path):
    made = lower(
        Scenario.model_validate(
            {
                "title": "Größe",
                "network": {"rtt": {"file": "iplane"}, "groups": {"a": {"hosts": 2}, "b": {}}},
                "workloads": {"swarm": SWARM},
            }
        )
    )
    made.save(tmp_path / "plan.json")
    again = Plan.load(tmp_path / "plan.json")
    assert again.to_json() == made.to_json()
    assert again.digest() == made.digest()
    assert again.title == "Größe"


def test_titles_do_not_count_but_everything_else_does():
    plans = [Plan(plan({"rtt": rtt}, title=title)) for rtt, title in [("1 ms", "A"), ("1 ms", "B")]]
    assert plans[0].digest() == plans[1].digest()
    assert Plan(plan({"rtt": "2 ms"})).digest() != plans[0].digest()


@pytest.mark.parametrize("text", ["{}", "nonsense", '{"format": 2}'])
def test_what_is_no_plan_is_refused(tmp_path, text: str):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(StudyError):
        Plan.load(tmp_path / "plan.json")
    with pytest.raises(StudyError, match="No such file"):
        Plan.load(tmp_path / "none.json")


def test_a_plan_of_another_format_is_refused():
    made = json.loads(Plan(plan({"rtt": "1 ms"})).to_json())
    with pytest.raises(StudyError, match="reads plans of format 1"):
        Plan.from_json(json.dumps({**made, "format": 2}))


def test_three_hundred_hosts_on_lines_of_their_own_are_quick_to_lower():
    import time

    network = {"groups": {"a": {"hosts": 300, "access": "ADSL 1/8"}, "b": {}}}
    scenario = Scenario.model_validate(
        {"title": "T", "network": network, "workloads": {"swarm": SWARM}}
    )
    lower(scenario)
    start = time.perf_counter()
    lower(scenario)
    assert time.perf_counter() - start < 0.5  # about 10 ms where nothing else runs


BOTH = {"from": "a-1", "to": "b-1"}


def lowered(workload: dict[str, Any], **parts: Any) -> list[dict[str, Any]]:
    """The workloads of a plan with this one alone."""
    parts = {"stop": {"horizon": "60 s"}, **parts}
    return plan({}, workloads={"it": workload}, **parts)["workloads"]


def test_a_web_of_defaults():
    assert lowered({"kind": "web", **BOTH}) == [
        {
            "kind": "web",
            "name": "it",
            "from": 0,
            "to": 2,
            "transport": None,
            "users": 1,
            "connections": 1,
            "request_bytes": 400,
            "page": {
                "median_bytes": 2_652_000,
                "sigma": 0.9,
                "tail_from_bytes": 10_000_000,
                "tail_shape": 1.1,
                "largest_bytes": 100_000_000,
            },
            "reading": {"kind": "exponential", "mean_ns": 30 * S},
            "start_ns": 0,
            "spread_ns": 0,
            "stop_ns": None,
        }
    ]


def test_a_web_with_plain_values_and_another_transport():
    first, second = lowered(
        {
            "kind": "web",
            "from": "a",
            "to": "b-1",
            "transport": "libutp",
            "page": "20 kB",
            "reading": {"least": "1 s", "shape": 1.5, "longest": "60 s"},
            "stop": "30 s",
        }
    )
    assert (first["name"], second["name"]) == ("it-1", "it-2")
    assert (first["from"], second["from"], first["to"]) == (0, 1, 2)
    assert first["transport"] == {"utp": 0}
    page = first["page"]
    assert (page["median_bytes"], page["sigma"], page["largest_bytes"]) == (20_000, 0, 20_000)
    pareto = {"kind": "pareto", "least_ns": S, "shape": 1.5, "longest_ns": 60 * S}
    assert first["reading"] == pareto
    assert first["stop_ns"] == 30 * S
    (plain,) = lowered({"kind": "web", **BOTH, "reading": "5 s"})
    assert plain["reading"] == {"kind": "exponential", "mean_ns": 5 * S}


def test_a_call():
    video = {"kind": "call", **BOTH, "size": "1200 B", "interval": "9.6 ms", "every": "none"}
    assert lowered(video) == [
        {
            "kind": "call",
            "name": "it",
            "from": 0,
            "to": 2,
            "size_bytes": 1200,
            "interval_ns": 9_600_000,
            "every_ns": None,
            "start_ns": 0,
            "stop_ns": None,
        }
    ]


def test_a_download_of_defaults():
    assert lowered({"kind": "download", **BOTH, "size": "1 MB"}, stop={}) == [
        {
            "kind": "download",
            "name": "it",
            "from": 0,
            "to": 2,
            "mirrors": [],
            "transport": None,
            "size_bytes": 1_000_000,
            "connections": 1,
            "range_bytes": 1 << 20,
            "least_split_bytes": 102_400,
            "use_head": True,
            "request_bytes": 400,
            "head_bytes": 300,
            "start_ns": 0,
            "spread_ns": 0,
            "stop_ns": None,
        }
    ]


def test_each_host_of_a_group_downloads_from_all_mirrors():
    plain = {"kind": "download", "size": "1 MB", "range": "equal", "least_split": "none"}
    first, second = lowered({**plain, "from": "b-2", "to": "a", "mirrors": ["b-1"]}, stop={})
    assert [(it["name"], it["to"]) for it in (first, second)] == [("it-1", 0), ("it-2", 1)]
    for each in (first, second):
        assert (each["from"], each["mirrors"]) == (3, [2])
        assert (each["range_bytes"], each["least_split_bytes"]) == (None, None)


@pytest.mark.parametrize(
    ("workload", "place"),
    [
        ({"kind": "download", "size": "0 B"}, "workloads.it.size"),
        ({"kind": "download", "size": "1 MB", "connections": 0}, "workloads.it.connections"),
        ({"kind": "download", "size": "1 MB", "range": "some"}, "workloads.it.range"),
        ({"kind": "download", "size": "1 MB", "least_split": "0 B"}, "workloads.it.least_split"),
        ({"kind": "download", "size": "1 MB", "mirrors": ["c"]}, "workloads.it.mirrors[0]"),
        ({"kind": "download", "size": "1 MB", "mirrors": ["a-1"]}, "workloads.it.mirrors[0]"),
        (
            {"kind": "download", "size": "1 MB", "mirrors": ["b-2", "b-2"]},
            "workloads.it.mirrors[1]",
        ),
        ({"kind": "download", "size": "1 MB", "mirrors": ["a"]}, "workloads.it.mirrors[0]"),
        ({"kind": "web", "transport": "libutpp"}, "workloads.it.transport"),
        ({"kind": "web", "users": -1}, "workloads.it.users"),
        ({"kind": "web", "connections": 0}, "workloads.it.connections"),
        ({"kind": "web", "page": "0 B"}, "workloads.it.page"),
        ({"kind": "web", "page": {"median": "20 MB"}}, "workloads.it.page.tail_from"),
        ({"kind": "web", "page": {"largest": "1 MB"}}, "workloads.it.page.largest"),
        ({"kind": "web", "reading": "5"}, "workloads.it.reading"),
        ({"kind": "web", "reading": {"least": "0 s", "shape": 1.5}}, "workloads.it.reading.least"),
        ({"kind": "web", "to": "c"}, "workloads.it.to"),
        ({"kind": "web", "start": "5 s", "stop": "5 s"}, "workloads.it.stop"),
        ({"kind": "call", "size": "20 B"}, "workloads.it.size"),
        ({"kind": "call", "interval": "0 s"}, "workloads.it.interval"),
        ({"kind": "call", "interval": "2 s"}, "workloads.it.every"),
        ({"kind": "call", "to": "a-1"}, "workloads.it.to"),
        ({"kind": "call", "transport": "libutp"}, "workloads.it.transport"),
    ],
)
def test_mistakes_in_pages_calls_and_downloads_are_named(workload: dict[str, Any], place: str):
    groups = {"a": {"hosts": 2}, "b": {"hosts": 2}}
    document = {
        "format": 1,
        "title": "T",
        "seed": 1,
        "repeats": 1,
        "network": {"groups": groups},
        "workloads": {"it": {**BOTH, **workload}},
        "stop": {"horizon": "60 s"},
    }
    with pytest.raises(StudyError) as caught:
        Study.from_dict(document)
    assert [problem.path for problem in caught.value.problems] == [place]


def test_pages_and_calls_do_not_end_by_themselves():
    for kind in ("web", "call"):
        with pytest.raises(StudyError, match=r"stop\.horizon"):
            lowered({"kind": kind, **BOTH, "stop": "10 s"}, stop={})


def test_pages_and_calls_stop_by_the_timeline():
    timeline = {"end": {"at": "10 s", "stop": "it"}}
    for kind in ("web", "call"):
        data = plan(
            {},
            workloads={"it": {"kind": kind, **BOTH}},
            stop={"horizon": "60 s"},
            timeline=timeline,
        )
        assert data["timeline"] == [{"at_ns": 10 * S, "kind": "stop", "workload": 0}]


def test_a_plan_names_programs_only_where_the_study_does():
    seed = {**SWARM["populations"]["seed"], "program": "rtorrent"}
    populations = {**SWARM["populations"], "seed": seed}
    made = plan({}, workloads={"swarm": {**SWARM, "populations": populations}})
    found = [it.get("program") for it in made["workloads"][0]["populations"]]
    assert found == ["rtorrent", None]
    assert "program" not in made["workloads"][0]["populations"][1]
