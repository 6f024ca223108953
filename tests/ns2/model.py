"""The simulation's side of the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from program import Outcome
from scenes import Scene, study

import flashcrowd
from flashcrowd.study import Study


def run(scenes: Sequence[Scene], stack: dict[str, Any], folder: Path) -> list[Outcome]:
    """Run scenes that differ in the starts of their flows only."""
    made = Study.from_dict(study(scenes, stack))
    results = flashcrowd.run(made, out=folder / "results", jobs=1, progress=False)
    transfers = results.tables["transfers"].to_pandas().sort_values(["run", "transfer", "flow"])
    links = results.tables["links"].to_pandas()
    outcomes = []
    for number, scene in enumerate(scenes):
        mine = transfers[transfers.run == number].set_index("transfer")
        flows = mine.loc[[f"f{it}" for it in range(len(scene.flows))]]
        ways = links[(links.run == number) & links.link.isin(_watched(scene))]
        offered = int((ways.packets + ways.dropped).sum())
        outcomes.append(
            Outcome(
                list(flows.goodput_bps),
                list(flows.duration_s.dropna()),
                int(flows.retransmits.sum()),
                offered,
                int(ways.dropped.sum()),
                float((ways.mean_queue_delay_s * ways.packets).sum() / ways.packets.sum()),
            )
        )
    return outcomes


def _watched(scene: Scene) -> list[str]:
    if scene.shared:
        return ["shared"]
    return [f"h{host}-1 up" for host, _ in scene.watched]
