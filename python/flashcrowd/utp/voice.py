"""How a measurement is printed: lines for people, a JSON object a line, or one JSON document."""

from __future__ import annotations

import json
import sys
from typing import Any

from flashcrowd.base.errors import Problem, StudyError


class Voice:
    """Tells what happens, in one of three ways.

    Attributes:
        as_document: nothing but the document is written to standard output.
        as_stream: each event is an object in a line of its own.
    """

    def __init__(self, as_document: bool, as_stream: bool) -> None:
        """Chooses the way.

        Raises:
            StudyError: two ways at once.
        """
        if as_document and as_stream:
            problem = Problem("--json-stream", "given", "only one of --json and --json-stream")
            raise StudyError([problem], "command line")
        self.as_document, self.as_stream = as_document, as_stream

    @property
    def for_people(self) -> bool:
        """Whether people read it."""
        return not (self.as_document or self.as_stream)

    def say(self, text: str, **event: Any) -> None:
        """An event; people get the text, if there is any."""
        if self.as_stream:
            print(json.dumps(event), flush=True)
        elif self.for_people and text:
            print(text, flush=True)

    def say_people(self, text: str) -> None:
        """A line that is for people only."""
        if self.for_people:
            print(text, flush=True)

    def announce(self, text: str, **event: Any) -> None:
        """An event that people may need though the document comes only at the end."""
        if self.as_document:
            print(text, file=sys.stderr, flush=True)
        else:
            self.say(text, **event)

    def complain(self, text: str) -> None:
        """The error, for people; documents and events have it in them."""
        if self.for_people:
            print(text, file=sys.stderr, flush=True)

    def document(self, value: dict[str, object]) -> None:
        """The document, if that is the way."""
        if self.as_document:
            print(json.dumps(value, indent=2), flush=True)
