"""Comments and docstrings use plain words: `[comments]` of `voice.toml` counts the others."""

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.docs.promises import ROOT
from tests.docs.voice import RULES

COMMENT = re.compile(r"(?:^|\s)//[/!]?(.*)")


def of_python(text: str) -> Iterator[str]:
    """The comments and docstrings of a Python file."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("#: ")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def of_rust(text: str) -> Iterator[str]:
    """The comments of a Rust file."""
    yield from (found[1] for line in text.splitlines() if (found := COMMENT.search(line)))


LANGUAGES = {
    "python": ("python/flashcrowd", {".py", ".pyi"}, of_python),
    "rust": ("crates", {".rs"}, of_rust),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_comments_use_plain_words(language: str) -> None:
    folder, endings, comments = LANGUAGES[language]
    rules = tomllib.loads(RULES.read_text(encoding="utf-8"))["comments"]
    found = [
        f"{file.relative_to(ROOT)}: {len(hits)}: {', '.join(hits)}"
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix in endings and (hits := unplain(file, comments, rules["not"]))
    ]
    count = sum(int(line.split(": ")[1]) for line in found)
    most = rules[language]
    assert count <= most, f"{count} of at most {most}:\n" + "\n".join(found)
    assert most - count <= rules["slack"], f"lower `{language}` in voice.toml to {count}"


def unplain(file: Path, comments: Callable[[str], Iterator[str]], pattern: str) -> list[str]:
    """The words of a file's comments that are to be replaced; names in backquotes are code."""
    text = " ".join(" ".join(comments(file.read_text(encoding="utf-8"))).split())
    return re.findall(pattern, re.sub(r"`[^`]*`", "", text), re.IGNORECASE)
