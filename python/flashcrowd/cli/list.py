"""`flashcrowd list`."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.base.errors import did_you_mean
from flashcrowd.study.catalogue import KINDS, Entries, Kind
from flashcrowd.study.toml import toml_of


def list(
    kind: Annotated[
        str | None, Parameter(help="One of " + ", ".join(KINDS) + "; all if not given.")
    ] = None,
    name: Annotated[
        str | None,
        Parameter(help="One of the kind: of a line, client, stack or uTP, also its settings."),
    ] = None,
) -> int:
    """List what a study may name, with one sentence each.

    Exit status: 0, or 2 if there is no such kind or name.
    """
    if kind is not None and kind not in KINDS:
        hint = _of_kind(kind) or did_you_mean(kind, KINDS)
        return _refused(kind, KINDS, hint)
    if kind is not None and name is not None:
        return _one(KINDS[kind], name)
    for number, one in enumerate(KINDS.values() if kind is None else [KINDS[kind]]):
        if kind is None:
            print(f"{'' if number == 0 else chr(10)}{one.name} ({one.where})")
        _show(one.entries(), indent="  " if kind is None else "")
    return 0


def _one(kind: Kind, name: str) -> int:
    """One entry with its settings."""
    entries = kind.entries()
    if name not in entries:
        return _refused(name, entries, did_you_mean(name, entries))
    _show({name: entries[name]}, indent="")
    if settings := kind.settings().get(name):
        print(f"\n{toml_of(settings)}", end="")
    return 0


def _of_kind(name: str) -> str:
    """The commands that show what is called so, if a kind has it."""
    found = [kind.name for kind in KINDS.values() if name in kind.entries()]
    return " or ".join(f"`flashcrowd list {kind} {shlex.quote(name)}`" for kind in found)


def _refused(name: str, allowed: Iterable[str], hint: str) -> int:
    print(f"{name}: one of {', '.join(allowed)}" + (f"; {hint}" if hint else ""), file=sys.stderr)
    return 2


def _show(entries: Entries, indent: str) -> None:
    """One row for each; a terminal's rows are wrapped below their sentence."""
    wide = max(map(len, entries), default=0)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    for name, sentence in entries.items():
        begin = f"{indent}{name:<{wide}}  "
        if columns - len(begin) < 30:
            print(f"{indent}{name}\n{textwrap.fill(sentence, columns, initial_indent='    ')}")
        else:
            below = " " * len(begin)
            print(
                textwrap.fill(sentence, columns, initial_indent=begin, subsequent_indent=below)
                or begin.rstrip()
            )
