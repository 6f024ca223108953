"""Metrics of a workload, and how a measure is written: "p95 ping of bystander".

A **metric** is what is observed, once or many times in a run: a download time, a ping. A
**statistic** makes one number a run of it; that number is a **measure**. In words:

    [statistic] metric ["of" workload] ["in" group or population]

as in "mean download time", "p95 ping of bystander", "median download time of swarm in fibre".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from flashcrowd.base.errors import did_you_mean, one_of
from flashcrowd.base.units import UnitError


@dataclass(frozen=True, slots=True)
class Metric:
    """Something that is observed in a run.

    Attributes:
        name: what it is called.
        kind: kind of the workload that has it, or `link`.
        unit: its unit.
        meaning: how it is observed, a sentence.
        many: whether a run has many of them, so that a statistic chooses the number.
        more: what a larger one is, as in "9 % longer".
        less: what a smaller one is.
        most: largest value that there can be; the smallest is zero.
        others: other kinds of workloads that have it.
        failures: whether it counts what failed, so that it is known of a run that did.
        matters: smallest difference that matters, in its unit, where a study names none; and
            `SHARE` of the number at least.
        better: which of two numbers is better; empty where that depends on the question.
        noun: it as a subject in the singular, where the name is none.
        lost: what has no number and is missing in a mean.
        parts: whether it is known of each group or population.
    """

    name: str
    kind: str
    unit: str
    meaning: str
    many: bool = True
    more: str = "higher"
    less: str = "lower"
    most: float = float("inf")
    others: tuple[str, ...] = ()
    failures: bool = False
    matters: float = 0.0
    better: Literal["less", "more", ""] = ""
    noun: str = ""
    lost: str = "what never ended"
    parts: bool = False


SHARE = 0.05
"""A difference of a smaller share of the number does not matter, if the study names none. A user
does not notice whether a download takes 63 or 60 s, and lines are sold in larger steps.
"""

_DELAY_MS = 5.0
"""Less is below a frame of a game (8 ms at 120 Hz) and below the jitter of a home line."""

_LOST = 1.0
"""Points of a share: below 1 % the codecs of calls conceal losses (ITU-T G.113, appendix I)."""

METRICS = (
    Metric(
        "download time", "swarm", "s",
        "Of each download, from the arrival of its host to the complete file.",
        more="longer", less="shorter", others=("origin", "download"), better="less",
        lost="downloads that never ended", parts=True,
    ),
    Metric(
        "last completion", "swarm", "s",
        "When the last download is complete, on the clock of the run.",
        many=False, more="later", less="earlier", others=("origin",), better="less",
    ),
    Metric(
        "left without the file", "swarm", "%",
        "Share of the hosts that came and left before they had the file.",
        many=False, most=100.0, others=("origin",), failures=True,
        noun="the share without the file", better="less", matters=_LOST,
    ),
    Metric(
        "seed upload", "swarm", "MB", "Payload that the seeds sent.", many=False,
        better="less",
    ),
    Metric(
        "source upload", "swarm", "MB",
        "Payload that the seeds sent and web seeds brought: what those send who offer the file.",
        many=False, better="less",
    ),
    Metric(
        "seed share", "swarm", "%", "Share of the swarm's payload that the seeds sent.",
        many=False, most=100.0, matters=_LOST,
    ),
    Metric(
        "seed idle time", "swarm", "%",
        "Share of the time that a leecher lacked something in which seeds had nothing to upload.",
        many=False, most=100.0, matters=_LOST,
    ),
    Metric(
        "network throughput", "origin", "MB/s",
        "Bytes that were sent to clients, per second.",
        many=False, better="more",
    ),
    Metric(
        "disk throughput", "origin", "MB/s",
        "Bytes that the server read from its disk, per second.",
        many=False, better="less",
    ),
    Metric(
        "miss ratio", "origin", "%", "Bytes that the server read, as a share of those it sent.",
        many=False, better="less", matters=_LOST,
    ),
    Metric(
        "disk use", "origin", "%", "Share of the time in which the disk had something to do.",
        many=False, better="less", matters=_LOST, most=100.0,
    ),
    Metric(
        "disk cost", "origin", "units", "Price of all requests to the disk, in units of `price`.",
        many=False, better="less",
    ),
    Metric(
        "transfer time", "transfer", "s",
        "Of each flow with a size, from its start to its last byte.",
        more="longer", less="shorter", better="less", lost="flows that never ended",
    ),
    Metric(
        "goodput", "transfer", "Mbit/s", "Payload that a flow delivered, over its time.",
        better="more",
    ),
    Metric(
        "total goodput", "transfer", "Mbit/s",
        "Payload that all flows of the transfer delivered, from the first start to the last end.",
        many=False, better="more",
    ),
    Metric(
        "round-trip time", "transfer", "ms",
        "Of each flow, the mean over its time as its transport measured it.",
        more="longer", less="shorter", better="less", matters=_DELAY_MS,
    ),
    Metric(
        "tail round-trip time", "transfer", "ms",
        "Of each flow, the 95th percentile over its time as its transport measured it.",
        more="longer", less="shorter", better="less", matters=_DELAY_MS,
    ),
    Metric(
        "ping", "ping", "ms", "Round-trip time of each answered echo request.",
        better="less", matters=_DELAY_MS, lost="pings that were never answered",
    ),
    Metric(
        "unanswered pings", "ping", "%", "Share of the echo requests without an answer.",
        many=False, most=100.0, failures=True,
        noun="the share of unanswered pings", better="less", matters=_LOST,
    ),
    Metric(
        "server rate", "download", "Mbit/s",
        "Of each server of a download, its bytes over the time from the first request to the last "
        "of them.",
        better="more",
    ),
    Metric(
        "page time", "web", "s", "Of each page that came to its end, from click to last byte.",
        more="longer", less="shorter", better="less", lost="pages that never came to their end",
    ),
    Metric(
        "unfinished pages", "web", "%",
        "Share of the pages that failed, were stopped or cut off by the end of the run.",
        many=False, most=100.0, failures=True,
        noun="the share of unfinished pages", better="less", matters=_LOST,
    ),
    Metric(
        "one-way delay", "call", "ms", "Mean over the packets of one direction that arrived.",
        many=False, more="longer", less="shorter", better="less", matters=_DELAY_MS,
        lost="packets that never arrived",
    ),
    Metric(
        "tail one-way delay", "call", "ms",
        "Of each interval of one direction, the 95th percentile of its packets.",
        more="longer", less="shorter", better="less", matters=_DELAY_MS,
        lost="packets that never arrived",
    ),
    Metric(
        "jitter", "call", "ms", "RFC 3550's, mean over the intervals of one direction by packets.",
        many=False, better="less", matters=_DELAY_MS, lost="packets that never arrived",
    ),
    Metric(
        "call loss", "call", "%",
        "Share of the packets of one direction that did not arrive before the end of the run.",
        many=False, most=100.0, failures=True, better="less", matters=_LOST,
    ),
    Metric(
        "utilisation", "link", "%", "Bits that left the link over those that its rates allowed.",
        many=False, most=100.0, matters=_LOST,
    ),
    Metric(
        "queueing delay", "link", "ms", "Mean wait in the queue of the link, over its packets.",
        many=False, more="longer", less="shorter", better="less", matters=_DELAY_MS,
    ),
    Metric(
        "drops", "link", "packets", "Packets that the queue of the link dropped.", many=False,
        noun="the number of drops", better="less",
    ),
)  # fmt: skip
"""All metrics, those of one kind together, the most telling first."""

STATISTICS = {
    "mean": "the mean",
    "median": "the middle one",
    "smallest": "the smallest",
    "largest": "the largest",
}
"""Statistics by name, besides the percentiles `p1` to `p99.9`."""

CASE = "case"
"""The name of a sweep's first axis, in place of a path, where a study names its values."""

