"""`flashcrowd traps`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich import box
from rich.table import Table
from rich.text import Text

from flashcrowd.base import systems, terminal
from flashcrowd.base.amounts import counted
from flashcrowd.base.signals import stopped
from flashcrowd.cli import failed
from flashcrowd.cli.ending import again
from flashcrowd.cli.options import Jobs, RepeatInvalid
from flashcrowd.cli.output import console
from flashcrowd.cli.values import whole
from flashcrowd.engines import EngineError, PlanRejected
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
    engine: Annotated[
        Literal["simulation", "emulation"],
        Parameter(help="emulation: real clients and controllers besides, in real time."),
    ] = "simulation",
    program: Annotated[
        str | None, Parameter(help="Emulation: what plays the client (its profile's if not given).")
    ] = None,
    limits: Annotated[
        str | None,
        Parameter(help='Emulation: fixed limits, as in "30 %,50 %" (the simulation\'s oracle).'),
    ] = None,
    repeat_invalid: RepeatInvalid = 0,
) -> int:
    """Hold upload controllers against the best fixed limit, trap by trap.

    Each trap is a home line and what happens on it: a call, a step of capacity, a route that
    changes, a reflector that stops. The oracle is the best of a sweep of fixed limits. All tables
    are written into traps.md. After Ctrl-C or a crash the same command goes on where it stopped.

    With --engine emulation each trap is simulated first and then played by real programs: by
    default one run each of unlimited, autolimit and the oracle's limit. emulation/traps.md shows
    both side by side. The time is printed first: a run takes 3 to 4 minutes.

    Exit status: 0 done (whatever the aims), 1 a run failed, 2 unknown trap or controller, what
    cannot be emulated here, or unusable folder, 130 after Ctrl-C, 143 after SIGTERM.
    """
    err = terminal.console(stderr=True)

    def tell(name: str, number: int, count: int) -> None:
        err.print(Text(f"trap {number} of {count}: {name}", style="bold"))

    try:
        if engine == "emulation":
            systems.required("the engine emulation", systems.LINUX)
            return _emulated(
                names, controller, out, limits=_shares(limits), program=program,
                repeats=repeats or 1, repeat_invalid=repeat_invalid, jobs=jobs, tell=tell,
                say=lambda text: err.print(Text(text)), again=again(),
            )  # fmt: skip
        if limits is not None or program is not None:
            raise UnknownTrap("--limits and --program are of --engine emulation")
        found = conduct(
            names, controller, out, repeats=repeats, jobs=jobs, tell=tell, again=again()
        )
    except Interrupted:
        print(f"\nStopped. Finished runs are kept.\nGo on with: {again()}", file=sys.stderr)
        return stopped()
    except (UnknownTrap, ResultsError, PlanRejected) as error:
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
    count = f"Aims met, of {counted(len(found), 'trap')}"
    printed.print(Text(count))
    printed.print(_table(["controller", *words.AIMS, "all"], list(words.aims(found))))
    print(f"Tables: {out / PAGE}")
    return 0


def _emulated(names: Sequence[str], controllers: Sequence[str], out: Path, **more: Any) -> int:
    """Simulated and emulated, beside each other."""
    # Imported here: the simulation runs where there are no namespaces.
    from flashcrowd.traps import emulated

    found = emulated.conduct(names, controllers, out, **more)
    page = out / emulated.FOLDER / PAGE
    atomic.write_bytes(page, words.beside_markdown(found).encode(), out)
    printed = console()
    for one in found:
        printed.print(Text(words.beside_title(one)))
        printed.print(_table(list(words.BESIDE_HEADER), list(words.beside_rows(one))))
    print(f"Tables: {page}")
    states = [
        failed.told(one.failed, one.counts, f" of trap {one.simulated.trap.name}") for one in found
    ]
    return max(states, default=0)


def _shares(text: str | None) -> list[float]:
    """Parts of the uplink: `30 %,50 %`."""
    found = []
    for part in text.split(",") if text is not None else ():
        number = part.strip().removesuffix("%").strip()
        try:
            found.append(round(float(number) / 100, 6))
        except ValueError:
            raise UnknownTrap(f'--limits {text}: write them as "30 %,50 %"') from None
    return found


def _table(header: list[str], rows: list[list[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(header):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    return table
