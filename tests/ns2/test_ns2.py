"""The model's `ns2-tcp` and ns-2 itself, through the same links, printed side by side.

`make ns2` shows the table. Flows start at the same instants on both sides. A single flow is the
same packet by packet; where flows compete, means over `STARTS` sets of instants are compared.
"""

import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
import model
import program
from program import Agent, Outcome
from scenes import SEGMENT, Scene, dumbbell, star

STARTS = 5
END_S = 60.0
UNBOUNDED = 10_000
"""Packets of a `window_` that bounds nothing here."""

DELAYS_S = (0.001, 0.004, 0.008, 0.012, 0.016, 0.019, 0.022, 0.025)
"""One way, of the hosts of a star, as in testa2011."""


def starts(flows: int, seed: int) -> list[float]:
    """Instants of the first second."""
    draw = random.Random(seed)
    return [round(draw.uniform(0, 1), 6) for _ in range(flows)]


def in_dumbbell(flows: int, queue: int, rtt_s: float, segments: int | None = None) -> list[Scene]:
    sets = [starts(flows, seed) for seed in range(STARTS)]
    return [dumbbell(flows, queue, rtt_s, it, segments=segments, end_s=END_S) for it in sets]


def in_star(queue: int) -> list[Scene]:
    """Each host uploads a megabyte to four others."""
    sets = [starts(4 * len(DELAYS_S), seed) for seed in range(STARTS)]
    return [star(DELAYS_S, queue, it, segments=700, end_s=200) for it in sets]


@dataclass(frozen=True)
class Kind:
    """A TCP of ns-2, and what it is in the model."""

    agent: str
    sink: str | None
    stack: dict[str, Any]

    def theirs(self, window: int | None) -> Agent:
        return Agent(self.agent, self.sink, {"window_": window} if window else {})

    def ours(self, window: int | None) -> dict[str, Any]:
        if window is None:
            return self.stack
        size = f"{window * SEGMENT} B"
        bounds = {"initial": size, "buffer": size, "max": size}
        return {
            **self.stack,
            "receive_window": bounds,
            "send_buffer": {"initial": size, "max": size},
        }


_SACK = {"base": "ns2-tcp", "sack": True}

KINDS = {
    "FullTcp/Newreno": Kind("FullTcp/Newreno", None, {"base": "ns2-tcp"}),
    "FullTcp/Sack": Kind("FullTcp/Sack", None, _SACK),
    # This agent reads `singledup_`.
    "Sack1": Kind("Sack1", "Sack1", {**_SACK, "reduction": "classic", "limited_transmit": True}),
}

CASES: dict[str, tuple[Callable[[], list[Scene]], int | None]] = {
    "1 flow": (lambda: in_dumbbell(1, 10, 0.1), None),
    "1 flow, no bound": (lambda: in_dumbbell(1, 20, 0.1), UNBOUNDED),
    "4 flows, 50 packets": (lambda: in_dumbbell(4, 50, 0.1), None),
    "4 flows, 500 segments each": (lambda: in_dumbbell(4, 20, 0.1, 500), None),
    "4 flows, 20 ms, no bound": (lambda: in_dumbbell(4, 20, 0.02), UNBOUNDED),
    "10 flows, 50 packets": (lambda: in_dumbbell(10, 50, 0.1), None),
    "star, 25 packets": (lambda: in_star(25), None),
    "star, 200 packets": (lambda: in_star(200), None),
    "star, 200 packets, no bound": (lambda: in_star(200), UNBOUNDED),
}
"""Scenes and `window_`; without one, ns-2's default of 20 packets."""

PRECISE = {"FullTcp/Newreno": 0.002, "FullTcp/Sack": 0.02, "Sack1": 0.02}
"""How far one flow may be from ns-2's."""

LIMITS = {"goodput": 0.06, "wait": 0.06, "duration": 0.06}
"""How far the means of several flows may be."""

