"""The file of a testbed: which nodes, and what is on them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.study.option_file import table_of

VARIABLE = "FLASHCROWD_ENOSLIB"
"""Names EnOSlib's environment where the file does not."""

INSTALL = "python3 -m venv ~/enoslib && ~/enoslib/bin/pip install enoslib"


@dataclass(frozen=True)
class Options:
    """The options of the file.

    Attributes:
        enoslib: the Python of EnOSlib's environment.
        provider: name of a provider of EnOSlib.
        configuration: the provider's, as EnOSlib reads it.
        role: nodes with this role take part; all if empty.
        keep: leave nodes reserved at the end.
        python: a Python on the nodes that has flashcrowd; relative to their folder of work.
        folder: where the folder of work is made.
        files: files of this machine that are copied into the folder of work.
        prepare: commands of the shell, carried out there before all else.
        across: the number of nodes that play each run of an emulation together.
        port: the first TCP port at which they wait for each other.
    """

    enoslib: Path
    provider: str
    configuration: Mapping[str, object]
    role: str = ""
    keep: bool = False
    python: str = "python3"
    folder: str = "/tmp"
    files: tuple[Path, ...] = ()
    prepare: tuple[str, ...] = ()
    across: int = 1
    port: int = 7600

    @classmethod
    def read(cls, file: Path) -> Options:
        """Reads a TOML file.

        Raises:
            ClusterError: it cannot be read, or says something else, or EnOSlib is not there.
        """
        given = table_of(file)

        def taken(table: dict[str, object], place: str, key: str, kind: type, default: Any) -> Any:
            value = table.pop(key, default)
            if type(value) is not kind:
                what = {
                    str: "a text",
                    bool: "true or false",
                    dict: "a table",
                    list: "a list",
                    int: "a whole number",
                }[kind]
                raise ClusterError(f"{file}: {place}{key}: {what} is needed")
            return value

        node = taken(given, "", "node", dict, {})
        listed = {key: taken(node, "node.", key, list, []) for key in ("files", "prepare")}
        for key, texts in listed.items():
            if not all(isinstance(text, str) for text in texts):
                raise ClusterError(f"{file}: node.{key}: a list of texts is needed")
        options = cls(
            enoslib=_python(taken(given, "", "enoslib", str, ""), file),
            provider=taken(given, "", "provider", str, None),
            configuration=taken(given, "", "configuration", dict, None),
            role=taken(given, "", "role", str, ""),
            keep=taken(given, "", "keep", bool, False),
            python=taken(node, "node.", "python", str, "python3"),
            folder=taken(node, "node.", "folder", str, "/tmp"),
            files=tuple((file.parent / text).absolute() for text in listed["files"]),
            prepare=tuple(listed["prepare"]),
            across=taken(given, "", "across", int, 1),
            port=taken(node, "node.", "port", int, 7600),
        )
        for place, left in (("", given), ("node.", node)):
            if left:
                raise ClusterError(f"{file}: {place}{next(iter(left))}: there is no such key")
        if not options.folder.startswith("/"):
            raise ClusterError(f"{file}: node.folder: {options.folder}: a path from / is needed")
        if options.across < 1:
            raise ClusterError(f"{file}: across: {options.across}: at least 1 is needed")
        if not 1024 <= options.port <= 65_000:
            raise ClusterError(f"{file}: node.port: {options.port}: 1024 to 65000 is needed")
        for one in options.files:
            if not one.is_file():
                raise ClusterError(f"{file}: node.files: {one}: there is no such file")
        return options


def _python(said: str, file: Path) -> Path:
    """The Python of the environment that is named."""
    told = said or os.environ.get(VARIABLE, "")
    if not told:
        raise ClusterError(
            f"{file}: enoslib: EnOSlib has an environment of its own, as it cannot share ours; "
            f'make one with `{INSTALL}`, and say enoslib = "~/enoslib" or set {VARIABLE}'
        )
    python = Path(told).expanduser() / "bin" / "python"
    if not python.exists():
        raise ClusterError(f"{file}: enoslib: {told} is no environment of Python; see `{INSTALL}`")
    return python
