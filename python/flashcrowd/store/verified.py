"""The files of `tables/`, read only if they are what was written, and of the folder they are in."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from flashcrowd.store import batch, digests
from flashcrowd.store.binding import MOVE, Binding, cards_of
from flashcrowd.store.errors import ForeignResults
from flashcrowd.store.manifest import Manifest

FILE = "digests.json"
"""In `tables/`: the digest of each file there, and what the tables are made from."""


class Verified:
    """The files of `tables/`, each held against its digest when it is first asked for.

    Attributes:
        folder: where the files are.
        manifest: what the results folder is for.
    """

    def __init__(self, results: Path, manifest: Manifest) -> None:
        self.folder = results / "tables"
        self.manifest = manifest
        self._sound: set[str] = set()

    @property
    def binding(self) -> Binding:
        """The source of the tables: runs of this results folder.

        Raises:
            DamagedResults: `digests.json` is not what was written.
            ForeignResults: the tables are of another results folder.
            ResultsError: the folder has runs of another one.
        """
        return self._said[0]

    def path(self, name: str) -> Path:
        """The path of a file that is what was written.

        Raises:
            DamagedResults: it is not.
            ForeignResults: the tables are of another results folder.
            ResultsError: the folder has runs of another one.
        """
        file = self.folder / name
        if name not in self._sound:
            _, wanted = self._said
            with digests.reading(file, self.folder.parent):
                if digests.of_file(file, self.folder.parent) != wanted.get(name):
                    raise ValueError("its digest is another")
            self._sound.add(name)
        return file

    @cached_property
    def _said(self) -> tuple[Binding, dict[str, object]]:
        results = self.folder.parent
        with digests.reading(self.folder / FILE, results):
            plain = digests.read_sealed(self.folder / FILE, results)
            binding, files = Binding.read(plain), plain["files"]
            if not isinstance(files, dict):
                raise ValueError("it has no digests of files")
        why = binding.foreign(results, self.manifest)
        if why:
            for file in batch.files(results):
                if batch.digest_of(file) not in binding.runs:
                    cards_of(file, self.manifest, MOVE)  # if it is of another study, that is why
            raise ForeignResults(self.folder, why, digests.mending(results))
        return binding, files


def write(folder: Path, binding: Binding) -> None:
    """Write the digests of all files in a folder, and what they are made from, beside them."""
    files = {file.name: digests.of_file(file, folder) for file in sorted(folder.iterdir())}
    plain = {**binding.to_json(), "files": files}
    (folder / FILE).write_text(digests.sealed(plain), encoding="utf-8")
