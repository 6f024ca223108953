"""The errors of `flashcrowd.base.errors`, under a name that goes with version 0.2."""

from flashcrowd.base.errors import *  # noqa: F403
