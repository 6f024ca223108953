"""Published papers, reproduced: studies, claims, and what became of them.

:func:`reproduce` runs a paper's studies and judges its claims. Each paper is a folder, see
:mod:`flashcrowd.papers.paper`.
"""

from flashcrowd.papers.reproduce import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
