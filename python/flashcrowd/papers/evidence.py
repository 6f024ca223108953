"""What a campaign measured, in the terms in which claims speak."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa

from flashcrowd.report import points as points_module
from flashcrowd.report.measures import Measure, all_measures, swarm_measures
from flashcrowd.report.points import Axis, Point, Points
from flashcrowd.report.source import Source

Result = TypeVar("Result")

#: Conditions on a point: swept setting (dotted path or its tail) to value or values.
Where = Mapping[str, object]
#: What a claim says to its judge, `given` in `claims.toml`. Each judge says which keys it reads.
Given = Mapping[str, Any]


class Untold(Exception):
    """What a claim or a figure is about was not recorded, as real programs do not tell of it."""


@dataclass
class StudyEvidence:
    """The results of one study.

    Attributes:
        name: name of the study in the paper's folder.
        results: its tables.
        names: what to call swept settings.
        derived: what was worked out of its tables and is needed again, by name.
    """

    name: str
    results: Source
    names: Mapping[str, str] = field(default_factory=dict)
    derived: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, work: Callable[[], Result]) -> Result:
        """What `work` makes of the tables, kept under a name for later calls."""
        if name not in self.derived:
            self.derived[name] = work()
        return self.derived[name]

    @cached_property
    def points(self) -> Points:
        """Its points."""
        return points_module.read(self.results.tables["runs"], self.names)

    def rows(self, table: str) -> pa.Table:
        """A table that a study of real programs may lack.

        Raises:
            Untold: the study does not measure it.
        """
        if not self.results.study.get("measures", {table: True}).get(table, True):
            raise Untold(f"real programs do not tell of {table.replace('_', ' ')}")
        return self.results.tables[table]

    @cached_property
    def download_time(self) -> Measure:
        """Mean download time of each run, in seconds."""
        return swarm_measures(self.results)[0]

    @cached_property
    def measures(self) -> list[Measure]:
        """Every measure of the study."""
        return all_measures(self.results, self.points)

    def select(self, where: Where) -> list[Point]:
        """The points that meet all conditions, in order of the study.

        Raises:
            KeyError: a condition names no swept setting.
        """
        chosen = list(self.points.points)
        for name, wanted in where.items():
            number, place = self._setting(name)
            values = [_written(v) for v in (wanted if isinstance(wanted, list) else [wanted])]
            axis = self.points.axes[number]
            chosen = [p for p in chosen if axis.levels[p.levels[number]][place] in values]
        return chosen

    def one(self, where: Where) -> Point | None:
        """The single point that meets all conditions, or ``None``."""
        found = self.select(where)
        return found[0] if len(found) == 1 else None

    def partner(self, point: Point, where: Where) -> Point | None:
        """The point that is like `point` but for the settings in `where`."""
        wanted = [(*self._setting(name), _written(value)) for name, value in where.items()]
        moved = {number for number, _, _ in wanted}
        for other in self.points.points:
            same = all(
                other.levels[i] == point.levels[i]
                for i in range(len(self.points.axes))
                if i not in moved
            )
            if same and all(
                self.points.axes[number].levels[other.levels[number]][place] == value
                for number, place, value in wanted
            ):
                return other
        return None

    def axis(self, name: str) -> Axis:
        """The axis of a swept setting."""
        return self.points.axes[self._setting(name)[0]]

    def value(self, point: Point, name: str) -> object:
        """The value that a swept setting has at `point`, as written in the study."""
        number, place = self._setting(name)
        return self.points.axes[number].levels[point.levels[number]][place]

    def of_runs(self, path: str) -> dict[int, object]:
        """The value of a setting in each run, swept or not."""
        if not any(path in axis.paths for axis in self.points.axes):
            fixed: object = self.results.study
            for part in path.split("."):
                fixed = fixed[part]  # type: ignore[index]
            return dict.fromkeys(self.points.runs, fixed)
        return {
            run.run: self.value(point, path) for point in self.points.points for run in point.runs
        }

    def _setting(self, name: str) -> tuple[int, int]:
        try:
            return self.points.setting(name)
        except KeyError:
            known = ", ".join(path for axis in self.points.axes for path in axis.paths)
            text = f"{name!r} is not swept in study {self.name!r}; swept are {known}"
            raise KeyError(text) from None


@dataclass
class Evidence:
    """The results of all studies that were run.

    Attributes:
        studies: by name.
        quick: whether the campaign was cut down.
        untold: claims about what the programs that ran them cannot be told, by id: why.
    """

    studies: Mapping[str, StudyEvidence]
    quick: bool = False
    untold: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> StudyEvidence:
        return self.studies[name]

    def has(self, names: Sequence[str]) -> bool:
        """Whether all these studies were run."""
        return all(name in self.studies for name in names)


def _written(value: object) -> object:
    """A value as the table ``runs`` has it, which writes tables as JSON."""
    return json.dumps(value) if isinstance(value, Mapping) else value
