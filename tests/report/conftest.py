"""Results that no engine made: a swarm whose download times are known in advance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flashcrowd.drawing.canvas import Canvas


@pytest.fixture(autouse=True)
def _nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number of every figure that a test draws is inside its panel."""
    draw = Canvas._text

    def text(canvas: Canvas, *how: Any) -> str:
        for line in canvas._series:
            low, high = sorted(line.panel.get_ylim())
            least, most = line.panel.get_xlim()
            for x, y in zip(line.x, line.y, strict=True):
                beside = isinstance(x, int | float) and not least <= x <= most
                drawn = np.isfinite(y) and not (line.panel.get_yscale() == "log" and y <= 0)
                room = 1e-9 * max(abs(low), abs(high))
                assert beside or not drawn or low - room <= y <= high + room, (line.name, x, y)
        return draw(canvas, *how)

    monkeypatch.setattr(Canvas, "_text", text)


@dataclass
class Synthetic:
    """What a report reads."""

    tables: dict[str, pa.Table]
    study: dict[str, Any]
    provenance: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(scope="session", name="swarm")
def _swarm() -> Callable[..., Synthetic]:
    return swarm


def swarm(
    rtts_ms: tuple[int, ...] = (0, 200, 400),
    losses: tuple[str, ...] = ("0 %", "5 %"),
    repeats: int = 6,
    leechers: int = 30,
    *,
    stalled: bool = False,
    extras: bool = True,
) -> Synthetic:
    """A sweep over round-trip time and loss in which time grows by 10 % per second of RTT."""
    runs: list[dict[str, Any]] = []
    names = "downloads pings series pieces send_gaps payloads rtts unchokes links"
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names.split()}
    point = 0
    for loss in losses:
        for rtt in rtts_ms:
            for repeat in range(repeats):
                random = np.random.default_rng([repeat, 1])
                luck = 1 + 0.01 * random.standard_normal()
                factor = luck * (1 + 0.1 * rtt / 1000 + (0.03 if loss != "0 %" else 0))
                run = len(runs)
                bad = stalled and repeat == 0 and point == 1
                times = 500 * factor + random.gamma(4, 4, leechers)
                runs.append(
                    {
                        "run": run, "point": point, "repeat": repeat, "seed": 100 + repeat,
                        "network.rtt": f"{rtt} ms", "network.loss": loss,
                        "outcome": "stalled" if bad else "completed",
                        "reason": "no seed left, 3 pieces missing" if bad else "",
                        "end_s": float(times.max()), "events": 1, "packets_sent": 1,
                        "packets_delivered": 1, "packets_lost": 0, "packets_dropped": 0,
                        "payload_bytes_delivered": 1, "retransmitted_packets": 0,
                    }
                )  # fmt: skip
                _downloads(rows, run, times, bad)
                if extras:
                    _extras(rows, run, rtt, times, random)
            point += 1
    tables = {"runs": pa.Table.from_pylist(runs)}
    tables |= {name: pa.Table.from_pylist(found) for name, found in rows.items() if found}
    study = {
        "format": 1,
        "title": "Latency and loss in a small crowd",
        "repeats": repeats,
        "sweep": {"network.rtt": [f"{r} ms" for r in rtts_ms], "network.loss": list(losses)},
    }
    return Synthetic(tables, study, {"version": "0.1.0", "commit": "0123abc"})


def _downloads(rows: dict, run: int, times: np.ndarray, bad: bool) -> None:
    common = {"run": run, "swarm": "crowd", "arrived_s": 0.0}
    rows["downloads"].append(
        {
            **common, "population": "seed", "host": "s", "peer": 0, "completed_s": 0.0,
            "left_s": None, "duration_s": None, "downloaded_bytes": 0, "uploaded_bytes": 9,
            "pieces": 40,
        }
    )  # fmt: skip
    for peer, t in enumerate(times):
        done = None if bad and peer < 3 else float(t)
        rows["downloads"].append(
            {
                **common, "population": "leechers", "host": f"h{peer}", "peer": peer + 1,
                "completed_s": done, "left_s": None, "duration_s": done,
                "downloaded_bytes": 10, "uploaded_bytes": 9, "pieces": 40,
            }
        )  # fmt: skip


def _extras(rows: dict, run: int, rtt: int, times: np.ndarray, random: np.random.Generator):
    who = {"run": run, "swarm": "crowd", "population": "leechers"}
    end = float(times.max())
    for t in np.arange(0, end, 20.0):
        share = min(1.0, t / end)
        rows["pieces"].append(
            {**who, "t_s": t, "leechers": len(times), "mean": 40 * share, "min": 0, "max": 40}
        )
        rows["series"].append(
            {"run": run, "what": "swarm-rate", "source": "crowd", "t_s": t,
             "value": 1e6 * (1 + 0.1 * random.standard_normal())}
        )  # fmt: skip
    for gap in (67, 134, 200, 270, 271):
        rows["send_gaps"].append({**who, "gap_ms": gap, "count": 100})
    for size, count in ((17, 50), (1217, 100), (1380, 1100)):
        rows["payloads"].append({**who, "bytes": size, "count": count})
    rows["rtts"].append(
        {**who, "samples": 10, "mean_s": rtt / 1000 + 0.002, "min_s": rtt / 1000, "max_s": 1.0}
    )
    for i in range(10):
        rows["unchokes"].append(
            {"run": run, "swarm": "crowd", "population": "seed", "peer": 0, "remote": i,
             "seeding": 1, "start_s": 10.0 * i, "end_s": 10.0 * i + 60, "bytes": 300000,
             "blocks": 18, "cause": "idle" if rtt == 400 and i < 4 else "rotation"}
        )  # fmt: skip
    for seq in range(20):
        rows["pings"].append(
            {"run": run, "ping": "phone", "seq": seq, "sent_s": float(seq),
             "rtt_s": None if seq == 3 else rtt / 1000 + float(random.gamma(2, 0.01))}
        )  # fmt: skip
    rows["links"].append(
        {"run": run, "link": "dsl.up", "packets": 10, "bytes": 10, "dropped": 3, "lost": 0,
         "mean_queue_delay_s": 0.02, "max_queue_packets": 14, "utilisation": 0.83}
    )  # fmt: skip