NOT_JUDGED = {("Sack1", "star, 200 packets")}
"""Nothing is lost, and the model has ten times the needless retransmissions of Sack1."""


def means(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """What is compared, over the sets of instants."""
    ended = [it for outcome in outcomes for it in outcome.durations_s]
    offered = sum(it.offered for it in outcomes)
    return {
        "goodput": statistics.fmean(sum(it.goodput_bps) for it in outcomes) / 1e6,
        "least flow": statistics.fmean(min(it.goodput_bps) for it in outcomes) / 1e6,
        "most": statistics.fmean(max(it.goodput_bps) for it in outcomes) / 1e6,
        "loss": sum(it.dropped for it in outcomes) / offered * 100,
        "wait": statistics.fmean(it.wait_s for it in outcomes) * 1e3,
        "sent again": statistics.fmean(it.retransmits for it in outcomes),
        "duration": statistics.fmean(ended) if ended else 0.0,
    }


def distance(ours: float, theirs: float) -> float:
    """0 where both are; a thousandth of nothing is nothing."""
    return 0.0 if ours == theirs == 0 else ours / theirs - 1 if theirs else float("inf")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_does_what_ns2_does(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if reason := program.why_not():
        pytest.skip(reason)
    units = ("Mbit/s", "", "", "%", "ms", "packets", "s")
    table = Table("", title=f"{kind}: model / ns-2")
    wrong: list[str] = []
    for number, (case, (scenes, window)) in enumerate(CASES.items()):
        made, folder = scenes(), tmp_path / str(number)
        folder.mkdir()
        ours = means(model.run(made, KINDS[kind].ours(window), folder))
        theirs = means([program.run(it, KINDS[kind].theirs(window), folder) for it in made])
        if not number:
            for name, unit in zip(ours, units, strict=True):
                table.add_column(f"{name}, {unit}".rstrip(", "))
        apart = {name: distance(ours[name], theirs[name]) for name in ours}
        cells = [f"{ours[it]:.4g} / {theirs[it]:.4g} {apart[it]:+.1%}" for it in ours]
        table.add_row(case, *cells)
        alone = case.startswith("1 flow")
        for name, limit in LIMITS.items():
            most = PRECISE[kind] if alone else limit
            if abs(apart[name]) > most and (kind, case) not in NOT_JUDGED:
                wrong.append(f"{case}: {name} {apart[name]:+.1%}")
    with capsys.disabled():
        Console(width=200).print("", table)
    assert not wrong, wrong


def test_a_trace_is_read_flow_by_flow(tmp_path: Path) -> None:
    """Two segments, the first lost at the shared link and sent again: what a trace says of it."""
    scene = dumbbell(1, 5, 0.1, [0.0], segments=2, end_s=3)
    data = "tcp 1500 ------- 0 0.0 2.0"
    rows = [
        f"+ 0.1 0 1 {data} 1 5",
        f"+ 0.2 1 3 {data} 1 5",
        f"d 0.2 1 3 {data} 1 5",
        f"+ 0.3 0 1 {data} 1461 6",
        f"+ 0.4 1 3 {data} 1461 6",
        f"- 0.6 1 3 {data} 1461 6",
        f"r 0.7 3 2 {data} 1461 6",
        f"+ 0.8 0 1 {data} 1 7",
        f"+ 0.9 1 3 {data} 1 7",
        f"- 0.9 1 3 {data} 1 7",
        f"r 1.0 3 2 {data} 1 7",
    ]
    trace = tmp_path / "trace.txt"
    trace.write_text("\n".join(rows) + "\n")
    read = program.read(scene, trace)
    assert (read.retransmits, read.offered, read.dropped) == (1, 3, 1)
    assert read.durations_s == [1.0]
    assert read.goodput_bps == [2 * SEGMENT * 8]
    assert read.wait_s == pytest.approx(0.1)


def test_without_ns2_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert program.why_not() == "ns-2 is not installed: apt install ns2"
