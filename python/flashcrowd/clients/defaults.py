"""libtorrent's settings and their keys in the profile of its name."""

from __future__ import annotations

import importlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from flashcrowd.base.units import Share, Size, Span
from flashcrowd.scenario import shipped

NAME = "libtorrent"
"""Of the client profile, and of the uTP configuration that it opens connections with."""


@cache
def definition() -> Mapping[str, Any]:
    """The file libtorrent.toml."""
    return tomllib.loads(Path(__file__).with_name("libtorrent.toml").read_text())


def settings() -> Iterator[tuple[str, str, str]]:
    """Each setting that the file names, with its table there and its counterpart here."""
    made = definition()
    for name, entry in made["modelled"].items():
        yield name, "modelled", entry.get("rule") or _where(entry)
    for table in ("given", "differs"):
        for name, text in made[table].items():
            yield name, table, text
    for group in made["left_out"]:
        for name in group["settings"]:
            yield name, "left_out", group["why"]


def modelled() -> dict[str, Any]:
    """The value of each setting that the profile has a key for, in libtorrent's form.

    A setting whose key has another value than the file knows has no value: None.
    """
    entries = definition()["modelled"].items()
    return {name: _value(entry) for name, entry in entries if "rule" not in entry}


def _where(entry: Mapping[str, object]) -> str:
    key = f"`{entry['profile']}`" if "profile" in entry else f"uTP `{entry['utp']}`"
    return f"{key}: {_shown(_said(entry))}"


def _said(entry: Mapping[str, Any]) -> Any:
    """The value of the profile, or the uTP configuration, at the key of an entry."""
    table: Any = shipped.profiles()[NAME] if "profile" in entry else shipped.utps()[NAME]
    for key in (entry.get("profile") or entry["utp"]).split("."):
        table = table[key]
    return table


def _value(entry: Mapping[str, object]) -> Any:
    said = _said(entry)
    if "on" in entry:
        return entry["is"] if said == entry["on"] else None
    match entry.get("unit"):
        case "s":
            return Span(said).seconds
        case "ms":
            return 1e3 * Span(said).seconds
        case "B":
            return Size(said).bytes
        case "%":
            return 100 * (Share(said).value if isinstance(said, str) else said)
    return said


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


_HEADINGS = {
    "modelled": ("Modelled", "here"),
    "given": ("Given by the study", "by"),
    "differs": ("Another rule", "here"),
    "left_out": ("Left out", "why"),
}


def markdown() -> str:
    """The page docs/defaults.md. Needs the library, for its defaults."""
    library = importlib.import_module(NAME)
    defaults = library.default_settings()
    version = library.version.removesuffix(".0")
    found = list(settings())
    counts = {table: sum(it[1] == table for it in found) for table in _HEADINGS}
    lines = [
        "# Settings of libtorrent in the model",
        "",
        f"libtorrent {version} has {len(defaults)} settings. The profile `{NAME}` has "
        f"{counts['modelled']} of them, with their defaults.",
        f"A study gives {counts['given']}; {counts['differs']} follow another rule; "
        f"{counts['left_out']} are left out.",
        "A test compares each key of the profile with the library. "
        "[Real programs](programs.md#settings) lists the settings of the emulation.",
        "",
        "<!-- From python/flashcrowd/clients/libtorrent.toml: python -c 'from",
        '     flashcrowd.clients.defaults import markdown; print(markdown(), end="")\' -->',
    ]
    for table, (heading, column) in _HEADINGS.items():
        lines += [
            "",
            f"## {heading}",
            "",
            f"| setting | default | {column} |",
            "| --- | --- | --- |",
        ]
        for name, _, text in (it for it in found if it[1] == table):
            lines.append(f"| `{name}` | {_default(defaults[name])} | {text} |")
    return "\n".join(lines) + "\n"


def _default(value: Any) -> str:
    return _shown(value) or "empty"
