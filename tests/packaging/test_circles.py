"""No circles between the files of a crate: each can be understood after those that it uses."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[2] / "crates"
Module = tuple[str, ...]
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
