"""A plan: what an engine needs to run, and nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from flashcrowd import _core
from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.base.kept import Kept
from flashcrowd.plan import types
from flashcrowd.plan.digest import digest
from flashcrowd.plan.parts import FORMAT
from flashcrowd.plan.place import rejected

MOST_BYTES = 1 << 20
"""The last plan is kept for the next if it is this short. A longer one is no point of thousands,
and its run will want the memory.
"""


@dataclass(frozen=True)
class Plan:
    """Hosts, links, paths and processes in SI numbers, every default resolved.

    Attributes:
        data: the plan as its JSON has it; other plans may share parts of it.
        kept: what knows these parts.
    """

    data: types.Plan
    kept: Kept = field(default_factory=Kept, compare=False, repr=False)

    @property
    def title(self) -> str:
        """Its title."""
        return self.data["title"]

    def to_json(self) -> str:
        """The plan as an engine reads it: one line, the same for equal plans."""
        texts = [f'"{key}":{self.kept.text(value)}' for key, value in self.data.items()]
        return "{" + ",".join(texts) + "}"

    @property
    def parsed(self) -> _core.Plan:
        """The plan as an engine takes it.

        Raises:
            PlanRejected: no engine reads it.
        """
        text, before = self.to_json(), self.kept.parsed
        try:
            found = _core.Plan(text, before)
        except _core.PlanError as error:
            raise rejected(error, text) from None
        self.kept.parsed = found if len(text) < MOST_BYTES else None
        return found

    def digest(self) -> str:
        """Digest of everything but the title, in hexadecimal digits.

        Two plans with the same digest give the same tables for the same seed.
        """
        return digest(self.to_json())

    def save(self, path: str | Path) -> None:
        """Writes the plan as an indented JSON file."""
        text = json.dumps(self.data, indent=1, ensure_ascii=False, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Reads a plan that `save` or `to_json` wrote.

        Raises:
            StudyError: the file cannot be read or is no plan of this format.
        """
        source = str(path)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise StudyError([Problem(source, reason, "a plan file")], source) from None
        return cls.from_json(text, source)

    @classmethod
    def from_json(cls, text: str, source: str = "plan") -> Plan:
        """Reads a plan from its JSON.

        Raises:
            StudyError: it is no plan of this format.
        """
        hint = f"this version reads plans of format {FORMAT}"
        try:
            _core.Plan(text)
        except _core.PlanError as error:
            raise StudyError([Problem(source, str(error), "a plan", hint)], source) from None
        found: types.Plan = json.loads(text)
        if found["format"] != FORMAT:
            given = str(found["format"])
            raise StudyError([Problem("format", given, str(FORMAT), hint)], source)
        return cls(found)
