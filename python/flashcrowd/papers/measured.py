"""Judges for sentences about numbers of stretches of runs, for papers with measures of their own.

A paper has functions from a study and parameters to a measure, and words for the points of its
studies; :class:`Measured` makes judges of them. Every judge reads from `given`: `study`, `where`
(points), `measure` with its own parameters, and

literal   what to replace in `given` for the constants that stand in the paper's text, or for those
          that it `says`; the finding is that of the others, and names this one beside it; or a
          list of such readings
beside    further numbers to print, each `given` with some parts replaced and `says` in words
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from flashcrowd.papers import cases, verdict
from flashcrowd.papers.cases import Case, conclude
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Given, StudyEvidence
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.report.measures import Measure
from flashcrowd.report.points import Point
from flashcrowd.report.statistics import Estimate, difference

#: A measure of a study, with the parameters in `given`.
Quantity = Callable[[StudyEvidence, Given], Measure]

#: A stretch of runs: its name, and `given` for it.
Stretch = tuple[str, Given]

#: Ways to compare a number with a bound, by the name that claims use.
COMPARISONS: dict[str, Callable[[Estimate, float], Verdict]] = {
    "more-than": verdict.more_than,
    "less-than": verdict.less_than,
    "at-most": verdict.at_most,
    "within": verdict.within,
}


def named(measures: Mapping[str, Quantity]) -> Quantity:
    """The one of these measures that the `measure` of `given` names."""
    return lambda study, given: measures[given["measure"]](study, given)


def whole_run(evidence: Evidence, given: Given) -> list[Stretch]:
    """One stretch without a name: the one that `given` is about."""
    del evidence
    return [("", given)]


@dataclass(frozen=True)
class Measured:
    """The judges of a paper's own measures.

    Attributes:
        measure: the measure that `given` names, with its parameters.
        described: a point in words.
        stretches: the stretches of a run that `given` is about.
    """

    measure: Quantity
    described: Callable[[StudyEvidence, Point], str]
    stretches: Callable[[Evidence, Given], list[Stretch]] = whole_run

    def level(
        self,
        evidence: Evidence,
        given: Given,
        combine: Callable[[Iterable[Verdict]], Verdict] = verdict.all_of,
    ) -> Finding:
        """At every point and stretch the measure is on the right side of `bound`."""
        return conclude(
            self.levels(evidence, given),
            lambda found: COMPARISONS[given["is"]](found, given["bound"]),
            furthest(given["is"]),
            self.words(evidence, given),
            combine=combine,
        )

    def near(self, evidence: Evidence, given: Given) -> Finding:
        """The measure is no further than `tolerance` from the number that the paper prints."""
        published, tolerance = float(given["published"]), float(given["tolerance"])
        return conclude(
            self.levels(evidence, given),
            lambda found: verdict.within(minus(found, published), tolerance),
            lambda found: abs(found.mean - published),
            self.words(evidence, given),
            some=bool(given.get("any")),
        )

    def compare(self, evidence: Evidence, given: Given) -> Finding:
        """The measure against the same one with `than` in place, in pairs of runs with a seed.

        Parameters: `relative` (default true), `is` and `bound`.
        """
        relative = bool(given.get("relative", True))
        found = []
        for label, part in self.stretches(evidence, given):
            changed = self.changed(evidence, part, {**part, **given["than"]}, relative=relative)
            if changed is not None:
                found.append(Case(label or self.label(evidence, part), changed))
        of = self.first(evidence, given)

        return conclude(
            found,
            lambda one: COMPARISONS[given["is"]](one, given["bound"]),
            furthest(given["is"]),
            as_change(of, given.get("called"), relative=relative),
        )

    def change(
        self,
        evidence: Evidence,
        given: Given,
        combine: Callable[[Iterable[Verdict]], Verdict] = verdict.all_of,
    ) -> Finding:
        """The measure at each point of `where` against that point with the settings `against`.

        Parameters: `is`, `bound`; `relative` (default true); `any`, whether one such point is
        enough.
        """
        relative = bool(given.get("relative", True))
        of = self.measure(evidence[given["study"]], given)
        return conclude(
            self.changes(evidence, given, relative=relative),
            lambda one: COMPARISONS[given["is"]](one, given["bound"]),
            furthest(given["is"]),
            as_change(of, given.get("called"), relative=relative),
            some=bool(given.get("any")),
            combine=combine,
        )

    def times(self, evidence: Evidence, given: Given) -> Finding:
        """At each point of `where` the measure is `published` times that at `against` or `than`.

        A number in print is met from both sides: up to `factor` times as much or as little.
        """
        published, factor = float(given["published"]), float(given["factor"])
        if "than" in given:
            changed = self.changed(evidence, given, {**given, **given["than"]}, relative=True)
            found = [] if changed is None else [Case(self.label(evidence, given), changed)]
        else:
            found = self.changes(evidence, given, relative=True)
        called = given.get("called", self.first(evidence, given).name)
        finding = conclude(
            [Case(case.at, minus(case.found, -1.0)) for case in found],
            lambda one: verdict.within_factor(one, published, factor),
            lambda one: abs(math.log(max(one.mean, 1e-9) / published)),
            lambda one: f"{called} {wording.with_interval(one, '×')}",
        )
        return finding.because(
            f"Within a factor of {factor:g} of {published:g} × counts as the same."
        )

    def between(
        self,
        evidence: Evidence,
        given: Given,
        combine: Callable[[Iterable[Verdict]], Verdict] = verdict.all_of,
    ) -> Finding:
        """At every point of `where` the measure is at least `low` and at most `high`."""
        low, high = float(given["low"]), float(given["high"])
        middle, half = (low + high) / 2, (high - low) / 2
        return conclude(
            self.levels(evidence, given),
            lambda one: verdict.within(minus(one, middle), half),
            lambda one: abs(one.mean - middle),
            self.words(evidence, given),
            combine=combine,
        )

    def judges(self, **own: Judge) -> dict[str, Judge]:
        """The judges that every paper with changes of a rate has, and its own, each with more."""
        usual = {
            "level": self.level,
            "near": self.near,
            "compare": self.compare,
            "change": self.change,
            "between": self.between,
            "times": self.times,
        }
        return {name: self.with_more(judge) for name, judge in {**usual, **own}.items()}

    def with_more(self, judge: Judge) -> Judge:
        """The judge, with the numbers for the text's own constants and those of `beside`."""

        def judged(evidence: Evidence, given: Given) -> Finding:
            finding = judge(evidence, given)
            literal = given.get("literal", ())
            for reading in (literal,) if isinstance(literal, Mapping) else literal:
                other = judge(evidence, {**given, **reading})
                says = reading.get("says", "With the constants of the text")
                finding = finding.because(f"{says}: {other.measured} ({other.verdict.value}).")
            for more in given.get("beside", ()):
                finding = finding.because(self._beside(evidence, {**given, **more}))
            return finding

        return judged

    def levels(self, evidence: Evidence, given: Given) -> list[Case]:
        """The measure at every point of `where`, in every stretch."""
        study = evidence[given["study"]]
        points = study.select(cases.given_where(given))
        found = []
        for label, part in self.stretches(evidence, given):
            of = self.measure(study, part)
            for point in points:
                number = of.at(point)
                if number is not None:
                    both = ", ".join(filter(None, (self.described(study, point), label)))
                    found.append(Case(label if label and len(points) == 1 else both, number))
        return found

    def changes(self, evidence: Evidence, given: Given, *, relative: bool) -> list[Case]:
        """The measure at each point of `where` against that point with the settings `against`."""
        study = evidence[given["study"]]
        return cases.changes(
            study,
            self.measure(study, given),
            cases.given_where(given),
            given["against"],
            relative=relative,
            described=lambda point: self.described(study, point),
        )

    def changed(
        self, evidence: Evidence, given: Given, base: Given, *, relative: bool
    ) -> Estimate | None:
        """The measure of `given` against that of `base`, which may be of another study."""
        values, bases = (self.by_seed(evidence, each) for each in (given, base))
        return difference(values, bases, relative=relative) if values and bases else None

    def by_seed(self, evidence: Evidence, given: Given) -> dict[int, float]:
        """The measure of each run of the points of `where`, by its seed."""
        study = evidence[given["study"]]
        of = self.measure(study, given)
        points = study.select(cases.given_where(given))
        runs = [run for point in points for run in point.good_runs if run.run in of.of_run]
        return {run.seed: of.of_run[run.run] for run in runs}

    def first(self, evidence: Evidence, given: Given) -> Measure:
        """The measure of the first stretch, for its name and unit."""
        return self.measure(evidence[given["study"]], self.stretches(evidence, given)[0][1])

    def label(self, evidence: Evidence, given: Given) -> str:
        """The first point of `where` in words."""
        study = evidence[given["study"]]
        points = study.select(cases.given_where(given))
        return self.described(study, points[0]) if points else ""

    def words(self, evidence: Evidence, given: Given) -> Callable[[Estimate], str]:
        """A number in words: what it is, with unit and interval."""
        of = self.first(evidence, given)
        called = given.get("called", of.name)
        return lambda found: f"{called} {wording.with_interval(found, of.unit)}"

    def _beside(self, evidence: Evidence, given: Given) -> str:
        """A number in a sentence, or nothing if its study was not run."""
        if given["study"] not in evidence.studies:
            return ""
        found = self.levels(evidence, given)
        unit = self.first(evidence, given).unit
        numbers = [
            f"{wording.with_interval(case.found, unit)}"
            + (f" at {case.at}" if len(found) > 1 else "")
            for case in found
        ]
        return f"{_capital(given['says'])}: {'; '.join(numbers)}." if numbers else ""


def as_change(
    of: Measure, called: str | None = None, *, relative: bool = False
) -> Callable[[Estimate], str]:
    """A change in words: of what, in per cent or in its unit."""

    def words(one: Estimate) -> str:
        number = (
            wording.per_cent(one) if relative else wording.with_interval(one, of.unit, sign=True)
        )
        return f"{called or of.name} {number}"

    return words


def minus(found: Estimate, value: float) -> Estimate:
    """The estimate less a number that is certain."""
    low, high = found.low, found.high
    return Estimate(
        found.mean - value,
        None if low is None else low - value,
        None if high is None else high - value,
        found.n,
        found.minimum - value,
        found.maximum - value,
    )


def furthest(comparison: str) -> Callable[[Estimate], float]:
    """What is largest for the number that a comparison is hardest on."""
    if comparison == "within":
        return lambda found: abs(found.mean)
    return lambda found: -found.mean if comparison == "more-than" else found.mean


def _capital(text: str) -> str:
    """The text with a capital at its beginning, but for Greek names."""
    return wording.sentence(text) if text[:1].isascii() else text
