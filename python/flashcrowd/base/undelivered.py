"""Runs that did not deliver everything, as the table `runs` has them."""

UNDELIVERED = "undelivered"
"""The outcome of such a run."""
HORIZON = "horizon"
"""The outcome of a run that the horizon cut off before all was there that it waited for."""
CUT = ("stalled", HORIZON)
"""Outcomes that say by themselves that a crowd has not got its file."""
