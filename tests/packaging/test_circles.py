"""No circles between files of a crate, nor between crates: each is understood after those it uses.

`lint-imports` holds the folders of Python (pyproject.toml).
"""

import re
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[2] / "crates"
Module = tuple[str, ...]
#: Who may know whom: a crate knows crates of rows before its own only.
ROWS = [
    {"base"},
    {"link", "transport", "swarm", "upload", "origin"},
    {"plan"},
    {"workload"},
    {"topology"},
    {"forecast", "sim", "live", "client", "emulation"},
    {"python", "playground"},
]
#: Crates beside these rows, and all that they know.
BESIDE = {"server": {"base", "origin"}, "oracle": {"base"}, "identity": set[str]()}
#: Rooms of the simulator, and those that each knows nothing of.
ABOVE = {"kernel": {"apps", "record", "run"}, "apps": {"record", "run"}, "record": {"run"}}
#: Tests stand at the end of a file, or in a file of their own.
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:mod \w+ \{.*|use [^;]*;)", re.DOTALL)
USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def paths(tree: str) -> list[str]:
    """Those of a `use`: `a::{b, c::{d}}` is `a::b` and `a::c::d`."""
    head, _, rest = tree.partition("{")
    parts = re.findall(r"(?:[^,{}]|\{(?:[^{}]|\{[^{}]*\})*\})+", rest.removesuffix("}"))
    return [head + it for part in parts for it in paths(part)] or [tree.removesuffix("::self")]


class Crate:
    """The files under `src` as modules: the paths that each uses, and those that it exports."""

    def __init__(self, src: Path) -> None:
        texts = {file: file.read_text(encoding="utf-8") for file in src.rglob("*.rs")}
        tests = set(re.findall(r"#\[cfg\(test\)\]\s*mod (\w+);", "".join(texts.values())))
        self.uses: dict[Module, set[str]] = {}
        self.exports: dict[Module, dict[str, str]] = {}
        for file, text in texts.items():
            module = file.relative_to(src).with_suffix("").parts
            module = module[:-1] if module[-1] in {"lib", "main", "mod"} else module
            if tests.isdisjoint(module):
                code = TESTS.sub("", re.sub("//.*", "", text))
                uses, exports = set(PATH.findall(USE.sub("", code))), dict[str, str]()
                for public, tree in USE.findall(code):
                    found = paths(re.sub(r"\s+(as\s+\w+)?", "", tree))
                    uses.update(found)
                    exports |= {it.split("::")[-1]: it for it in found if public and "::" in it}
                self.uses[module], self.exports[module] = uses, exports

    def find(self, here: Module, path: str) -> Module:
        """The module that a path leads to, or the last one on the way out of the crate."""
        at = () if path.startswith("crate::") else here
        for step in path.split("::"):
            if step == "super":
                at = at[:-1]
            elif (*at, step) in self.uses:
                at = (*at, step)
            elif step in self.exports[at]:
                at = self.find(at, self.exports[at][step])
            elif step not in {"crate", "self"}:
                break
        return at

    def order(self) -> None:
        """Raises an error that names the files of a circle. A file and its folder are no circle."""
        graph = {one: {self.find(one, it) for it in uses} for one, uses in self.uses.items()}
        for one, others in graph.items():
            others -= {it for it in others if it == one[: len(it)] or one == it[: len(one)]}
        TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("crate", sorted(it.parent.name for it in CRATES.glob("*/Cargo.toml")))
def test_no_file_of_a_crate_needs_itself(crate: str) -> None:
    Crate(CRATES / crate / "src").order()


def test_a_circle_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\npub use a::{A, c::{self}};\n")
    (tmp_path / "a/mod.rs").write_text("mod c;\npub(crate) use c::A;\n")
    (tmp_path / "a/c.rs").write_text("use crate::{X, b::{B, C as D}};\n")
    (tmp_path / "b.rs").write_text("// crate::A\n#[cfg(test)]\nmod tests {\n    use crate::A;\n}\n")
    Crate(tmp_path).order()
    (tmp_path / "b.rs").write_text("fn b(_: crate::A) {}\n")
    with pytest.raises(CycleError, match=r"\('a', 'c'\).*\('b',\)|\('b',\).*\('a', 'c'\)"):
        Crate(tmp_path).order()


def needs(crate: str) -> set[str]:
    """The crates of the workspace that a crate is compiled with, its tests left out."""
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text(encoding="utf-8"))
    found = {
        name
        for table in (manifest, *manifest.get("target", {}).values())
        for key in ("dependencies", "build-dependencies")
        for name in table.get(key, {})
    }
    return {it.removeprefix("flashcrowd-") for it in found if it.startswith("flashcrowd-")}


def test_the_map_of_the_house_has_these_rows() -> None:
    text = (CRATES.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = re.search(r"^`base` ←[^.]*", text, re.MULTILINE)
    assert drawn
    assert [set(re.findall(r"`(\w+)`", row)) for row in drawn[0].split("←")] == ROWS
    listed = set(re.findall(r"^      (\w+)/  ", text.partition("python/flashcrowd/")[0], re.M))
    assert listed == {*BESIDE, *set().union(*ROWS)}
    assert listed == {it.parent.name for it in CRATES.glob("*/Cargo.toml")}


def test_the_map_of_the_house_has_the_folders_of_python_by_floors() -> None:
    root = CRATES.parent
    linted = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    layers = linted["importlinter"]["contracts"][0]["layers"]
    floor = {name: -above for above, row in enumerate(layers) for name in row.split(" | ")}
    _, _, text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("by floors:")
    listed = re.findall(r"^      (\w+)/  ", text.partition("\n\n")[0], re.M)
    assert listed == sorted(listed, key=floor.__getitem__)
    folders = {it.parent.name for it in root.glob("python/flashcrowd/*/__init__.py")}
    assert set(listed) == folders & set(floor)


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_no_arrow_between_crates_runs_back_up(row: int) -> None:
    before = set().union(*ROWS[:row])
    if "python" in ROWS[row]:
        before |= set(BESIDE)
    for crate in ROWS[row]:
        assert needs(crate) <= before, crate


@pytest.mark.parametrize("crate", BESIDE)
def test_crates_beside_the_rows_know_little(crate: str) -> None:
    assert needs(crate) == BESIDE[crate]


def reached(crate: Crate, room: str) -> Iterator[tuple[Module, Module]]:
    """What the files of a folder use outside of it."""
    for module, uses in crate.uses.items():
        found = {crate.find(module, it) for it in uses} if module[:1] == (room,) else set()
        yield from ((module, it) for it in found if it[:1] != (room,))


@pytest.mark.parametrize("room", ABOVE)
def test_rooms_of_the_simulator_know_nothing_of_those_above(room: str) -> None:
    found = list(reached(Crate(CRATES / "sim" / "src"), room))
    assert [it for it in found if it[1] and it[1][0] in ABOVE[room]] == []
    if room != "kernel":  # What it reads of the others is found.
        assert "kernel" in {it[0] for _, it in found if it}


def test_an_arrow_upwards_is_seen(tmp_path: Path) -> None:
    for name, text in {
        "lib": "mod kernel;\nmod apps;\n",
        "kernel/mod": "mod clock;\n",
        "kernel/clock": "use super::super::apps::App;\n",
        "apps/mod": "pub(crate) struct App;\n",
    }.items():
        file = tmp_path / f"{name}.rs"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert list(reached(Crate(tmp_path), "kernel")) == [(("kernel", "clock"), ("apps",))]
