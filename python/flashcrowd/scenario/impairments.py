"""Jitter and loss."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from flashcrowd.scenario.distribution import LossDistribution
from flashcrowd.scenario.fields import PositiveSpan, Probability, Table, Word, shorthand
from flashcrowd.units import Share

Side = Literal["sender", "receiver"]


class Jitter(Table):
    """Random delay on top of the propagation delay, drawn for each packet."""

    shape: Literal["uniform", "normal"] = "uniform"
    """Uniform between nothing and `spread`, or normal around the propagation delay."""
    spread: PositiveSpan
    """Width of the uniform distribution, or standard deviation of the normal one."""
    reorder: bool = False
    """Whether packets may overtake each other; if not, a packet waits for the one before it."""


class Bernoulli(Table):
    """Each packet is lost independently of all others."""

    kind: Literal["bernoulli"] = "bernoulli"
    probability: Probability
    """Probability that a packet is lost."""
    side: Side = "receiver"
    """Where: before the sender's queue (a super-segment as a whole), or after the link."""


class GilbertElliott(Table):
    """Losses in bursts: a good and a bad state, with one step of a Markov chain a packet."""

    kind: Literal["gilbert-elliott"] = "gilbert-elliott"
    to_bad: Probability
    """Probability to go from the good to the bad state, a packet."""
    to_good: Probability
    """Probability to go from the bad to the good state, a packet."""
    loss_good: Probability = Share("0 %")
    """Probability of loss in the good state."""
    loss_bad: Probability = Share("100 %")
    """Probability of loss in the bad state."""
    side: Side = "receiver"
    """Where: before the sender's queue (a super-segment as a whole), or after the link."""


LossModel = Annotated[Bernoulli | GilbertElliott, Field(discriminator="kind")]
MaybeLoss = Annotated[
    LossModel | None,
    shorthand("probability", Probability | LossModel, kind="bernoulli"),
    Word("none"),
]
"""Loss on one link: "5 %", a table, or "none"."""

PathLoss = Annotated[
    Bernoulli | GilbertElliott | LossDistribution, Field(discriminator="kind")
]
MaybePathLoss = Annotated[
    PathLoss | None,
    shorthand("probability", Probability | PathLoss, kind="bernoulli"),
    Word("none"),
]
"""Loss between two hosts: as `MaybeLoss`, or drawn for each pair from a distribution."""

MaybeJitter = Annotated[Jitter | None, shorthand("spread", PositiveSpan | Jitter), Word("none")]
"""Jitter: its width ("10 ms", uniform), a table, or "none"."""


def _inherits(given: object) -> str:
    return "inherit" if given == "inherit" else "own"


Inherit = Literal["inherit"]
InheritedLoss = Annotated[
    Annotated[Inherit, Tag("inherit")] | Annotated[MaybePathLoss, Tag("own")],
    Discriminator(_inherits),
]
InheritedJitter = Annotated[
    Annotated[Inherit, Tag("inherit")] | Annotated[MaybeJitter, Tag("own")],
    Discriminator(_inherits),
]
