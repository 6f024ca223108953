"""The parts that a plain installation leaves out, and how to get them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

EXTRAS = {
    "numpy": "run",
    "pyarrow": "run",
    "jinja2": "report",
    "matplotlib": "report",
    "scipy": "report",
    "networkx": "topology",
    "libtorrent": "emulation",
    "deluge_client": "deluge",
    "dask": "cluster",
    "distributed": "cluster",
    "dask_jobqueue": "cluster",
}
"""Module to the extra that installs it."""


def remedy(error: ImportError) -> str | None:
    """One line that names all that is missing, and what installs it; None if it is no extra's."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__
    module = (cause.name or "").partition(".")[0] if cause else ""
    if module not in EXTRAS:
        return None
    # The tables of runs come first, what reads them comes next: one command for both.
    extra = "report" if EXTRAS[module] == "run" else EXTRAS[module]
    return _line(extra, _missing(extra) or [module])


def required(extra: str) -> None:
    """Refuse to begin what would need an extra at its end.

    Raises:
        ModuleNotFoundError: some of it is missing; the message says what to install.
    """
    if missing := _missing(extra):
        raise ModuleNotFoundError(_line(extra, missing), name=missing[0])


def _line(extra: str, missing: Sequence[str]) -> str:
    wanted = " ".join(f"'{it}'" for it in requirements(extra))
    names = (
        f"{', '.join(missing[:-1])} and {missing[-1]} are" if missing[1:] else f"{missing[0]} is"
    )
    return f"{names} not installed; get what this needs with: {_installer()} {wanted}"


def _missing(extra: str) -> list[str]:
    """Modules of an extra that cannot be imported."""
    needed = {re.split(r"[^\w-]", it)[0] for it in requirements(extra)}
    return [it for it in EXTRAS if it in needed and not _found(it)]


def _found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _installer() -> str:
    """The program that installs into this environment."""
    import shlex
    import shutil

    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx inject {shlex.quote(prefix.name)}"
    if not _found("pip"):
        return f"uv pip install --python {shlex.quote(sys.prefix)}"
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == Path(sys.executable).parent:
        return "pip install"
    return f"{shlex.quote(sys.executable)} -m pip install"


def requirements(extra: str) -> list[str]:
    """The requirements of an extra, with lower bounds, as this installation lists them."""
    from importlib.metadata import requires

    found: dict[str, None] = {}
    for line in requires("flashcrowd") or ():
        needed, _, marker = (it.strip() for it in line.partition(";"))
        if f'extra == "{extra}"' not in marker.replace("'", '"'):
            continue
        name, _, others = needed.rstrip("]").partition("[")
        if name == "flashcrowd":
            found |= dict.fromkeys(it for one in others.split(",") for it in requirements(one))
        else:
            found[needed] = None
    return list(found)


@contextmanager
def named() -> Iterator[None]:
    """Turn the error about a module of an extra into one that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        line = remedy(error)
        if line is None:
            raise
        raise ModuleNotFoundError(line, name=error.name) from None
