"""A rate that changes with time, as a file says."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Discriminator, Tag, ValidationInfo, model_validator

from flashcrowd.base.units import UnitError
from flashcrowd.scenario.capacity import Capacity
from flashcrowd.scenario.fields import MaybeCount, MaybeRate, Table, Word
from flashcrowd.scenario.files import Files, as_many, rows_said
from flashcrowd.scenario.trace_file import read_capacity

MaybeFile = Annotated[str | None, Word("none")]


def _read_later(schema: dict[str, Any]) -> None:
    """The content of the file need not be in a study."""
    schema["required"] = [key for key in schema.get("required", []) if key != "capacity"]


class Trace(Table):
    """What a link carries over time, from a file: a Mahimahi trace, or CSV of two columns."""

    model_config = ConfigDict(json_schema_extra=_read_later)

    file: str
    """The file, its path relative to the study, or a trace that ships ("synthetic-mobile"). A line
    of a Mahimahi trace is the millisecond of an opportunity to send one packet of 1500 B; a file in
    CSV begins with `time [s],rate [Mbit/s]` and has a rate from each time on."""
    end: Literal["repeat", "hold"] = "repeat"
    """What comes after the last line: the trace from its beginning, or for CSV, "hold", the last
    rate for ever. A CSV trace begins again when its last rate has held for as long as the one
    before it."""
    rows: MaybeCount = None
    """How many rows of data the file has: one that was cut is refused. "none" if a comment in it
    says so, as `# rows: 240`."""
    read: MaybeFile = None
    """The file that `capacity` was read from. Where it is not `file`, that is read."""
    capacity: Capacity
    """What the file says; to be left out, and written down when the study is resolved."""

    @model_validator(mode="before")
    @classmethod
    def _read_file(cls, given: Any, info: ValidationInfo) -> Any:
        return with_capacity(given, Files.of(info))

    @model_validator(mode="after")
    def _ends(self) -> Self:
        as_many(self.rows, len(self.capacity.times), "entries of the capacity")
        if self.end == "hold":
            if self.capacity.kind == "opportunities":
                raise UnitError('"repeat"', "a Mahimahi trace has no last rate to hold", "end")
            if not self.capacity.bps[-1]:
                hint = f"the last rate of {self.file} is zero: nothing would arrive after it"
                raise UnitError('"repeat", or a file that ends with a rate', hint, "end")
        return self

    def __eq__(self, other: object) -> bool:
        """Whether the link carries the same: the file's name does not count."""
        if not isinstance(other, Trace):
            return False
        return self.end == other.end and self.capacity == other.capacity

    def __hash__(self) -> int:
        return hash((self.end, self.capacity))


def with_capacity(given: Any, files: Files) -> Any:
    """A table as a study has it, with what its file says."""
    if not isinstance(given, dict) or not isinstance(given.get("file"), str):
        return given
    if "capacity" in given and given.get("read") == given["file"]:
        return given
    if "capacity" in given and not given.get("read"):
        raise UnitError("a file, or a capacity that was read from it", "leave `capacity` out")
    capacity = read_capacity(given["file"], files, rows_said(given))
    return {**given, "read": given["file"], "capacity": capacity}


def _tag(given: object) -> str:
    return "trace" if isinstance(given, dict | Trace) else "rate"


LinkRate = Annotated[
    Annotated[MaybeRate, Tag("rate")] | Annotated[Trace, Tag("trace")], Discriminator(_tag)
]
"""A rate of more than zero, none for no limit, or a trace."""
