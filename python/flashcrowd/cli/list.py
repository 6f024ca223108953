"""`flashcrowd list`."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.catalogue import KINDS, Entries
from flashcrowd.errors import did_you_mean


def list(
    kind: Annotated[
        str | None, Parameter(help="One of " + ", ".join(KINDS) + "; all if not given.")
    ] = None,
) -> int:
    """List what a study may name, with one sentence each.

    Exit status: 0, or 2 if there is no such kind.
    """
    if kind is not None and kind not in KINDS:
        hint = did_you_mean(kind, KINDS)
        print(f"{kind}: one of {', '.join(KINDS)}" + (f"; {hint}" if hint else ""), file=sys.stderr)
        return 2
    for number, one in enumerate(KINDS.values() if kind is None else [KINDS[kind]]):
        if kind is None:
            print(f"{'' if number == 0 else chr(10)}{one.name} ({one.where})")
        _show(one.entries(), indent="  " if kind is None else "")
    return 0


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
