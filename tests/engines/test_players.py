"""Which program plays a transfer of an emulation, and what it is refused for. No devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.clients.testbed import needs
from tests.engines.plans import made

from flashcrowd.emulation import players, requirements, stack
from flashcrowd.emulation.bottleneck import most_bytes
from flashcrowd.emulation.utp_differences import differences
from flashcrowd.plan.plan import Plan
from flashcrowd.study import Study

STUDY = """
format = 1
title = "A transfer"

[network]
rtt = "0 ms"
stack = "linux-6"

[network.groups.left]

[network.groups.right]

[network.links.bottleneck]
rate = "8 Mbit/s"
queue = "50 packets"

[network.paths.across]
between = ["left", "right"]
through = ["bottleneck"]

[workloads.bulk]
kind = "transfer"
from = "left"
to = "right"
transport = "libutp"
size = "1 MB"
"""


def planned(tmp_path: Path, text: str = STUDY, **changes: Any) -> Any:
    path = tmp_path / "study.toml"
    path.write_text(text)
    values = {f"workloads.bulk.{key}": value for key, value in changes.items()}
    plan: Plan = Study.load(path, set=values).points()[0].plan()
    return json.loads(plan.to_json())


def test_the_usual_program_is_not_named_in_a_plan(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    assert "program" not in plan["workloads"][0]
    assert players.player(plan["workloads"][0]).name == "live"
    named = planned(tmp_path, program="libutp")
    assert named["workloads"][0]["program"] == "libutp"
    assert requirements.programs(made(named)) == {"libutp"}
    tcp = planned(tmp_path, transport="linux-6")
    assert players.player(tcp["workloads"][0]).name == "kernel"
    assert requirements.programs(made(plan)) == requirements.programs(made(tcp)) == set()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"program": "libtorrent", "limit": "1 Mbit/s"}, "libtorrent sends as fast as it can"),
        ({"program": "libutp", "limit": "1 Mbit/s"}, "libutp sends as fast as it can"),
        ({"program": "libutp", "transport": "linux-6"}, "libutp plays uTP; TCP is the kernel's"),
        ({"limit": "1 Mbit/s"}, None),
        ({"program": "libtorrent", "size": "none", "stop": "9 s"}, None),
    ],
)
def test_what_a_program_cannot_is_refused_by_name(
    tmp_path: Path, changes: dict[str, str], said: str | None
) -> None:
    found = list(requirements.impossible(made(planned(tmp_path, **changes))))
    if said is None:
        assert found == []
    else:
        assert [said in line for line in found] == [True]
        assert found[0].startswith("workloads.bulk: ")


def test_a_limit_that_the_timeline_sets_is_one_too(tmp_path: Path) -> None:
    change = '[timeline.slower]\nat = "1 s"\nchange = "workloads.bulk.limit"\nto = "1 Mbit/s"\n'
    plan = planned(tmp_path, f"{STUDY}\n{change}", program="libtorrent")
    (said,) = requirements.impossible(made(plan))
    assert 'take program = "live"' in said


def test_a_file_is_as_long_as_the_way_may_carry(tmp_path: Path) -> None:
    plan = planned(tmp_path, size="none", stop="10 s", program="libtorrent")
    assert most_bytes(made(plan), plan["workloads"][0]) == 10_000_000 * 1.02 + 1_000_000
    assert players.space(made(plan)) == 2 * 11_200_000
    change = (
        '[timeline.more]\nat = "1 s"\nchange = "network.links.bottleneck.rate"\nto = "16 Mbit/s"\n'
    )
    plan = planned(tmp_path, f"{STUDY}\n{change}", size="none", stop="10 s", program="libtorrent")
    assert most_bytes(made(plan), plan["workloads"][0]) == 20_000_000 * 1.02 + 1_000_000
    open_way = STUDY.replace('rate = "8 Mbit/s"\nqueue = "50 packets"', 'rate = "unlimited"')
    plan = planned(tmp_path, open_way, size="none", stop="9 s", program="libtorrent")
    (said,) = requirements.impossible(made(plan))
    assert "give it a size" in said


def test_a_program_that_is_not_there_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(players.Player, "found", lambda _: None)
    (said,) = players.missing(made(planned(tmp_path, program="libutp")))
    assert "libutp is not installed; run make libutp" in said
    assert list(players.missing(made(planned(tmp_path)))) == []
    assert list(players.missing(made(planned(tmp_path, program="libutp", flows=0)))) == []


def test_what_another_program_does_in_its_own_way_is_listed(tmp_path: Path) -> None:
    plan = planned(tmp_path, transport="libtorrent", program="libtorrent")
    spec = plan["workloads"][0]
    assert list(differences(made(plan), spec, "libtorrent", ("ledbat.target_ns",))) == []
    plan["utps"][0]["ledbat"]["target_ns"] = 25_000_000
    assert list(differences(made(plan), spec, "libtorrent", ("ledbat.target_ns",))) == []
    (told,) = differences(made(plan), spec, "libtorrent", ())
    assert (told.setting, told.asked) == ("utp.ledbat.target_ns", "25000000")


def test_libtorrent_lists_what_it_does_not_tell(tmp_path: Path) -> None:
    needs("libtorrent")
    from flashcrowd.emulation.libtorrent_flow import unmet

    text = f'{STUDY}\n[measures.series]\nrtt = "1 s"\ngoodput = "1 s"\n'
    plan = planned(tmp_path, text, transport="libtorrent", program="libtorrent")
    assert [it.setting for it in unmet(made(plan), plan["workloads"][0])] == ["measures.series.rtt"]


def test_a_stack_of_a_transfer_is_that_of_its_hosts_and_two_are_refused(tmp_path: Path) -> None:
    small = (
        '[stacks.small]\nbase = "linux-6"\n'
        'receive_window = { initial = "8 kB", buffer = "8 kB", max = "8 kB", autotune = false }\n'
        '[stacks.reno]\nbase = "linux-6"\ncontroller = "new-reno"\n'
    )
    plan = planned(tmp_path, f"{STUDY}\n{small}", transport="small")
    assert list(requirements.impossible(made(plan))) == []
    for host in json.loads(stack.settings(made(plan), ["198.18.0.1", "198.18.0.2"])):
        assert ["ipv4/tcp_rmem", "4096 12800 12800"] in host["sysctls"]
        assert host["controller"] is None
    other = STUDY[STUDY.index("[workloads.bulk]") :].replace("bulk", "other")
    # A controller is a flow's own; buffers are a host's.
    text = f"{STUDY}\n{other}\n{small}".replace('"libutp"', '"reno"', 2)
    assert list(requirements.impossible(made(planned(tmp_path, text, transport="linux-6")))) == []
    said = list(requirements.impossible(made(planned(tmp_path, text, transport="small"))))
    assert [line.split(":")[0] for line in said] == ["host left-1", "host right-1"]
    assert "give their flows hosts of their own" in said[0]
