"""Switches: what each number of the flavours does to what the paper saw."""

from __future__ import annotations

from collections.abc import Iterator

from flashcrowd.drawing.blocks import Block, Text
from flashcrowd.papers.evidence import Evidence
from flashcrowd.papers.rossi2010 import quantities
from flashcrowd.papers.rossi2010.listing import listing


def draw(evidence: Evidence) -> Iterator[Block]:
    """Each study in which something was switched, with the numbers that it moves."""
    for study_name, words, names, given in SWITCHES:
        if study_name not in evidence.studies:
            continue
        study = evidence[study_name]
        yield Text(words)
        measures = [quantities.measure(study, {**given, "measure": one}) for one in names]
        yield listing(study, measures)


#: Study, what was switched, the measures to show and where they look.
SWITCHES = (
    (
        "windows",
        "Which window of TCP gives the table’s utilisation of 0.67, four flows alone? Linux offers "
        "its window before the application has read the segment that it acknowledges, so that one "
        "segment less is in flight than the buffer holds, and of an odd number the last waits for "
        "a delayed acknowledgement.",
        ("eta",),
        {},
    ),
    (
        "caps",
        "What bounds a single flow? β1 with other bounds of its window, at two delays.",
        ("throughput", "goodput", "queue-delay"),
        {"from_s": 60, "to_s": 240},
    ),
    (
        "starvation",
        "Why does α2 starve on a slow line? A minute at 10 Mbit/s, then four minutes at the "
        "capacity named, with one number of α2 changed at a time.",
        ("goodput", "throughput", "unevenness", "queue-delay"),
        {"from_s": 80, "to_s": 300},
    ),
    (
        "reordering",
        "What makes a flow sensitive to jitter? The delay of each packet on the forward path is "
        "drawn between 0 and 40 ms.",
        ("goodput", "throughput", "unevenness"),
        {"from_s": 60, "to_s": 240},
    ),
    (
        "backward",
        "Why does TCP on the way back slow LEDBAT down? From 120 s, a TCP transfer on the backward "
        "path, or nothing but a delay of 1.75 s there, a little less than TCP’s queue adds; with "
        "β1’s window and without a bound.",
        ("goodput", "ping", "unevenness", "queue-delay"),
        {
            "from_s": 140, "to_s": 240, "flow": "ledbat/0", "series": "goodput",
            "source": "ledbat/0", "link": "first-line",
        },
    ),
    (
        "priority",
        "How much does the right half of the table depend on the buffer, which the paper does not "
        "give? TCP’s losses decide whether LEDBAT gets anything.",
        ("share", "jain", "repeated", "queue-delay"),
        {"kind": "ledbat", "from_s": 60},
    ),
)  # fmt: skip
