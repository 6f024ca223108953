"""A study: a scenario, what varies, and how often each variant is repeated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError

from flashcrowd.base import paths
from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.base.kept import Kept
from flashcrowd.base.units import UnitError
from flashcrowd.plan.lower import used_by, wrong_with
from flashcrowd.scenario import shipped
from flashcrowd.scenario.doubts import above_lines, doubts, unsaid
from flashcrowd.scenario.fields import Name, any_lines
from flashcrowd.scenario.files import Files
from flashcrowd.scenario.network import Network
from flashcrowd.scenario.problems import problems_of
from flashcrowd.scenario.scenario import Scenario
from flashcrowd.study import expectation, headline
from flashcrowd.study.expectation import Expectation
from flashcrowd.study.findings import Findings
from flashcrowd.study.headline import Headline
from flashcrowd.study.overrides import overridden, refined, replaced_in, wholes_first
from flashcrowd.study.parts import Parts, Refused
from flashcrowd.study.point import Point, Run
from flashcrowd.study.read import parse_document, read_text
from flashcrowd.study.repeats import Repeats, Until
from flashcrowd.study.seeds import seed_of
from flashcrowd.study.sweep import Axis, axes_of, combinations, shape_problems
from flashcrowd.study.toml import toml_of

Sweep = Annotated[
    list[Axis],
    BeforeValidator(axes_of, json_schema_input_type=dict[str, Any] | list[dict[str, Any]]),
]


def _whole(given: Any) -> Any:
    """Refuses all but the whole number: Python takes `true` and 1.0 for 1, too."""
    if type(given) is not int or given != 1:
        raise UnitError("1, the format of this version", "write `format = 1` at the top")
    return given


class Study(Scenario):
    """A scenario, what varies, and how often each variant is repeated.

    The attributes are the keys of a study file. In Python, quantities are texts with units or
    objects of `flashcrowd.base.units`; `Study(...)` raises pydantic's `ValidationError` for what
    a table alone shows to be wrong, everything else is found by `points` and `check`.
    """

    format: Annotated[Literal[1], BeforeValidator(_whole, json_schema_input_type=Literal[1])] = 1
    """Version of the file's format."""
    description: Annotated[str, any_lines] = ""
    """What question the study answers."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """From which the seeds of all runs are derived."""
    repeats: Repeats = 1
    """How many runs each point has, with seeds of their own: a number, or `"until 2 %"`."""
    sweep: Sweep = Field(default_factory=list)
    """What varies: a table of paths with lists of values, or a list of such tables."""
    report: Headline = Headline()
    """What a report begins with."""
    expect: dict[Name, Expectation] = Field(default_factory=dict)
    """What is expected, judged when the runs are done."""

    _files: Files = PrivateAttr(default_factory=Files)
    _place: str = PrivateAttr(default="study")
    _text: str | None = PrivateAttr(default=None)
    _fixed: tuple[str, ...] = PrivateAttr(default=())
    _points: list[Point] | None = PrivateAttr(default=None)
    _kept: Kept = PrivateAttr(default_factory=Kept)

    @classmethod
    def load(
        cls,
        path: str | Path,
        set: Mapping[str, object] | None = None,
        repeats: int | str | None = None,
        seed: int | None = None,
    ) -> Self:
        """Reads a study file and checks all its points.

        Args:
            path: the TOML file.
            set: values that replace those of the file: dotted path → value, as the file would have
                it. A path that is swept has that one value then.
            repeats: replaces the file's; a number, or a text as in "until 2 %".
            seed: replaces the file's.

        Raises:
            StudyError: there are mistakes; it lists all of them.
        """
        text = read_text(path)
        study = cls.from_dict(
            parse_document(text, str(path)),
            place=str(path),
            directory=Path(path).parent,
            set=set,
            repeats=repeats,
            seed=seed,
        )
        study._text = text
        return study

    @classmethod
    def from_dict(
        cls,
        document: dict[str, Any],
        *,
        place: str = "study",
        directory: str | Path = ".",
        set: Mapping[str, object] | None = None,
        repeats: int | str | None = None,
        seed: int | None = None,
    ) -> Self:
        """As `load`, from the content of a study file.

        Args:
            document: the content, as a TOML reader gives it.
            place: what messages call it; where it is a file, its path.
            directory: where files that the study names are looked for.
            set: as for `load`.
            repeats: as for `load`.
            seed: as for `load`.
        """
        numbers = {"repeats": repeats, "seed": seed}
        given = {**document, **{key: it for key, it in numbers.items() if it is not None}}
        try:
            study = cls._validated(given, place, Path(directory))
        except StudyError as wrong:
            study = cls._mended(given, set or {}, place, Path(directory), wrong)
        if set:
            swept = study.sweep
            given, study = cls._set(given, study, set, place, Path(directory))
            given = headline.without(given, set, swept)
            fixed = tuple(path for axis in swept for path in axis if path in set)
            study = cls._validated(given, place, Path(directory))
            study._fixed = fixed
        try:
            study.check()
        except StudyError as wrong:
            wrong.study = study
            raise
        return study

    @classmethod
    def _validated(cls, document: dict[str, object], place: str, directory: Path) -> Self:
        files = Files(directory)
        try:
            study = cls.model_validate(document, context={"files": files})
        except ValidationError as error:
            raise StudyError(problems_of(error, cls, document), place) from None
        study._files, study._place = files, place
        return study

    @classmethod
    def _set(
        cls,
        given: dict[str, object],
        study: Self,
        set: Mapping[str, object],
        place: str,
        directory: Path,
    ) -> tuple[dict[str, Any], Self]:
        """The content with other values, wholes before their parts, and the study before the last.

        Raises:
            StudyError: a path or a whole is wrong.
        """
        rounds = list(wholes_first(set))
        for turn, values in enumerate(rounds, 1):
            given, problems = overridden(given, study._document(), study.sweep, values, set)
            if problems:
                raise StudyError(problems, place)
            if turn == len(rounds):
                break
            try:
                study = cls._validated(given, place, directory)
            except StudyError:  # a table that lacks the keys of the rounds to come
                rest = {path: it for later in rounds[turn:] for path, it in later.items()}
                whole = refined(given, rest)
                if whole is None:
                    raise
                return whole, study
        return given, study

    @classmethod
    def _mended(
        cls,
        document: dict[str, object],
        set: Mapping[str, object],
        place: str,
        directory: Path,
        wrong: StudyError,
    ) -> Self:
        """The study where what is wrong with the file is replaced: a file that is not there."""
        mended = replaced_in(document, set)
        if mended is document:
            raise wrong
        try:
            return cls._validated(mended, place, directory)
        except StudyError:
            raise wrong from None

    @property
    def name(self) -> str:
        """The name of its files: the name of the study file, or else the title."""
        return self.title if self._text is None else Path(self._place).stem

    @property
    def fixed(self) -> tuple[str, ...]:
        """Paths that the study file sweeps, and of which `set` chose one value."""
        return self._fixed

    @property
    def source(self) -> str | None:
        """The text of the study file; `None` if the study came from elsewhere."""
        return self._text

    @property
    def scenario(self) -> Scenario:
        """The scenario without sweep values."""
        fields = {name: getattr(self, name) for name in Scenario.model_fields}
        return Scenario.model_construct(**fields)

    @property
    def kinds(self) -> list[str]:
        """The kinds of its workloads."""
        return [it.kind for it in self.workloads.values()]

    def points(self) -> list[Point]:
        """All combinations of sweep values, the last axis varying fastest.

        Raises:
            StudyError: sweep paths or values are impossible.
        """
        if self._points is None:
            self._points = self._expanded()
        return list(self._points)

    @property
    def least_repeats(self) -> int:
        """Runs that each point has in any case."""
        return self.repeats.at_least if isinstance(self.repeats, Until) else self.repeats

    @property
    def most_repeats(self) -> int:
        """Runs that a point can have."""
        return self.repeats.at_most if isinstance(self.repeats, Until) else self.repeats

    def runs(self) -> Iterator[Run]:
        """All runs: every point with the first seed, then every point with the second, …

        Of a study that repeats until it is sure, those before the first look.
        """
        points = self.points()
        for repeat in range(self.least_repeats):
            for point in points:
                yield Run(point, repeat, seed_of(self.seed, repeat))

    def check(self) -> list[Point]:
        """Checks every point and gives them all.

        Raises:
            StudyError: something is impossible.
        """
        kept = self._kept
        findings = Findings(self.sweep, known=wrong_with(self.scenario, kept))
        points = self.points()
        for point in points:
            findings.add(wrong_with(point.scenario, kept), point.values)
        situations = self._situations(points)
        findings.add(headline.problems_of(self.report, situations, self.sweep), {})
        expected = expectation.problems_of(self.expect, situations, self.sweep, self.report.cases)
        findings.add(expected, {})
        findings.raise_any(self._place)
        return points

    def _situations(self, points: Sequence[Point]) -> list[Scenario]:
        """Scenarios that between them have every workload of the study, and what measures need."""
        swept = [paths.parse(path) or [] for axis in self.sweep for path in axis]
        whole = any(len(path) <= 2 or path[-1] in headline.NEEDED for path in swept)
        return [point.scenario for point in points] if whole else [self.scenario]

    def warnings(self) -> list[Problem]:
        """Possible but unlikely settings, at any point; `allowed` says why.

        A study with warnings runs.
        """
        base = list(doubts(self.scenario))
        findings = Findings(self.sweep, known=base)
        findings.add(self._unsaid(), {})
        seen: set[tuple[int, ...]] = set()
        above: dict[str, Problem] | None = None
        for point in self.points():
            tables = _tables_of(point.scenario, self._kept)
            if tables not in seen:
                seen.add(tables)
                findings.add(doubts(point.scenario), point.values)
                # A sweep may well go beyond the line.
                here = {it.path: it for it in above_lines(point.scenario)}
                above = {path: it for path, it in here.items() if above is None or path in above}
        return [*self._files.doubts, *findings.found, *(above or {}).values()]

    def _unsaid(self) -> Iterator[Problem]:
        """Unlikely defaults, where no sweep sets the key."""
        swept = {path: values for axis in self.sweep for path, values in axis.items()}
        for doubt in unsaid(self.scenario, swept):
            ends = (doubt.path, f"{doubt.path}.size", f"{doubt.path}.stop", "stop.horizon")
            if not any(path in ends for path in swept):
                yield doubt

    def resolved(self) -> dict[str, Any]:
        """The study as a file would have it, with every default and every stack and client in use.

        The result can be read back with `from_dict`, and has the same fingerprint.
        """
        return self._document(self.points())

    def to_toml(self) -> str:
        """The resolved study as a file."""
        return toml_of(self.resolved())

    def fingerprint(self, digests: Iterable[str] | None = None) -> str:
        """SHA-256 of everything that determines results, in hexadecimal digits.

        That is, for each point its sweep values as written and the digest of its plan, and the
        seed. Titles do not count, nor does the number of repeats: more repeats go on where fewer
        stopped.

        Args:
            digests: those of the plans, if they are known.
        """
        known = digests or (point.plan().digest() for point in self.points())
        pairs = zip(self.points(), known, strict=True)
        points = [[dict(point.values), digest] for point, digest in pairs]
        text = json.dumps({"points": points, "seed": self.seed}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _expanded(self) -> list[Point]:
        problems = shape_problems(self.sweep, self._document())
        if problems:
            raise StudyError(problems, self._place)
        base, findings = self._base(), Findings(self.sweep)
        parts = Parts(self.sweep, self._files)
        segments = {path: paths.parse(path) or [] for axis in self.sweep for path in axis}
        points: list[Point] = []
        kept = self._kept
        for index, (rows, chosen) in enumerate(combinations(self.sweep)):
            scenario = parts.known(rows)
            if scenario is None:
                document = base
                for path, value in chosen.items():
                    document = paths.replaced(document, segments[path], value)
                try:
                    scenario = parts.scenario(document, rows)
                except Refused as refused:
                    findings.add(refused.problems, chosen)
                    continue
            points.append(Point(index, chosen, scenario, kept))
        findings.raise_any(self._place)
        return points

    def _document(self, points: Sequence[Point] = ()) -> dict[str, Any]:
        """The study as a file would have it, with the stacks and clients that `points` use."""
        document = self.model_dump(mode="json", by_alias=True)
        seen: set[tuple[str, int]] = set()
        for scenario in [self.scenario, *(point.scenario for point in points)]:
            named = (scenario.network.stack, id(used_by(scenario, self._kept)))
            if named in seen:
                continue
            seen.add(named)
            for kind, name, table in scenario.variants():
                if name not in document[kind]:
                    document[kind][name] = table.model_dump(mode="json", by_alias=True)
        head = ("format", "title", "description", "seed", "repeats")
        tail = ("sweep", "report", "expect")
        body = [key for key in document if key not in (*head, *tail)]
        return {key: document[key] for key in (*head, *body, *tail)}

    def _base(self) -> dict[str, Any]:
        """The document into which sweep values go; required keys may be missing."""
        document = self.scenario.model_dump(mode="json", by_alias=True)
        if "horizon" not in self.stop.model_fields_set:
            del document["stop"]["horizon"]
        for kind, all_of in (("stacks", shipped.stacks()), ("utp", shipped.utps())):
            tables = document[kind].items()
            document[kind] = {n: shipped.unsteered(table, n, all_of) for n, table in tables}
        return document


def _tables_of(scenario: Scenario, kept: Kept) -> tuple[int, ...]:
    """Which tables doubts are about: points share those in which the sweep replaces nothing."""
    return (
        id(kept.found(_tables_of_network, scenario.network, kept)),
        *map(id, scenario.workloads.values()),
    )


def _tables_of_network(network: Network, kept: Kept) -> tuple[int, ...]:
    named = (network.groups, network.links, network.paths)
    tables = (id(network.loss), *(id(table) for tables in named for table in tables.values()))
    return kept.same(tables)
