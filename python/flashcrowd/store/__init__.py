"""Results folders: written run by run, read as tables."""

from flashcrowd.store.errors import (
    DamagedResults,
    ForeignResults,
    IncompleteResults,
    ResultsDiffer,
    ResultsError,
)
from flashcrowd.store.results import Results, Tables, open

__all__ = [
    "DamagedResults",
    "ForeignResults",
    "IncompleteResults",
    "Results",
    "ResultsDiffer",
    "ResultsError",
    "Tables",
    "open",
]
