"""How often, and after which time, a failed exchange is retried."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

FIRST_S = 0.5
"""The first wait, in seconds; each further one is twice as long."""
LONGEST_S = 30.0
"""The longest wait that is our own choice, in seconds."""
MOST_ASKED_S = 600.0
"""The longest wait that a server may ask for (Retry-After), in seconds."""
WORTH = 64 << 10
"""An exchange that brought at least this many bytes is no failure."""


@dataclass
class Patience:
    """Waits that double, with some chance in them, so that a crowd does not come back as one.

    Attributes:
        tries: exchanges in a row that may fail, the first among them.
    """

    tries: int
    draw: random.Random = field(default_factory=random.Random, repr=False)
    failed: int = 0
    """Exchanges in a row that failed."""

    def came(self, count: int, rest: int | None) -> None:
        """An exchange brought `count` missing bytes; `rest` are missing still."""
        if count >= WORTH or (count and rest == 0):
            self.failed = 0

    def next(self, asked_s: float | None) -> float | None:
        """The wait before the next try, in seconds; None if there is none."""
        self.failed += 1
        if self.failed >= self.tries or (asked_s or 0.0) > MOST_ASKED_S:
            return None
        own = min(LONGEST_S, FIRST_S * 2 ** min(self.failed - 1, 20)) * self.draw.uniform(
            0.75, 1.25
        )
        return max(own, asked_s or 0.0)
