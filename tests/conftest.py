"""Two profiles of property tests: `fast` for every change, `slow` for a night."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("fast", max_examples=60, deadline=None, derandomize=True)
settings.register_profile(
    "slow", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
