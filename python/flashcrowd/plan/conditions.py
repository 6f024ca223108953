"""From texts about links to the conditions of a plan."""

from __future__ import annotations

from typing import TypedDict

from flashcrowd.plan.format import Conditions, Jitter, Loss, LossModel
from flashcrowd.plan.format import Framing as FramingDict
from flashcrowd.plan.format import Queue as QueueDict
from flashcrowd.scenario.discipline import CoDel, Discipline, FqCoDel, Pie, Red
from flashcrowd.scenario.framing import Framing
from flashcrowd.scenario.impairments import Bernoulli, Bursts, GilbertElliott
from flashcrowd.scenario.impairments import Jitter as JitterTable
from flashcrowd.scenario.queue import Queue
from flashcrowd.scenario.trace import Trace
from flashcrowd.units import Rate

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

    A trace in place of a rate stands beside the conditions: see `plan.traces`.
    """
    return {
        "rate_bps": rate.bps if isinstance(rate, Rate) else None,
        "queue": lower_queue(queue if rate else None),
        "delay_ns": delay_ns,
        "jitter": _jitter(jitter),
        "loss": _loss(loss),
        "framing": _framing(framing or _IP),
    }


def lower_queue(queue: Queue | Discipline | None) -> QueueDict:
    """Where packets wait, with every parameter."""
    if queue is None:
        return {"kind": "drop-tail", "packets": None, "bytes": None}
    if isinstance(queue, Queue):
        limit = queue.bytes.bytes if queue.bytes else None
        return {"kind": "drop-tail", "packets": queue.packets, "bytes": limit}
    if isinstance(queue, CoDel):
        return {"kind": "codel", "limit_packets": queue.limit, **_law(queue)}
    if isinstance(queue, FqCoDel):
        return {
            "kind": "fq-codel",
            "limit_packets": queue.limit,
            "memory_limit_bytes": queue.memory_limit.bytes,
            "flows": queue.flows,
            "quantum_bytes": queue.quantum.bytes,
            "drop_batch": queue.drop_batch,
            **_law(queue),
        }
    if isinstance(queue, Pie):
        return {
            "kind": "pie",
            "limit_packets": queue.limit,
            "target_ns": queue.target.ns,
            "update_ns": queue.update.ns,
            "alpha_hz": queue.alpha,
            "beta_hz": queue.beta,
            "max_burst_ns": queue.max_burst.ns,
            "mean_packet_bytes": queue.mean_packet.bytes,
            "ecn": queue.ecn,
            "most_marked": queue.most_marked.value,
        }
    if isinstance(queue, Red):
        return {
            "kind": "red",
            "limit_packets": queue.limit,
            "min_packets": queue.min,
            "max_packets": queue.max,
            "weight": queue.weight,
            "max_probability": queue.max_probability.value,
            "gentle": queue.gentle,
            "mean_packet_bytes": queue.mean_packet.bytes,
            "ecn": queue.ecn,
        }
    return {
        "kind": "cake",
        "bandwidth_bps": queue.bandwidth.bps if queue.bandwidth else None,
        "framing": _framing(queue.framing) if queue.framing else None,
        "rtt_ns": queue.rtt.ns,
        "isolation": queue.isolation,
        "ack_filter": queue.ack_filter,
        "memory_limit_bytes": queue.memory_limit.bytes if queue.memory_limit else None,
        "mtu_bytes": queue.mtu.bytes,
    }


class _Law(TypedDict):
    target_ns: int
    interval_ns: int
    mtu_bytes: int
    ecn: bool
    ce_threshold_ns: int | None


def _law(queue: CoDel | FqCoDel) -> _Law:
    return {
        "target_ns": queue.target.ns,
        "interval_ns": queue.interval.ns,
        "mtu_bytes": queue.mtu.bytes,
        "ecn": queue.ecn,
        "ce_threshold_ns": queue.ce_threshold.ns if queue.ce_threshold else None,
    }


def _framing(framing: Framing) -> FramingDict:
    if framing.atm:
        return {"kind": "atm", "encapsulation_bytes": framing.overhead.bytes}
    return {"kind": "plain", "overhead_bytes": framing.overhead.bytes}


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
