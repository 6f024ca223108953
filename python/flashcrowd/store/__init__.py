"""Results folders: written run by run, read as tables."""

from flashcrowd.store.errors import IncompleteResults, ResultsDiffer, ResultsError
from flashcrowd.store.results import Results, Tables, open

__all__ = ["IncompleteResults", "Results", "ResultsDiffer", "ResultsError", "Tables", "open"]
