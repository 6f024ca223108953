"""Results folders: written run by run, read as tables."""

from flashcrowd.store.errors import DamagedResults, IncompleteResults, ResultsDiffer, ResultsError
from flashcrowd.store.results import Results, Tables, open

__all__ = [
    "DamagedResults",
    "IncompleteResults",
    "Results",
    "ResultsDiffer",
    "ResultsError",
    "Tables",
    "open",
]
