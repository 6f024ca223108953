"""From texts about links to the conditions of a plan."""

from __future__ import annotations

from flashcrowd.plan.format import Conditions, Jitter, Loss, LossModel, QueueLimit
from flashcrowd.scenario.impairments import Bernoulli, GilbertElliott
from flashcrowd.scenario.impairments import Jitter as JitterTable
from flashcrowd.scenario.queue import Framing, Queue
from flashcrowd.units import Rate


def conditions(
    *,
    rate: Rate | None = None,
    queue: Queue | None = None,
    delay_ns: int = 0,
    jitter: JitterTable | None = None,
    loss: Bernoulli | GilbertElliott | None = None,
    framing: Framing | None = None,
) -> Conditions:
    """One direction of a link. Without a rate nothing waits, and there is no queue to limit."""
    return {
        "rate_bps": rate.bps if rate else None,
        "queue": queue_limit(queue if rate else None),
        "delay_ns": delay_ns,
        "jitter": _jitter(jitter),
        "loss": _loss(loss),
        "overhead_bytes": framing.bytes if framing else 0,
    }


def queue_limit(queue: Queue | None) -> QueueLimit:
    """Where a queue is full."""
    if queue is None:
        return {"packets": None, "bytes": None}
    return {"packets": queue.packets, "bytes": queue.bytes.bytes if queue.bytes else None}


def _jitter(jitter: JitterTable | None) -> Jitter | None:
    if jitter is None:
        return None
    return {"shape": jitter.shape, "spread_ns": jitter.spread.ns, "reorder": jitter.reorder}


def _loss(loss: Bernoulli | GilbertElliott | None) -> Loss | None:
    if loss is None or (isinstance(loss, Bernoulli) and not loss.probability):
        return None
    model: LossModel
    if isinstance(loss, Bernoulli):
        model = {"kind": "bernoulli", "probability": loss.probability.value}
    else:
        model = {
            "kind": "gilbert-elliott",
            "to_bad": loss.to_bad.value,
            "to_good": loss.to_good.value,
            "loss_good": loss.loss_good.value,
            "loss_bad": loss.loss_bad.value,
        }
    return {"side": loss.side, "model": model}