_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
_FORM = 'a measure, as in "mean download time" or "p95 ping of bystander"'


@dataclass(frozen=True, slots=True)
class Named:
    """A measure, as named by a user.

    Attributes:
        metric: what is observed.
        statistic: which number of a run it is; `mean` where a run has only one.
        of: the workload or link; empty for all that have the metric.
        within: the group or population whose observations count; empty for all.
    """

    metric: Metric
    statistic: str = "mean"
    of: str = ""
    within: str = ""

    def __str__(self) -> str:
        words = [self.statistic] if self.metric.many else []
        words.append(self.metric.name)
        words += ["of", self.of] if self.of else []
        words += ["in", self.within] if self.within else []
        return " ".join(words)


def metric(name: str) -> Metric:
    """The metric of this name.

    Raises:
        KeyError: there is none.
    """
    for candidate in METRICS:
        if candidate.name == name:
            return candidate
    raise KeyError(name)


def of_kinds(kinds: Iterable[str]) -> list[Metric]:
    """The metrics that workloads of these kinds have."""
    wanted = set(kinds)
    return [candidate for candidate in METRICS if wanted & {candidate.kind, *candidate.others}]


def workload(of: str) -> str:
    """The workload of what a measure is of: a call has a measure for each direction."""
    return of.partition(" from ")[0]


def parse(text: str) -> Named:
    """The measure that `text` names.

    Raises:
        UnitError: it names none; says what would.
    """
    words = " ".join(text.split())
    head, _, within = words.partition(" in ")
    head, _, of = head.partition(" of ")
    statistic, _, rest = head.partition(" ")
    if not (statistic in STATISTICS or _PERCENTILE.fullmatch(statistic)):
        statistic, rest = "", head
    # "p95 of ping" is understood as well.
    if statistic and not rest and of:
        rest, _, of = of.partition(" of ")
    try:
        found = metric(rest)
    except KeyError:
        names = [candidate.name for candidate in METRICS]
        hint = did_you_mean(rest, names) if rest else ""
        if not hint and (alike := [name for name in names if rest in name.split()]):
            hint = f"did you mean {one_of(alike)}?"
        raise UnitError(f"{_FORM}; metrics are {', '.join(names)}", hint) from None
    if statistic and not found.many and statistic != "mean":
        hint = f'a run has one {found.name}: write "{found.name}"'
        if (tail := f"tail {found.name}") in [candidate.name for candidate in METRICS]:
            hint += f', or "{tail}" for its 95th percentile'
        raise UnitError(_FORM, hint)
    return Named(found, statistic or "mean", of, within)


def said(statistic: str) -> str:
    """A statistic in words."""
    return STATISTICS.get(statistic) or f"percentile {statistic.removeprefix('p')}"


def percentile(statistic: str) -> float | None:
    """The percentage of a statistic such as `p95`; `None` for another one."""
    if statistic == "median":
        return 50.0
    match = _PERCENTILE.fullmatch(statistic)
    return float(match.group(1)) if match else None


def unknown(name: str, names: Iterable[str], what: str) -> UnitError:
    """That `name` is none of the `names` of what there is."""
    names = list(names)
    return UnitError(f"{what}: {one_of(names)}", did_you_mean(name, names))
