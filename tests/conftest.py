"""Two profiles of property tests.

`fast` tries the same 60 examples each time: what a change breaks must not depend on luck, nor may
a change fail for what another one broke. `slow` (`make test-surprise`, weekly) tries 3,000 fresh
ones, from a seed that is printed, and after a failure says how to repeat it.
"""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("fast", max_examples=60, deadline=None, derandomize=True)
settings.register_profile(
    "slow",
    max_examples=3000,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background has them ignore Ctrl-C, and their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is long begins first: last, it would keep one core busy and the others waiting."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
