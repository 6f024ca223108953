"""A content server over HTTP: a directory's files, in the order that costs the disk least."""

from flashcrowd.content_server.listening import PORT, in_a_browser, listening, reachable
from flashcrowd.content_server.running import Unable, begin, raise_descriptors, run

__all__ = [
    "PORT",
    "Unable",
    "begin",
    "in_a_browser",
    "listening",
    "raise_descriptors",
    "reachable",
    "run",
]
