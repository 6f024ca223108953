"""A paper: a folder with study files, claims and what the paper is, and a little code.

NAME/paper.toml    what it is, its studies with their quick variants, its figures and tables
NAME/claims.toml   its sentences, each with its judge
NAME/*.toml        the studies, in the ordinary format
NAME/__init__.py   FIGURES: item to drawing function; JUDGES: those that only this paper needs
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from flashcrowd.drawing.blocks import Block
from flashcrowd.engines import registry
from flashcrowd.papers import claim as claims_module
from flashcrowd.papers.claim import Claim, Judge
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.judges import GENERIC

HOME = Path(__file__).parent

#: Draws one item of a paper.
Draw = Callable[[Evidence], Iterable[Block]]


@dataclass(frozen=True)
class Quick:
    """How a study is cut down.

    Attributes:
        repeats: repeats of each point.
        set: values in place of those of the file, by dotted path.
        keep: values of swept settings that remain, by dotted path.
    """

    repeats: int
    set: Mapping[str, object] = field(default_factory=dict)
    keep: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Variation:
    """A study that differs from another one in a few values.

    Attributes:
        says: what differs, in words; empty for a study with a file of its own.
        set: the values, by dotted path.
        keep: values of swept settings that remain, by dotted path.
        repeats: repeats of each point, if not those of the file.
    """

    says: str = ""
    set: Mapping[str, object] = field(default_factory=dict)
    keep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    repeats: int | None = None


@dataclass(frozen=True)
class Playing:
    """How real programs run a study, by the section of ``paper.toml`` with their engine's name.

    Attributes:
        says: what differs from the simulation, in words.
        file: the study whose file it is, or a file of its own, if not the study's.
        set: values in place of those of the file, where it has their table, by dotted path.
        keep: values of swept settings that remain, by dotted path.
        quick: how it is cut down in quick mode.
        program: a program without which it is left out; empty if there is none.
        skip: whether quick mode leaves it out.
        alone: whether its runs go on one at a time, because it asks what this machine can bear.
    """

    says: str
    file: str
    set: Mapping[str, object]
    keep: Mapping[str, Sequence[Any]]
    quick: Quick
    program: str
    skip: bool
    alone: bool


@dataclass(frozen=True)
class Item:
    """A figure or table of the paper.

    Attributes:
        id: its name.
        title: its heading.
        studies: those without which it cannot be drawn.
        also: those that it shows as well where they were run.
    """

    id: str
    title: str
    studies: tuple[str, ...]
    also: tuple[str, ...] = ()

    def uses(self, study: str) -> bool:
        """Whether it shows anything of `study`."""
        return study in self.studies or study in self.also


class UnknownName(Exception):
    """No such paper or item; says which there are."""


@dataclass(frozen=True)
class Paper:
    """One paper.

    Attributes:
        name: its folder's name.
        folder: where it is.
        about: the content of ``paper.toml``.
    """

    name: str
    folder: Path
    about: Mapping[str, Any]

    @property
    def items(self) -> list[Item]:
        """Its figures and tables, in order."""
        return [
            Item(i["id"], i["title"], tuple(i["studies"]), tuple(i.get("also", ())))
            for i in self.about.get("item", [])
        ]

    @property
    def studies(self) -> list[str]:
        """Names of its studies, in order."""
        return list(self.about["studies"])

    @property
    def names(self) -> dict[str, str]:
        """What swept settings are called."""
        return dict(self.about.get("names", {}))

    def file(self, study: str) -> Path:
        """The file of a study: its own, or that of the study of which it is a variation."""
        about = self.about["studies"].get(study, {})
        return self.folder / f"{about.get('of', study)}.toml"

    def variation(self, study: str) -> Variation:
        """In what a study differs from its file; in nothing, unless it is a variation."""
        about = self._about(study)
        return Variation(
            about.get("says", ""),
            about.get("set", {}),
            about.get("keep", {}),
            about.get("repeats"),
        )

    def skipped(self, study: str) -> bool:
        """Whether quick mode leaves a study out."""
        return bool(self._about(study).get("quick", {}).get("skip", False))

    def says_of_quick(self, real: str = "") -> str:
        """How quick mode cuts the studies down, in words; those that `real` plays, if given."""
        return str((self.about[real] if real else self.about)["quick"]["says"])

    def played(self, real: str) -> tuple[str, ...]:
        """Names of the studies that an engine of real programs can play; none of most papers."""
        return tuple(self.about.get(real, {}).get("studies", ()))

    def meant(self, engine: str) -> str:
        """The engine that a name means: `real` is the one of real programs that plays it."""
        if engine != registry.REAL:
            return engine
        engines = (registry.PREFERRED, *registry.REAL_TIME)
        return next(filter(self.played, engines), registry.REAL_TIME[0])

    def at_a_time(self, real: str) -> int | None:
        """How many runs the engine `real` bears side by side, if the paper says so."""
        return self.about.get(real, {}).get("at_a_time")

    def untold(self, real: str) -> Mapping[str, str]:
        """Claims about what the programs of the engine `real` cannot be told, by id: why."""
        return self.about.get(real, {}).get("untold", {})

    def playing(self, study: str, real: str) -> Playing:
        """How the engine `real` plays one of those that it has `played`."""
        common = self.about[real]
        own, quick = common["studies"][study], common["quick"]
        cut = own.get("quick", {})
        return Playing(
            says=common["says"],
            file=own.get("of", study),
            set=common.get("set", {}) | own.get("set", {}),
            keep=own.get("keep", {}),
            quick=Quick(
                repeats=cut.get("repeats", quick["repeats"]),
                set=quick.get("set", {}) | cut.get("set", {}),
                keep=quick.get("keep", {}) | cut.get("keep", {}),
            ),
            program=own.get("program", ""),
            skip=bool(cut.get("skip", False)),
            alone=bool(own.get("alone", False)),
        )

    def _about(self, study: str) -> Mapping[str, Any]:
        """What ``paper.toml`` says of a study; a variation has what all ``variations`` have."""
        own = self.about["studies"][study]
        return {**self.about.get("variations", {}), **own} if "of" in own else own

    def quick(self, study: str) -> Quick:
        """The quick variant of a study."""
        common, own = self.about["quick"], self._about(study).get("quick", {})
        return Quick(
            repeats=own.get("repeats", common["repeats"]),
            set=own.get("set", common.get("set", {})),
            keep=own.get("keep", {}),
        )

    @cached_property
    def claims(self) -> list[Claim]:
        """Its sentences."""
        return claims_module.read(self.folder / "claims.toml")

    @property
    def judges(self) -> dict[str, Judge]:
        """Every judge that its claims may name."""
        return GENERIC | dict(self._code.JUDGES)

    @property
    def figures(self) -> Mapping[str, Draw]:
        """How each item is drawn."""
        return self._code.FIGURES

    @cached_property
    def _code(self) -> Any:
        return importlib.import_module(f"flashcrowd.papers.{self.name}")

    def choose(self, only: Sequence[str]) -> list[Item]:
        """The items with these names, or all without any.

        Raises:
            UnknownName: there is no such item.
        """
        known = [item.id for item in self.items]
        for name in only:
            if name not in known:
                raise UnknownName(f"no item {name!r} in {self.name}; there are {', '.join(known)}")
        return [item for item in self.items if not only or item.id in only]


def names() -> list[str]:
    """The papers that there are."""
    return sorted(path.parent.name for path in HOME.glob("*/paper.toml"))


def load(name: str) -> Paper:
    """The paper of this name.

    Raises:
        UnknownName: there is none.
    """
    if name not in names():
        raise UnknownName(f"no paper {name!r}; there are {', '.join(names())}")
    with (HOME / name / "paper.toml").open("rb") as file:
        return Paper(name, HOME / name, tomllib.load(file))
