"""Changes at given instants."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag, ValidationInfo, field_validator

from flashcrowd.base.units import Span, UnitError
from flashcrowd.scenario.fields import Table
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.trace import with_capacity


class Change(Table):
    """One value of the network or of a workload changes in place: what is queued stays queued."""

    at: Span
    """The instant."""
    change: str
    """Dotted path of what changes, as in `network.links.bottleneck.rate`."""
    to: Any
    """The new value, as it would be written at that path."""

    @field_validator("to")
    @classmethod
    def _read_file(cls, given: Any, info: ValidationInfo) -> Any:
        """A trace, with what its file says."""
        if str(info.data.get("change")).rpartition(".")[2] not in ("rate", "up", "down"):
            return given
        value = with_capacity(given, Files.of(info))
        return {**value, "capacity": str(value["capacity"])} if value is not given else given


class Halt(Table):
    """A workload stops: its peers leave, its flows are aborted."""

    at: Span
    """The instant."""
    stop: str
    """The workload's name."""


def _tag(given: object) -> str:
    stops = isinstance(given, Halt) or (isinstance(given, dict) and "stop" in given)
    return "a stop" if stops else "a change"


def _either(given: object) -> object:
    """Refuses what is both a change and a stop."""
    if isinstance(given, dict) and "stop" in given and ("change" in given or "to" in given):
        raise UnitError(
            "either `change` and `to`, or `stop`", "write an entry of its own for the stop"
        )
    return given


Event = Annotated[
    Annotated[Change, Tag("a change")] | Annotated[Halt, Tag("a stop")],
    Discriminator(_tag),
    BeforeValidator(_either, json_schema_input_type=Change | Halt),
]
