"""The quantities of `flashcrowd.base.units`, under a name that goes with version 0.2."""

from flashcrowd.base.units import *  # noqa: F403
