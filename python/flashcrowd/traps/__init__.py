"""Traps for upload controllers: what may happen on a home's line, and who copes with it.

Each trap is a file of this folder, laid over ``line.toml``; see :mod:`flashcrowd.traps.trap`.
"""

from flashcrowd.traps.run import conduct
from flashcrowd.traps.trap import UnknownTrap, controllers, names

__all__ = ["UnknownTrap", "conduct", "controllers", "names"]
