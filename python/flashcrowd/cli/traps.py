"""`flashcrowd traps`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flashcrowd.cli.ending import again, stopped
from flashcrowd.cli.options import Jobs, whole
from flashcrowd.cli.output import console
from flashcrowd.engines import EngineError
from flashcrowd.store import ResultsError, atomic
from flashcrowd.study.pool import Interrupted
from flashcrowd.traps import UnknownTrap, conduct, words

PAGE = "traps.md"
"""All tables, in the results folder."""


def traps(
    *names: Annotated[str, Parameter(help="Which traps, such as video-call; all if not given.")],
    controller: Annotated[
        list[str], Parameter(negative=(), help="Only this controller. May be repeated.")
    ] = [],  # noqa: B006
    out: Annotated[Path, Parameter(help="Folder for everything.")] = Path("results") / "traps",
    repeats: Annotated[
        int | None, Parameter(help="Runs of each controller on each trap.", converter=whole)
    ] = None,
    jobs: Jobs = None,
    summary: Annotated[
        bool, Parameter(negative=(), help="Print only how many aims each controller meets.")
    ] = False,
) -> int:
    """Hold upload controllers against the best fixed limit, trap by trap.

    Each trap is a home line and what happens on it: a call, a step of capacity, a route that
    changes, a reflector that stops. The oracle is the best of a sweep of fixed limits. All tables
    are written into traps.md. After Ctrl-C or a crash the same command goes on where it stopped.

    Exit status: 0 done (whatever the aims), 1 a run failed, 2 unknown trap or controller, or
    unusable folder, 130 after Ctrl-C, 143 after SIGTERM.
    """
    err = Console(stderr=True)

    def tell(name: str, number: int, count: int) -> None:
        err.print(Text(f"trap {number} of {count}: {name}", style="bold"))

    try:
        found = conduct(
            names, controller, out, repeats=repeats, jobs=jobs, tell=tell, again=again()
        )
    except Interrupted:
        print(f"\nStopped. Finished runs are kept.\nGo on with: {again()}", file=sys.stderr)
        return stopped()
    except (UnknownTrap, ResultsError) as error:
        print(error, file=sys.stderr)
        return 2
    except EngineError as error:
        print(f"{error}\nFinished runs are kept.", file=sys.stderr)
        return 1
    atomic.write_bytes(out / PAGE, words.markdown(found).encode())
    printed = console()
    for one in () if summary else found:
        printed.print(Text(words.title(one)))
        printed.print(_table(words.header(one), list(words.rows(one))))
    count = f"Aims met, of {len(found)} traps"
    printed.print(Text(count))
    printed.print(_table(["controller", *words.AIMS, "all"], list(words.aims(found))))
    print(f"Tables: {out / PAGE}")
    return 0


def _table(header: list[str], rows: list[list[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(header):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table
