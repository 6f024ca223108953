"""Rows of the table `probes` that say what the self-test of an emulated network did not measure."""

COVERED = "kinds of paths"
"""How many kinds of paths there are, and how many were probed."""
NOT_FILLED = "queue of the full path, filled to"
"""Packets that a queue holds which no flood fills, and that it was filled to."""
NOT_REACHED = "rate of the full path, probed at"
"""A rate that is above the fastest flood, and the flood's."""
UNMEASURED = frozenset({COVERED, NOT_FILLED, NOT_REACHED})
"""All of them: they found nothing, and are within no limits."""
