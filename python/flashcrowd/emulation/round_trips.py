"""A flow's round-trip time over time: each sample holds until the next one."""

from __future__ import annotations

from array import array


class RoundTrips:
    """Samples and for how long each held, inside of a window."""

    def __init__(self, begin_s: float, end_s: float) -> None:
        self._window = (begin_s, end_s)
        self._latest: tuple[float, float] | None = None
        self._lengths = array("d")
        self._held = array("d")

    def see(self, now_s: float, sample_s: float) -> None:
        """The latest sample at an instant."""
        self.hold(now_s)
        self._latest = (sample_s, now_s)

    def hold(self, now_s: float) -> None:
        """The latest sample held until now."""
        if self._latest is None:
            return
        sample, since = self._latest
        held = min(now_s, self._window[1]) - max(since, self._window[0])
        if held > 0:
            self._lengths.append(sample)
            self._held.append(held)
        self._latest = (sample, now_s)

    def summary(self) -> tuple[float, float, float] | None:
        """Mean over time, the least, and what it did not exceed for 95 % of the time."""
        if not self._lengths:
            return None
        total = sum(self._held)
        mean = sum(map(float.__mul__, self._lengths, self._held)) / total
        sum_s = 0.0
        for length, held in sorted(zip(self._lengths, self._held, strict=True)):
            sum_s += held
            if sum_s >= 0.95 * total:
                return mean, min(self._lengths), length
        return mean, min(self._lengths), max(self._lengths)
