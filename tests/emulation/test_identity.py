"""Whatever decides an emulated run is in the identity of the emulation."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashcrowd.emulation.card import ROOMS

ROOT = Path(__file__).parents[2]
CRATES = ROOT / "crates"
PACKAGE = ROOT / "python" / "flashcrowd"
EXTENSION = CRATES / "python"

DECIDE_NOTHING = {
    "base": "helpers of every floor: errors, messages, units, rows",
    "drawing": "figures of `autolimit`, for people",
    "plan": "makes and reads plans; the plan is in the identity of the run",
    "scenario": "what a study says, of which the plan is made",
    "store": "the folder of results",
}
"""Rooms that an emulated run imports, and that need not be in its identity."""
CARRY = {
    "build": "what this build is",
    "faults": "exceptions",
    "last_resort": "ends what a dead process left behind",
    "plan": "a plan that was read",
    "profiles": "values of crates that are in the identity",
    "simulate": "checks plans and predicts what they need",
    "table": "tables as Arrow has them",
}
"""Modules of the extension that a run calls, and that need not be in its identity."""


def sources(rooms: tuple[str, ...]) -> Iterator[ast.Module]:
    for room in rooms:
        for path in (PACKAGE / room).rglob("*.py"):
            yield ast.parse(path.read_text())


def imported(module: ast.Module) -> Iterator[str]:
    """The rooms of our package that a module imports."""
    for node in ast.walk(module):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{it.name}" for it in node.names]
        elif isinstance(node, ast.Import):
            names = [it.name for it in node.names]
        for name in names:
            package, *rest = name.split(".")
            if package == "flashcrowd" and rest and (PACKAGE / rest[0]).is_dir():
                yield rest[0]


def called(module: ast.Module) -> Iterator[str]:
    """What a module takes from the extension."""
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "_core":
            yield node.attr


def exporters() -> dict[str, str]:
    """The module of the extension that has each thing which Python sees."""
    uses = re.findall(r"use crate::(\w+)::(\{[^}]*\}|\w+);", (EXTENSION / "src/lib.rs").read_text())
    return {name: module for module, names in uses for name in re.findall(r"\w+", names)}


def engine(variable: str) -> tuple[set[str], set[str]]:
    """The crates of an engine with all that they need, and its modules of the extension."""
    script = re.sub(r"\s+", " ", (EXTENSION / "build.rs").read_text())
    found = re.search(rf'"{variable}", crates: &\[(.*?)\], modules: &\[(.*?)\]', script)
    assert found is not None, variable
    crates, modules = (set(re.findall(r'"([^"]+)"', it)) for it in found.groups())
    waiting, needed = {it.removeprefix("flashcrowd-") for it in crates}, set[str]()
    while waiting:
        needed.add(crate := waiting.pop())
        waiting |= needs(crate) - needed
    return needed, modules


def needs(crate: str) -> set[str]:
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text())
    sections = [manifest, *manifest.get("target", {}).values()]
    names = {name for section in sections for name in section.get("dependencies", {})}
    return {name.removeprefix("flashcrowd-") for name in names if name.startswith("flashcrowd-")}


def used(module: str) -> set[str]:
    """The crates of ours that a module of the extension uses."""
    flat = EXTENSION / "src" / f"{module}.rs"
    files = [flat] if flat.exists() else (EXTENSION / "src" / module).rglob("*.rs")
    return {it for path in files for it in re.findall(r"\bflashcrowd_(\w+)::", path.read_text())}


def test_every_room_that_plays_a_run_is_in_the_identity() -> None:
    rooms = {room for module in sources(ROOMS) for room in imported(module)}
    assert rooms - set(ROOMS) == set(DECIDE_NOTHING)


@pytest.mark.parametrize(
    ("variable", "rooms"),
    [("FLASHCROWD_EMULATION", ROOMS), ("FLASHCROWD_SERVER", ("content_server", "http"))],
)
def test_every_rule_that_a_run_asks_for_is_in_the_identity(
    variable: str, rooms: tuple[str, ...]
) -> None:
    crates, modules = engine(variable)
    exported = exporters()
    names = {name for module in sources(rooms) for name in called(module)} & set(exported)
    asked = {exported[name] for name in names - {"die_with_parent"}}  # the end of a process
    assert asked - set(CARRY) == modules
    if variable == "FLASHCROWD_SERVER":  # the loopback takes its rules from the simulation
        crates |= engine("FLASHCROWD_ENGINE")[0]
    for module in modules:
        assert used(module) <= crates, module
