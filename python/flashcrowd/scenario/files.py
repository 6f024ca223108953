"""Where the files that a study names are, and what reading them leaves in doubt."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from flashcrowd.base.errors import Problem
from flashcrowd.base.units import UnitError


@dataclass(frozen=True)
class Files:
    """The input of a reader of files.

    Attributes:
        directory: where the study is; names of files are relative to it.
        doubts: what was read and can hardly be meant, each once. Readers add to it.
    """

    directory: Path = field(default_factory=Path)
    doubts: dict[Problem, None] = field(default_factory=dict)

    @classmethod
    def of(cls, info: ValidationInfo) -> Files:
        """Those of the study that is validated: `context["files"]`, or a bare "directory"."""
        context: dict[str, Any] = info.context or {}
        return context.get("files") or cls(context.get("directory") or Path())

    def doubt(self, path: Path, value: str, why: str, hint: str = "") -> None:
        """Takes up what is odd about a file."""
        self.doubts[Problem(str(path), value, why, hint)] = None


def rows_said(given: dict[str, object]) -> int | None:
    """How many rows the study says that a file has; what is no number is refused later."""
    said = given.get("rows")
    return said if type(said) is int else None


def as_many(said: int | None, rows: int, what: str) -> None:
    """Refuses `rows = N` beside another number of them."""
    if said is not None and said != rows:
        raise UnitError(f"{rows}, the number of the {what}", key="rows")
