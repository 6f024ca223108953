"""Jitter and loss."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from flashcrowd.base.units import Share, Span, UnitError
from flashcrowd.base.words import JitterShape, Side
from flashcrowd.scenario.distribution import LossDistribution
from flashcrowd.scenario.fields import (
    LONGEST_DELAY,
    PositiveSpan,
    Probability,
    Table,
    Word,
    kind_from,
    shorthand,
    within,
)

Spread = Annotated[PositiveSpan, within(Span("0 ms"), LONGEST_DELAY)]


class Jitter(Table):
    """Random delay on top of the propagation delay, drawn for each packet."""

    shape: JitterShape = "uniform"
    """Uniform between nothing and `spread`, or normal around the propagation delay."""
    spread: Spread
    """Width of the uniform distribution, or standard deviation of the normal one."""
    reorder: bool = False
    """Whether packets may overtake each other; if not, a packet waits for the one before it."""


class Bernoulli(Table):
    """Each packet is lost independently of all others."""

    kind: Literal["bernoulli"] = "bernoulli"
    probability: Probability
    """Probability that a packet is lost."""
    side: Side = "receiver"
    """Where: before the sender's queue, of which it then takes nothing, or after the link."""


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
    """Where: before the sender's queue, of which it then takes nothing, or after the link."""


class Bursts(Table):
    """Losses in bursts, in a person's words: how much is lost, and how long a burst is.

    It is a `GilbertElliott` chain whose bad state loses everything: to_good = 1 / `length` and
    to_bad = to_good × `probability` / (1 - `probability`).
    """

    kind: Literal["bursts"] = "bursts"
    probability: Probability
    """Share of all packets that are lost."""
    length: Annotated[float, Field(ge=1, le=1e6)]
    """Mean number of packets that are lost in a row."""
    side: Side = "receiver"
    """Where: before the sender's queue, of which it then takes nothing, or after the link."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.probability.value * (1 + self.length) > self.length:
            most = Share.of(int(100 * self.length / (1 + self.length)) * Fraction(1, 100))
            allowed = f"a share of at most {most}, with bursts of {self.length:g}"
            raise UnitError(allowed, key="probability")
        return self


BurstText = Annotated[str, Field(pattern=" in bursts of ", examples=["2 % in bursts of 20"])]


def _from_text(given: object) -> object:
    """The table of a text such as "2 % in bursts of 20"."""
    share, words, length = str(given).partition(" in bursts of ")
    if not words or not isinstance(given, str):
        return given
    try:
        return {"kind": "bursts", "probability": share, "length": float(length)}
    except ValueError:
        raise UnitError('a loss, as in "2 % in bursts of 20"') from None


_KIND = {"to_bad": "gilbert-elliott", "to_good": "gilbert-elliott", "length": "bursts"}
LossModel = Annotated[Bernoulli | GilbertElliott | Bursts, Discriminator("kind")]
MaybeLoss = Annotated[
    LossModel | None,
    kind_from("bernoulli", **_KIND),
    shorthand("probability", Probability | LossModel, kind="bernoulli"),
    BeforeValidator(_from_text, json_schema_input_type=Probability | BurstText | LossModel),
    Word("none"),
]
"""Loss on one link: "5 %", "5 % in bursts of 10", a table, or "none"."""

PathLoss = Annotated[Bernoulli | GilbertElliott | Bursts | LossDistribution, Discriminator("kind")]
MaybePathLoss = Annotated[
    PathLoss | None,
    kind_from("bernoulli", **_KIND, file="distribution", points="distribution"),
    shorthand("probability", Probability | PathLoss, kind="bernoulli"),
    BeforeValidator(_from_text, json_schema_input_type=Probability | BurstText | PathLoss),
    Word("none"),
]
"""Loss between two hosts: as `MaybeLoss`, or drawn for each pair from a distribution."""

MaybeJitter = Annotated[Jitter | None, shorthand("spread", Spread | Jitter), Word("none")]
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
