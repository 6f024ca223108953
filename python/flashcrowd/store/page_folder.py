"""A page and its figures in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flashcrowd.base import folder_files
from flashcrowd.store import atomic


def save(html: str, figures: Mapping[str, bytes], folder: Path, name: str = "report.html") -> Path:
    """Write a page and its figures into `folder`; gives the path of the page.

    Other files in the folder, and in its ``figures``, are left alone.

    Raises:
        ResultsError: the folder cannot be written to.
    """
    drawn = folder / "figures"
    with atomic.naming(drawn):
        folder.mkdir(parents=True, exist_ok=True)
        folder_files.make(drawn, folder)
    for file, content in figures.items():
        atomic.write_bytes(drawn / file, content, folder)
    path = folder / name
    atomic.write_bytes(path, html.encode())
    return path
