"""flashcrowd: how long will a file take to reach many people, and what would make it faster?

A packet-level simulator of file distribution. `run` takes a study (a TOML file or a
`flashcrowd.study.Study`) and gives `Results`; `open` reads a results folder again. `fetch` fetches
a file over HTTP.
"""

from __future__ import annotations

# Nothing is imported here: `__main__` comes after this module, and has to be quick.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from flashcrowd.download import fetch
    from flashcrowd.results import Results
    from flashcrowd.study import Study

__all__ = ["fetch", "open", "run"]


def run(
    study: Study | str | Path,
    out: str | Path | None = None,
    jobs: int | None = None,
    progress: bool = True,
    *,
    fresh: bool = False,
    force: bool = False,
    engine: str = "simulation",
) -> Results:
    """Run a study and give its results; runs that the folder already has are not run again.

    Args:
        study: a study, or the path of a study file.
        out: results folder; without, `results/` and the study's name.
        jobs: runs at a time; without, one a core, and of real programs as many as fit.
        progress: show a progress bar if there is a terminal or a notebook to show it in.
        fresh: where `out` holds results of another study or version, use a new folder beside it.
        force: begin even if the runs are expected not to fit into this machine's memory.
        engine: the name of what runs it, see `flashcrowd.engines.registry`.

    Raises:
        StudyError: the study is wrong, or does not fit; it lists every mistake.
        UnknownEngine: there is no engine of this name.
        ResultsDiffer: the folder holds results of another study or version.
        ResultsError: the folder cannot be used.
        EngineError: a run failed.
        KeyboardInterrupt: Ctrl-C; finished runs are kept.
    """
    from flashcrowd.base import extras

    with extras.named():
        from flashcrowd.results import Results
        from flashcrowd.study.runner import run

    return Results.of(run(study, out, jobs, progress, fresh=fresh, force=force, engine=engine))


def open(path: str | Path) -> Results:
    """Open a results folder.

    Raises:
        IncompleteResults: runs are missing; running the study again adds them.
        ResultsError: it is no results folder, or it is damaged.
    """
    from flashcrowd.base import extras

    with extras.named():
        from flashcrowd.results import Results
        from flashcrowd.store import open

    return Results.of(open(path))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("flashcrowd")
    if name == "fetch":
        from flashcrowd.download import fetch

        return fetch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__version__"])
