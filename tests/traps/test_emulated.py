"""Traps with real programs, beside the simulation."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.clients.testbed import needs

from flashcrowd import traps
from flashcrowd._core import Plan
from flashcrowd.base.errors import PlanRejected
from flashcrowd.cli import main
from flashcrowd.emulation.capabilities import capabilities
from flashcrowd.emulation.requirements import impossible
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import SwarmWorkload
from flashcrowd.report.statistics import estimate
from flashcrowd.traps import emulated, trap, words
from flashcrowd.traps.emulated import Beside, Means
from flashcrowd.traps.observed_run import ObservedRun
from flashcrowd.traps.outcome import Verdicts


@pytest.mark.parametrize("name", traps.names())
def test_the_emulator_has_what_each_trap_asks(name: str) -> None:
    one = trap.load(name)
    assert emulated.program_of(one) == ("libtorrent" if name == "libtorrent" else "transmission")
    program = emulated.program_of(one)
    (point,) = emulated.study(one, [], ["autolimit"], 1, program).points()
    plan = point.plan().parsed
    assert not list(impossible(plan))
    swarm = workload(plan, 0, SwarmWorkload)
    home, others = swarm["populations"]
    assert home.get("program", "libtorrent") == program
    assert "program" not in others
    # Nobody has the whole file before the trap is over.
    assert swarm["size_bytes"] > one.to_s * one.most.bps / 8


def test_what_there_is_not_is_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = ["--out", str(tmp_path / "none")]
    wrong = {
        "no limit of 33 %; there are 5 %": ["--limits", "33 %"],
        'write them as "30 %,50 %"': ["--limits", "some"],
        "no program 'aria2'; there are libtorrent": ["--program", "aria2"],
        "no controller 'nobody'": ["--controller", "nobody"],
    }
    for said, more in wrong.items():
        with pytest.raises(SystemExit) as ended:
            main(["traps", "usual", "--engine", "emulation", *more, *out])
        assert ended.value.code == 2
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["traps", "usual", "--program", "qbittorrent", *out])
    assert ended.value.code == 2
    assert "are of --engine emulation" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_trap_that_cannot_be_emulated_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Poor:
        def check(self, plan: Plan) -> None:
            if "video call" in plan.title:
                raise PlanRejected("cannot be emulated:\n  call: not here")

    monkeypatch.setattr(emulated, "Emulator", Poor)
    asked = [trap.load(name) for name in ("usual", "video-call")]
    said: list[str] = []
    assert emulated._possible(asked, None, said.append, strict=False) == asked[:1]
    assert said == ["Left out: trap video-call cannot be emulated:\n  call: not here"]
    with pytest.raises(PlanRejected, match="trap video-call cannot be emulated"):
        emulated._possible(asked, None, said.append, strict=True)
    with pytest.raises(PlanRejected, match="no trap can be emulated here"):
        emulated._possible(asked[1:], None, said.append, strict=False)


def test_the_cost_is_real_time() -> None:
    usual, half = trap.load("usual"), trap.load("half-capacity")
    # Two controllers and an oracle with a limit for each stretch: 3 runs of 180 s, 4 of 240 s.
    said = emulated._cost([usual, half], 2, [], 1, 2)
    assert said.startswith("Up to 7 emulated runs, 25 min of real time in all, 2 at a time")
    assert "Up to 6 emulated runs" in emulated._cost([usual], 2, [0.4], 2, 1)


def test_both_engines_stand_beside_each_other() -> None:
    usual = trap.load("usual")
    nothing = np.empty(0)
    run = ObservedRun(
        1, np.full(180, 4e5), np.full(180, 7e6), np.arange(180.0), np.full(180, 300.0),
        nothing, None,
    )  # fmt: skip
    simulated = emulated._means(usual, [run])
    slower = dataclasses.replace(run, down=np.zeros(180), rtt_ms=np.full(180, 400.0))
    real = emulated._means(usual, [slower])
    assert (simulated.uplink.mean, simulated.p95_ms.mean) == (pytest.approx(0.4), 300)
    assert real.down_bps is None
    verdicts = Verdicts(usual, (0.4,), (), 1)
    late = ("a hundredth of the packets was later than 1 ms in 9 of 180 seconds; more",)
    both = Beside(verdicts, verdicts, "transmission", {"40 %": (simulated, real)}, 3, late)
    assert list(words.beside_rows(both)) == [
        ["40 %", "simulated", "40 %", "7.00", "300", "300"],
        ["", "emulated", "40 %", "–", "400", "400"],
    ]
    said = words.beside_title(both)
    assert "by transmission beside the real controllers" in said
    assert "1 of 3 emulated runs invalid, the first since a hundredth of the packets was" in said
    assert said.endswith("180 seconds.")


def test_a_controller_has_its_time_from_when_its_client_uploads() -> None:
    usual = trap.load("usual")
    nothing = np.empty(0)
    up = np.where(np.arange(180) < 11, 0.0, 4e5)
    run = ObservedRun(1, up, up, np.arange(180.0), np.full(180, 30.0), nothing, None)
    assert emulated._begin_s(usual, [run]) == 11
    silent = dataclasses.replace(run, up=np.zeros(180))
    assert emulated._begin_s(usual, [silent]) == 0


def test_means_of_several_runs_have_intervals() -> None:
    means = Means(estimate([0.3, 0.5]), None, estimate([10.0, 10.0]), estimate([20.0, 24.0]))
    usual = Verdicts(trap.load("usual"), (0.4,), (), 2)
    rows = words.beside_rows(Beside(usual, usual, "libtorrent", {"ours": (means, means)}, 2, ()))
    _, _, uplink, _, median, p95 = next(rows)
    assert uplink.startswith("40 % [")
    assert median == "10"
    assert p95.startswith("22 [")
    narrow = Means(estimate([0.3999, 0.4001]), None, means.median_ms, means.p95_ms)
    both = Beside(usual, usual, "libtorrent", {"ours": (narrow, narrow)}, 2, ())
    assert next(words.beside_rows(both))[2] == "40.0 % [39.9, 40.1]"


@pytest.mark.long
@pytest.mark.clocked
@pytest.mark.parametrize(
    "program", [pytest.param("transmission", marks=pytest.mark.slow), "qbittorrent"]
)
def test_a_short_trap_from_the_command_line(
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    needs(program)
    lacking = [str(found) for found in capabilities() if found.state == "missing"]
    if lacking:
        pytest.skip(f"this machine cannot emulate: {lacking[0]}")
    whole = trap.load("usual")
    download = {"start": "1 s", "spread": "1 s", "stop": "14 s"}
    document = trap.laid_over(
        whole.document,
        {"timeline": {"end": {"at": "14 s"}}, "workloads": {"download": download}},
    )
    short = dataclasses.replace(whole, document=document, from_s=3.0)
    monkeypatch.setattr(trap, "load", lambda name: short)
    command = ["traps", "usual", "--engine", "emulation", "--program", program]
    command += ["--controller", "unlimited", "--controller", "autolimit", "--jobs", "3"]
    with pytest.raises(SystemExit) as ended:
        main([*command, "--limits", "40 %", "--out", str(tmp_path)])
    printed = capsys.readouterr()
    assert ended.value.code == 0, printed.err
    assert "Up to 3 emulated runs" in printed.err
    assert f"by {program} beside the real controllers" in " ".join(printed.out.split())
    page = (tmp_path / "emulation" / "traps.md").read_text(encoding="utf-8")
    assert "| 40 % | simulated |" in page
    assert "| unlimited | simulated |" in page
    assert "| autolimit | simulated |" in page
    assert page.count("|  | emulated |") == 3
