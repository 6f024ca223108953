"""Runs that did not deliver everything, as the table `runs` has them."""

UNDELIVERED = "undelivered"
"""The outcome of such a run."""
CUT = ("stalled", "horizon")
"""Outcomes that say by themselves that a crowd has not got its file."""
