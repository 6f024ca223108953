"""From texts about links to the conditions of a plan."""

from __future__ import annotations

from typing import cast

from flashcrowd.base.units import Rate
from flashcrowd.plan.types import Conditions, Jitter, Loss, LossModel, Settings
from flashcrowd.plan.types import Framing as FramingTable
from flashcrowd.scenario.discipline import Discipline
from flashcrowd.scenario.framing import Framing
from flashcrowd.scenario.impairments import Bernoulli, Bursts, GilbertElliott
from flashcrowd.scenario.impairments import Jitter as JitterTable
from flashcrowd.scenario.mirror import to_plan
from flashcrowd.scenario.queue import Queue
from flashcrowd.scenario.trace import Trace

_IP = Framing("ip")
AnyLoss = Bernoulli | GilbertElliott | Bursts


def conditions(
    *,
    rate: Rate | Trace | None = None,
    queue: Queue | Discipline | None = None,
    delay_ns: int = 0,
    jitter: JitterTable | None = None,
    loss: AnyLoss | None = None,
    framing: Framing | None = None,
) -> Conditions:
    """One direction of a link. Without a rate nothing waits, and there is no queue to limit.

    A trace in place of a rate is beside the conditions: see `plan.traces`.
    """
    return {
        "rate_bps": rate.bps if isinstance(rate, Rate) else None,
        "queue": lower_queue(queue if rate else None),
        "delay_ns": delay_ns,
        "jitter": _jitter(jitter),
        "loss": _loss(loss),
        "framing": _framing(framing or _IP),
    }


def lower_queue(queue: Queue | Discipline | None) -> Settings:
    """Where packets wait, with every parameter."""
    if queue is None:
        return {"kind": "drop-tail", "packets": None, "bytes": None}
    if isinstance(queue, Queue):
        limit = queue.bytes.bytes if queue.bytes else None
        return {"kind": "drop-tail", "packets": queue.packets, "bytes": limit}
    return to_plan(queue)


def _framing(framing: Framing) -> FramingTable:
    return cast("FramingTable", framing.to_plan())


def _jitter(jitter: JitterTable | None) -> Jitter | None:
    if jitter is None:
        return None
    return {"shape": jitter.shape, "spread_ns": jitter.spread.ns, "reorder": jitter.reorder}


def _loss(loss: AnyLoss | None) -> Loss | None:
    if loss is None or (not isinstance(loss, GilbertElliott) and not loss.probability):
        return None
    model: LossModel
    if isinstance(loss, Bernoulli):
        model = {"kind": "bernoulli", "probability": loss.probability.value}
    elif isinstance(loss, Bursts):
        model = _bursts(loss)
    else:
        model = {
            "kind": "gilbert-elliott",
            "to_bad": loss.to_bad.value,
            "to_good": loss.to_good.value,
            "loss_good": loss.loss_good.value,
            "loss_bad": loss.loss_bad.value,
        }
    return {"side": loss.side, "model": model}


def _bursts(loss: Bursts) -> LossModel:
    to_good = 1 / loss.length
    share = loss.probability.value
    return {
        "kind": "gilbert-elliott",
        "to_bad": min(to_good * share / (1 - share), 1.0),
        "to_good": to_good,
        "loss_good": 0.0,
        "loss_bad": 1.0,
    }
