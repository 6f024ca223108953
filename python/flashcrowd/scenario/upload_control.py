"""Upload controllers: what sets the upload limit of a client while it runs.

The controllers, their parameters, bounds and defaults are the engine's (`crates/upload`): the
tables below are made from its list, so that nothing about them is written twice.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from pydantic import BeforeValidator, Discriminator, Field, create_model

from flashcrowd import _core
from flashcrowd.base.errors import did_you_mean, one_of
from flashcrowd.base.limit_steps import LIMIT_STEPS
from flashcrowd.base.units import Rate, Size, Span, UnitError
from flashcrowd.scenario.described import literal, union
from flashcrowd.scenario.fields import (
    DelaySpan,
    MaybePositiveSpan,
    PacketSize,
    PositiveSize,
    Table,
    shorthand,
    within,
)


class Parameter(TypedDict):
    """A parameter of a controller, with its name in the plan."""

    name: str
    about: str
    min: float
    max: float
    default: float


class Controller(TypedDict):
    """A controller as the engine lists it."""

    name: str
    about: str
    parameters: list[Parameter]


CONTROLLERS: dict[str, Controller] = {
    each["name"]: each for each in json.loads(_core.upload_controllers())
}
"""By name."""


def _step(program: str) -> str:
    return str(Size.of(LIMIT_STEPS[program]))


INTERFACES: dict[str, dict[str, str]] = {
    # libtorrent in the same process: counters at any time, limits in bytes per second.
    "exact": {},
    # `transfer/info` is renewed every 1.5 s, and counts; limits are stored in whole KiB/s.
    "qbittorrent": {"refresh": "1.5 s", "step": _step("qbittorrent")},
    # `session-stats` counts at any time; limits are whole kB/s.
    "transmission": {"step": _step("transmission")},
    # `aria2.getGlobalStat` has a rate alone: a mean over 10 s.
    "aria2": {"window": "10 s"},
    # Azureus 3.0: the global upload rate is a mean over 10 s, limits are whole KiB/s.
    "azureus": {"window": "10 s", "step": "1 KiB"},
}
"""Interfaces of clients, by name, as far as they differ from one that hides nothing."""


class ClientInterface(Table):
    """What a client's interface for other programs says, and takes."""

    refresh: DelaySpan = Span("0 s")
    """How often it renews what it says; "0 s" for at each question."""
    window: MaybePositiveSpan = None
    """It says rates, which are means over this time; "none" for one that counts bytes."""
    step: PositiveSize = Size("1 B")
    """A limit is rounded down to a multiple of so much a second, and is at least that."""


def _by_name(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if given not in INTERFACES:
        allowed = f"{one_of(INTERFACES)}, or a table"
        raise UnitError(allowed, did_you_mean(given, INTERFACES))
    return INTERFACES[given]


class UploadControlTable(Table):
    """A controller of upload limits beside each client of a population."""

    name: str
    """Which controller."""
    reflector: str | list[str] = "auto"
    """Hosts or groups that answer its probes; "auto" for the swarm's tracker, or else the first
    host of a group that has no part in a swarm, or else of one without peers of the population."""
    probe_size: PacketSize = Size("64 B")
    """Size of the IP packet of a probe, and of its answer."""
    start_spread: DelaySpan = Span("1 s")
    """The controller begins a random time after its client, up to this: at any phase of the ticks
    of the client's limiter."""
    lateness: DelaySpan = Span("10 ms")
    """Each of its timers is late by a random part of this, as in any program."""
    poll: Annotated[Span, within(Span("10 ms"), Span("10 min"))] = Span("1 s")
    """How often it asks the client for its rates."""
    interface: Annotated[
        ClientInterface,
        BeforeValidator(_by_name, json_schema_input_type=ClientInterface | literal([*INTERFACES])),
    ] = ClientInterface()
    """What the client says of itself: as a program that is named, or as a table says."""


_ENDINGS: dict[str, type[Span | Rate]] = {"_ns": Span, "_bps": Rate}


def _parameter(described: Parameter) -> tuple[str, tuple[Any, Any]]:
    """A parameter as a field: its name in files, its type and its default."""
    key = described["name"]
    low, high = described["min"], described["max"]
    default: Any = described["default"]
    for ending, quantity in _ENDINGS.items():
        if key.endswith(ending):
            # Bounds are in seconds or bits per second, the default as the plan has it.
            whole = 10**9 if quantity is Span else 1
            bounds = (quantity.of(round(bound * whole)) for bound in (low, high))
            kind: Any = Annotated[quantity, within(*bounds)]
            default = quantity.of(default)
            return key.removesuffix(ending), (kind, _field(default, described))
    if isinstance(default, bool):
        return key, (bool, _field(default, described))
    bounded = Field(ge=low, le=high)
    return key, (Annotated[type(default), bounded], _field(default, described))


def _field(default: Any, described: Parameter) -> Any:
    return Field(default=default, description=described["about"])


def _table(name: str, controller: Controller) -> type[UploadControlTable]:
    fields: dict[str, Any] = {
        "name": (literal([name]), Field(default=name, description="Which one."))
    }
    fields |= dict(_parameter(it) for it in controller["parameters"])
    title = "".join(part.capitalize() for part in name.split("-"))
    return create_model(
        title,
        __base__=UploadControlTable,
        __module__=__name__,
        __doc__=controller["about"],
        **fields,
    )


TABLES: dict[str, type[UploadControlTable]] = {
    name: _table(name, controller) for name, controller in CONTROLLERS.items()
}
"""The table of each controller, by name."""
# Under their names here they can be sent to other processes.
globals().update({table.__name__: table for table in TABLES.values()})


if TYPE_CHECKING:
    UploadControl = UploadControlTable
else:
    _AnyTable = Annotated[union(TABLES.values()), Discriminator("name")]
    UploadControl = Annotated[_AnyTable, shorthand("name", _AnyTable | literal([*TABLES]))]
"""A controller: its name, or a table with its name and what differs from its defaults."""
