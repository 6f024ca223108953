"""What can be wrong with a results folder. Each error names the file and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class ResultsError(Exception):
    """A results folder cannot be used.

    Attributes:
        path: the file or folder.
        what: what is wrong with it.
        remedy: what to do.
    """

    def __init__(self, path: Path, what: str, remedy: str) -> None:
        super().__init__(f"{path}: {what}\n  {remedy}")
        self.path = path
        self.what = what
        self.remedy = remedy


class DamagedResults(ResultsError):
    """A file is not what was written. Running the study again mends it.

    Attributes:
        state: what it is, in words.
        why: how it is known.
    """

    state = "is damaged"

    def __init__(self, path: Path, why: str, remedy: str) -> None:
        super().__init__(path, f"{self.state}: {why}", remedy)
        self.why = why

    @property
    def brief(self) -> str:
        """What is wrong with which file, in a phrase."""
        return f"{self.path} {self.state} ({self.why})"


class ForeignResults(DamagedResults):
    """A file is sound, but another results folder's. Running the study again mends the folder."""

    state = "is of another results folder"


class OtherFormat(ResultsError):
    """The folder was written in another format."""


class IncompleteResults(ResultsError):
    """The folder is sound, but runs are missing.

    Attributes:
        done: how many runs are finished.
        total: how many the study means.
    """

    def __init__(self, path: Path, done: int, total: int) -> None:
        super().__init__(
            path,
            f"{done} of {total} runs are finished, so there are no tables yet",
            "Run the study again with the same --out; it goes on where it stopped.",
        )
        self.done = done
        self.total = total


class Unknown(KeyError):
    """There is nothing of this name; the message lists what there is."""

    def __str__(self) -> str:
        return str(self.args[0])


class ResultsDiffer(ResultsError):
    """The folder holds results of another study or of another version of the code.

    Attributes:
        changes: what differs, one line each.
    """

    def __init__(
        self,
        path: Path,
        changes: Sequence[str],
        remedy: str = "Nothing was run. Use --fresh for a new folder beside it, or another --out.",
    ) -> None:
        shown = list(changes[:12])
        if len(changes) > len(shown):
            shown.append(f"… and {len(changes) - len(shown)} more")
        what = "holds results that do not belong to this study as it is now\n"
        super().__init__(
            path,
            what + "\n".join(f"    {change}" for change in shown),
            remedy,
        )
        self.changes = tuple(changes)
