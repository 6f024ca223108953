"""A progress bar in a terminal or a notebook; silence everywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from flashcrowd.study.pool import Watch


@contextmanager
def bar(title: str, done: int, total: int, wanted: bool = True) -> Iterator[Watch | None]:
    """Show how far the runs of a study are, until the block ends.

    Args:
        title: what is being done.
        done: runs finished before.
        total: runs in all.
        wanted: False for silence.

    Yields:
        whom to tell; None if nobody looks.
    """
    console = Console(stderr=True)
    if not wanted or not (console.is_terminal or console.is_jupyter):
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[runs]}/{task.total:.0f} runs"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=False) as progress:
        task = progress.add_task(title, total=total, completed=done, runs=done)

        def watch(finished: int, work: float) -> None:
            progress.update(task, completed=done + work, runs=done + finished)

        yield watch
        progress.refresh()  # the end, which a notebook is not shown otherwise
