"""Which runs go together in one task, so that a task lasts seconds.

A task takes some milliseconds besides its runs: so short runs travel together. As in guided
self-scheduling (Polychronopoulos, Kuck 1987) a task is also at most a share of what is left, so
that all workers end at about the same time.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence

from flashcrowd.study.pool import Job

TASK_S = 3.0
"""How long a task is meant to last, in seconds of one core."""

LEAST_S = 0.2
"""How long a task lasts at least while there are runs for it."""

SHARE = 4
"""A task is at most such a part of what is left for each worker."""

MOST = 2000
"""Most runs in a task."""


class Groups:
    """The runs that wait, in order, and how long they are expected to take.

    Measurements correct the prediction: of a run's own point, as soon as there is one; before, by
    the ratio of all runs.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        predict: Callable[[Job], float | None],
        task_s: float = TASK_S,
    ) -> None:
        self._waiting = deque(jobs)
        self._alone: deque[Job] = deque()
        self._left = Counter(job.run.point for job in jobs)
        self._task_s = task_s
        self._predicted = {job.run.point: job for job in reversed(jobs)}
        self._first = {point: predict(job) for point, job in self._predicted.items()}
        self._measured: dict[int, tuple[float, int]] = {}
        self._ratio = (0.0, 0.0)

    def __bool__(self) -> bool:
        return bool(self._waiting or self._alone)

    def take(self, slots: int) -> list[Job]:
        """The runs of the next task; none at the end.

        Args:
            slots: runs that are carried out at a time.
        """
        if self._alone:
            return [self._alone.popleft()]
        target = self._target(slots)
        taken: list[Job] = []
        total = 0.0
        while self._waiting and len(taken) < MOST:
            seconds = self.seconds(self._waiting[0].run.point)
            if taken and (seconds is None or total + seconds > 1.2 * target):
                break
            job = self._waiting.popleft()
            self._left[job.run.point] -= 1
            taken.append(job)
            if seconds is None or (total := total + seconds) >= target:
                break
        return taken

    def give_back(self, jobs: Sequence[Job]) -> None:
        """Runs whose task was lost: each goes alone next."""
        self._alone.extend(jobs)

    def learn(self, point: int, seconds: float) -> None:
        """How long a run took."""
        total, count = self._measured.get(point, (0.0, 0))
        self._measured[point] = (total + seconds, count + 1)
        predicted = self._first.get(point)
        if predicted is not None:
            self._ratio = (self._ratio[0] + seconds, self._ratio[1] + predicted)

    def seconds(self, point: int) -> float | None:
        """How long a run of a point is expected to take; None if unknown."""
        if point in self._measured:
            total, count = self._measured[point]
            return total / count
        predicted = self._first.get(point)
        if predicted is None:
            return None
        measured, expected = self._ratio
        return predicted * measured / expected if expected > 0 else predicted

    def _target(self, slots: int) -> float:
        left = sum(
            count * (self.seconds(point) or 0.0) for point, count in self._left.items() if count
        )
        return max(LEAST_S, min(self._task_s, left / (SHARE * max(1, slots))))
