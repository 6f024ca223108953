"""Reports: pages, figures and tables made from a results folder, and from nothing else.

:func:`write` makes the page and the figures of a study, :func:`summary` the table that a terminal
shows. Both read tables only and never ask an engine.
"""

from flashcrowd.report.study_page import write
from flashcrowd.report.summary import summary

__all__ = ["summary", "write"]
