"""Fits what each kind of work costs to what runs took."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

FITTED = Path(__file__).parents[2] / "crates/forecast/src/fitted.rs"
MIN_S = 200e-6
SLOWEST = 5.0
CONNECTION_BYTES = 2400.0
"""As `costs.rs` has them, which says where they are from; a test compares what both predict."""

KINDS = (
    "packets",
    "utp_packets",
    "events",
    "messages",
    "haves",
    "choices",
    "looks",
    "shares",
    "opened",
)
HELD = ("peers", "neighbours", "quota_neighbours")
Work = Mapping[str, float]


@dataclass(frozen=True)
class Costs:
    """What a kind of work costs."""

    seconds: Mapping[str, float]
    slower_bytes: float
    bytes: Mapping[str, float]

    def memory(self, work: Work) -> float:
        """Bytes at the peak (`costs::bytes`)."""
        held = sum(work[kind] * cost for kind, cost in self.bytes.items())
        return work["bytes"] + work["connections"] * CONNECTION_BYTES + held

    def time(self, work: Work) -> float:
        """Seconds of processor time (`costs::seconds`)."""
        slower = min(1.0 + self.memory(work) / self.slower_bytes, SLOWEST)
        return MIN_S + slower * sum(work[kind] * cost for kind, cost in self.seconds.items())

    @classmethod
    def read(cls) -> Costs:
        """The costs that were fitted last."""
        text = FITTED.read_text()
        tables = dict(re.findall(r"const (\w+): \[[^=]*= \[(.*?)\];", text, re.DOTALL))
        costs = {
            name: {
                kind: float(cost) for kind, cost in re.findall(r'\("(\w+)", ([\d.e+-]+)\)', table)
            }
            for name, table in tables.items()
        }
        slower = re.findall(r"SLOWER_BYTES: f64 = ([\d.e+-]+);", text)
        return cls(costs["SECONDS"], float(slower[0]), costs["BYTES"])

    def to_rust(self) -> str:
        """The file that the engine is compiled with."""

        def table(costs: Mapping[str, float]) -> str:
            return "".join(f'    ("{kind}", {cost:.3e}),\n' for kind, cost in costs.items() if cost)

        def array(name: str, costs: Mapping[str, float]) -> str:
            count = sum(1 for cost in costs.values() if cost)
            head = f"#[rustfmt::skip]\npub(crate) const {name}: [(&str, f64); {count}]"
            return f"{head} = [\n{table(costs)}];\n"

        return (
            "//! Written by `python -m benches.needs fit` from `benches/needs/measured.json`.\n"
            "\n"
            "/// Seconds for one of each kind of work, while memory is near.\n"
            + array("SECONDS", self.seconds)
            + "/// Cache misses make all of that slower: twice as slow with this many bytes.\n"
            f"pub(crate) const SLOWER_BYTES: f64 = {self.slower_bytes:.3e};\n"
            "/// Bytes for one of each kind.\n" + array("BYTES", self.bytes)
        )


def fit(
    works: Sequence[Work], seconds: Sequence[float | None], held: Sequence[float | None]
) -> Costs:
    """The costs whose predictions are nearest to what was measured, by the mean of log ratios.

    Args:
        works: of each run, what it is expected to do.
        seconds: processor time that it took; `None` if too little to be told.
        held: the same of its memory in bytes.
    """
    seconds_each: dict[str, float] = dict.fromkeys(KINDS, 1e-7)
    bytes_each: dict[str, float] = dict.fromkeys(HELD, 1000.0)
    costs = Costs(seconds_each, 2e8, bytes_each)
    runs = list(zip(works, seconds, held, strict=True))

    def memory(costs: Costs) -> float:
        return sum(_off(costs.memory(work), taken) for work, _, taken in runs if taken)

    def time(costs: Costs) -> float:
        return sum(_off(costs.time(work), taken) for work, taken, _ in runs if taken)

    for kind in HELD * ROUNDS:
        costs = min((replace(costs, bytes=it) for it in _near(costs.bytes, kind)), key=memory)
    for kind in ("slower", *KINDS) * ROUNDS:
        if kind == "slower":
            near = (replace(costs, slower_bytes=costs.slower_bytes * it) for it in STEPS if it)
        else:
            near = (replace(costs, seconds=it) for it in _near(costs.seconds, kind))
        costs = min(near, key=time)
    return costs


ROUNDS = 60
STEPS = (1.0, 0.0, 0.5, 0.8, 0.9, 0.97, 1.03, 1.1, 1.25, 2.0)


def _near(costs: Mapping[str, float], kind: str) -> list[dict[str, float]]:
    """The same costs with another one of a kind: some ratios of it, nothing, or next to nothing."""
    others = [costs[kind] * step for step in STEPS] + [LEAST.get(kind, 1e-9)]
    return [{**costs, kind: cost} for cost in others]


LEAST: dict[str, float] = dict.fromkeys(HELD, 10.0)
"""From what a cost that was nothing may grow again."""


def _off(predicted: float, taken: float) -> float:
    return min(abs(math.log(predicted / taken)), MOST_OFF)


MOST_OFF = math.log(4)
"""What is off by more counts as this: where the work is not predicted, no cost mends that."""
