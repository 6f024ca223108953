"""Measurements over real uTP connections: `flashcrowd utp`."""

from flashcrowd.utp.config import configuration
from flashcrowd.utp.place import PORT, Place

__all__ = ["PORT", "Place", "configuration"]
