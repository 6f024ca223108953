"""A lab with a mistake in it: what it plays besides the self-test raises an exception."""

from __future__ import annotations

import sys
from collections.abc import Callable

from flashcrowd.emulation import lab
from flashcrowd.emulation.stage import Stage
from flashcrowd.emulation.timetable import Timetable

MISTAKE = "a mistake in the lab"
_right = Stage.play


def _play(
    self: Stage, table: Timetable, tell: Callable[[float], None], failed: Callable[[], bool]
) -> tuple[str, str]:
    if any(spec["kind"] != "ping" for spec in self._plan.workloads):
        raise RuntimeError(MISTAKE)
    return _right(self, table, tell, failed)


if __name__ == "__main__":
    Stage.play = _play
    sys.exit(lab.main())
