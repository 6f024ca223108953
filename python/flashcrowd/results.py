"""Results as people work with them: those of the store, and what reports know of them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Self

from flashcrowd import store
from flashcrowd.base import extras
from flashcrowd.store.errors import ResultsError
from flashcrowd.store.html import amount, printed

if TYPE_CHECKING:
    import pyarrow as pa

    from flashcrowd.report.compare import Comparison


class Results(store.Results):
    """What a study gave. Made by `flashcrowd.run` and `flashcrowd.open`."""

    @classmethod
    def of(cls, kept: store.Results) -> Self:
        """The results of a folder that is open."""
        return cls(kept.path, kept.manifest)

    def compare(
        self,
        *others: store.Results | str | Path,
        margin: float = 0.05,
        names: Sequence[str] | None = None,
    ) -> Comparison:
        """How other results differ from these, as `flashcrowd compare` tells it.

        Args:
            others: results, or the folders of some.
            margin: what still counts as equivalent, relative to the mean here: 0.05 for 5 %.
            names: what to call these and the others; without, their engines, or, where these do not
                tell them apart, the ends of their paths.

        Raises:
            Incomparable: they have no point or no measure in common; it says why.
            ResultsError: one of the folders cannot be used.
        """
        with extras.named():
            from flashcrowd.report.compare import compare  # late: it takes a while to load

        opened = [each if isinstance(each, store.Results) else store.open(each) for each in others]
        return compare(self, *opened, margin=margin, names=names)

    def summary(self) -> pa.Table:
        """The means of the study with their intervals, as `flashcrowd report --csv` prints them.

        A row for each point and measure: the swept settings by path, `measure`, `of`, `unit`,
        `mean`, `low`, `high`, `n`, `smallest` and `largest` run.

        Raises:
            ResultsError: the folder cannot be used.
        """
        with extras.named():
            from flashcrowd.report import estimates  # late: it takes a while to load

        return estimates.table(self)

    def _repr_html_(self) -> str:
        """The answer first, then where the tables are."""
        try:
            title = str(self.study.get("title", self.path.name))
            body = _summary(self)
            runs = amount(self.tables["runs"].num_rows, "run")
        except ResultsError as error:
            return f"<pre>{escape(str(error))}</pre>"
        points = amount(len(self.manifest.points), "point")
        names = ", ".join(f"<code>{escape(name)}</code>" for name in self.tables)
        return (
            f"<div><strong>{escape(title)}</strong>{body}"
            f"<small>{runs} of {points} in <code>{escape(str(self.path))}</code>. "
            f"Tables: {names}</small></div>"
        )


def _summary(of: Results) -> str:
    """The output of a terminal after a run; empty where the report's libraries are missing."""
    try:
        from flashcrowd.report.summary import summary  # late: it takes a while to load
    except ModuleNotFoundError:
        return "<br>"
    return printed(summary(of))
