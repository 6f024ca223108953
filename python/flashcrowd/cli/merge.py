"""`flashcrowd merge`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flashcrowd.cli import failed
from flashcrowd.store import ResultsError
from flashcrowd.store.merge import merge as put_together
from flashcrowd.study.campaign import say


def merge(
    out: Annotated[Path, Parameter(help="The results folder to make.")],
    folder: Annotated[Path, Parameter(help="A folder of `run --shard`.")],
    /,
    *folders: Annotated[Path, Parameter(help="More of them.")],
) -> int:
    """Put the shards of a study together; the tables are those of one machine, byte by byte.

    Nothing is written unless all runs are there, of one study and one version. Folders that were
    stopped on their way do as well.

    Exit status: 0 done, 1 a run failed, 2 a run is missing, or a folder cannot be used.
    """
    try:
        results = put_together(out, [folder, *folders], say)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Results: {results.path}")
    return failed.told(failed.reasons(results), len(results.manifest.runs))
