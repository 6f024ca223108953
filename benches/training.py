"""Runs what wheels are optimised for, with a package whose module notes what is often taken.

    PYTHONPATH=FOLDER .venv/bin/python benches/training.py    # `make wheel` does this

Of each study in `studies/`, the point that is expected to need least, if it needs less than a
second: stars and crowds, loss, uTP, ADSL, queue disciplines, a content server.
"""

from __future__ import annotations

import sys
from pathlib import Path

from flashcrowd.base.errors import StudyError
from flashcrowd.engines.simulation import Simulator
from flashcrowd.study import Study

STUDIES = Path(__file__).parents[1] / "studies"
MOST_S = 1.0
"""Seconds of one core that a run may need, as predicted."""


def train() -> None:
    """Runs the studies."""
    engine = Simulator()
    for path in sorted(STUDIES.glob("*.toml")):
        try:
            plans = [point.plan().parsed for point in Study.load(path).points()]
        except StudyError as error:
            sys.exit(f"benches.training: {error}")
        needs = [(need.seconds, place) for place, need in enumerate(engine.needs(plans)) if need]
        seconds, place = min(needs)
        if seconds < MOST_S:
            print(f"{path.stem:<28} {seconds:5.2f} s expected")
            engine.run(plans[place], 1, engine.handle())


if __name__ == "__main__":
    train()
