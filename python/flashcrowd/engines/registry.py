"""The engines that there are, by name: the one place that knows them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from difflib import get_close_matches

from flashcrowd.base import systems
from flashcrowd.engines import Engine

ENGINES = {
    "simulation": "flashcrowd.engines.simulation:Simulator",
    "emulation": "flashcrowd.engines.emulation:Emulator",
    "loopback": "flashcrowd.engines.loopback:Loopback",
}
"""Name to module and class. The class is called without arguments, and imported when asked for."""

REAL_TIME = ("emulation", "loopback")
"""Those whose clock is a real one: they want a machine for themselves."""

REAL = "real"
"""Another name for the one of these two that plays what is asked for; results have its own name."""

PREFERRED = "loopback"
"""The one that it is where both do: it asks less of a machine, and plays larger crowds."""

DEFAULT = "simulation"
"""The default engine of a study."""


class UnknownEngine(ValueError):
    """There is no engine of this name; the message lists those that there are."""

    def __init__(self, name: str) -> None:
        near = get_close_matches(name, ENGINES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"no engine is called {name!r}; there are {', '.join(ENGINES)}{hint}")


def here() -> list[str]:
    """The names of those that run on this system."""
    return [it for it in ENGINES if it not in REAL_TIME or sys.platform in systems.LINUX]


def known(name: str) -> None:
    """Raise `UnknownEngine` if there is no engine of this name."""
    if name not in ENGINES:
        raise UnknownEngine(name)


def beside(kinds: Iterable[str]) -> str:
    """The engine of real programs that plays workloads of these kinds beside the simulation."""
    return PREFERRED if set(kinds) == {"origin"} else "emulation"


def meant(name: str, kinds: Iterable[str]) -> str:
    """The engine that a name means for workloads of these kinds: `real` is what is `beside`."""
    return beside(kinds) if name == REAL else name


def engine(name: str = DEFAULT) -> Engine:
    """A new engine by its name.

    Raises:
        UnknownEngine: there is none of this name.
        Unusable: this system cannot run it.
    """
    known(name)
    if name in REAL_TIME:
        systems.required(f"the engine {name}", systems.LINUX)
    module, _, kind = ENGINES[name].partition(":")
    return getattr(importlib.import_module(module), kind)()
