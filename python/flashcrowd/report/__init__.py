"""Reports: pages, figures and tables made from a results folder, and from nothing else.

:func:`flashcrowd.report.study_page.write` makes the page and the figures of a study,
:func:`flashcrowd.report.summary.summary` the table that a terminal shows. Both read tables only
and never ask an engine.
"""
