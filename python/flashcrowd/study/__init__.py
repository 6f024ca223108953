"""Studies: a scenario, what varies, and how often each variant is repeated."""

from flashcrowd.study.point import Point, Run
from flashcrowd.study.seeds import seed_of
from flashcrowd.study.study import Study

__all__ = ["Point", "Run", "Study", "seed_of"]
