"""A trap: what happens to an upload controller on a line, as a study.

``line.toml`` is the line as a study file; the file of a trap is laid over it, and has besides a
table ``trap``:

says    what happens, in words
begin   when there is something to control, by default at once
from    from when on the trap is looked at, by default 60 s; it ends with the change ``end``
step    when the line changes for good: what comes 15 s later is looked at by itself
most    the highest rate that the uplink has, if not that of the modem: fixed limits are parts of it
clients how many clients share the uplink, by default one
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashcrowd.base.units import Rate, Span
from flashcrowd.scenario.upload_control import CONTROLLERS
from flashcrowd.study import Study

HOME = Path(__file__).parent
LINE = "line"
CONTROL = "workloads.seeding.populations.home.upload_control"
REFLECTORS = ("reflectors", "odd")

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The fixed limits of which the best is the oracle, as parts of the uplink."""

SETTLED_S = 60.0
"""A controller has its first minute to find the line."""

AFTER_STEP_S = 15.0
"""And a quarter of a minute after each step."""


class UnknownTrap(Exception):
    """No such trap, or no such controller; says which there are."""


@dataclass(frozen=True)
class Trap:
    """What happens to a controller.

    Attributes:
        name: its file's name.
        says: what happens, in words.
        document: the content of its study file, but for what varies.
        begin_s: when there is something to control.
        from_s: from when on it is looked at.
        step_s: when the line changes for good; ``None`` if it does not.
        most: the highest rate that the uplink has.
        clients: how many clients share the uplink.
    """

    name: str
    says: str
    document: Mapping[str, Any]
    begin_s: float
    from_s: float
    step_s: float | None
    most: Rate
    clients: int

    @property
    def to_s(self) -> float:
        """When it ends."""
        return Span(self.document["timeline"]["end"]["at"]).seconds

    @property
    def stretches(self) -> list[tuple[float, float]]:
        """The parts of a run that are looked at, each with an oracle of its own."""
        if self.step_s is None:
            return [(self.from_s, self.to_s)]
        return [(self.from_s, self.step_s), (self.step_s + AFTER_STEP_S, self.to_s)]

    @property
    def limits(self) -> list[Rate]:
        """The fixed limits among which the oracle chooses, of each client."""
        return [self.limit(share) for share in SHARES]

    def limit(self, share: float) -> Rate:
        """The fixed limit of each client that is this part of the uplink."""
        return Rate.of(round(share * self.most.bps / self.clients))

    def study(
        self,
        controllers: Sequence[str],
        repeats: int | None = None,
        shares: Sequence[float] = SHARES,
        document: Mapping[str, object] | None = None,
    ) -> Study:
        """The trap as a study: the fixed limits, then the controllers.

        Args:
            controllers: their names.
            repeats: replaces those of ``line.toml``.
            shares: the fixed limits, as parts of the uplink.
            document: replaces the trap's own.
        """
        fixed = [{"name": "fixed", "limit": str(self.limit(share))} for share in shares]
        named = [{"name": name} for name in controllers]
        values = [{**each, "reflector": list(REFLECTORS)} for each in (*fixed, *named)]
        document = {**(document or self.document), "sweep": {CONTROL: values}}
        place = HOME / f"{self.name}.toml"
        return Study.from_dict(document, place=str(place), directory=HOME, repeats=repeats)


def names() -> list[str]:
    """The traps that there are; first the line as it is."""
    found = sorted(path.stem for path in HOME.glob("*.toml") if path.stem != LINE)
    return sorted(found, key=lambda name: name != "usual")


def controllers() -> list[str]:
    """The controllers that are held against the oracle: all that move their limit, and none."""
    return [name for name in CONTROLLERS if name != "fixed"]


def load(name: str) -> Trap:
    """The trap of this name.

    Raises:
        UnknownTrap: there is none.
    """
    if name not in names():
        raise UnknownTrap(f"no trap {name!r}; there are {', '.join(names())}")
    own = _read(name)
    about = own.pop("trap")
    document = laid_over(_read(LINE), own)
    document["title"] = f"{document['title']}: {about['says']}"
    step = about.get("step")
    return Trap(
        name=name,
        says=about["says"],
        document=document,
        begin_s=Span(about.get("begin", "0 s")).seconds,
        from_s=Span(about.get("from", f"{SETTLED_S:.0f} s")).seconds,
        step_s=None if step is None else Span(step).seconds,
        most=Rate(about.get("most", document["network"]["links"]["modem"]["rate"])),
        clients=about.get("clients", 1),
    )


def laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of both, the values of `above` where both have one."""
    made = copy.deepcopy(dict(below))
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(made.get(key), Mapping)
        made[key] = laid_over(made[key], value) if both else copy.deepcopy(value)
    return made


def _read(name: str) -> dict[str, Any]:
    with (HOME / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)
