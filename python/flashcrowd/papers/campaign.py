"""A campaign: the studies of a paper run one after another, each in a folder of its own.

It is resumable because every study is: what a folder already has is not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashcrowd.engines import Engine, registry
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.paper import Paper, Quick
from flashcrowd.store import atomic
from flashcrowd.study import Study
from flashcrowd.study.read import parse_document, read_text
from flashcrowd.study.runner import prepare, run
from flashcrowd.study.sweep import axes_of

#: Called before each study with its name, its number from 1, and how many there are.
Tell = Callable[[str, int, int], None]


def conduct(
    paper: Paper,
    out: Path,
    *,
    quick: bool,
    studies: Sequence[str],
    jobs: int | None = None,
    tell: Tell = lambda name, number, count: None,
    further: Mapping[str, object] | None = None,
    repeats: int | None = None,
    again: str | None = None,
    engine: Engine | str = registry.DEFAULT,
    real: str = "",
) -> Evidence:
    """Run the studies that are missing and give what all of them measured.

    Args:
        paper: the paper.
        out: the folder that holds a folder for each study.
        quick: cut the studies down.
        studies: which ones.
        jobs: runs at a time; without, as many as there are cores.
        tell: called before each study.
        further: values that replace those of every study that has them, for tests.
        repeats: replaces the repeats of every study.
        again: as for `study.runner.run`.
        engine: what runs them.
        real: as this engine of real programs can play them, see `paper.Playing`.
    """
    found = {}
    for number, name in enumerate(studies, 1):
        tell(name, number, len(studies))
        study = prepared(paper, name, quick=quick, further=further, repeats=repeats, real=real)
        plays = (engine if isinstance(engine, str) else engine.name) != registry.DEFAULT
        alone = real and plays and paper.playing(name, real).alone
        at_a_time = 1 if alone else jobs
        folder = atomic.enclosed(out / name, out)
        results = run(study, out=folder, jobs=at_a_time, again=again, engine=engine)
        found[name] = StudyEvidence(name, results, paper.names)
    return Evidence(found, quick)


def check(
    paper: Paper,
    studies: Sequence[str],
    engine: Engine,
    *,
    quick: bool,
    further: Mapping[str, object] | None = None,
    repeats: int | None = None,
) -> None:
    """Refuse what an engine of real programs cannot play, before anything is run.

    Raises:
        PlanRejected: it says why.
    """
    real = engine.name
    for name in studies:
        study = prepared(paper, name, quick=quick, further=further, repeats=repeats, real=real)
        prepare(study, engine)


def prepared(
    paper: Paper,
    name: str,
    *,
    quick: bool,
    further: Mapping[str, object] | None = None,
    repeats: int | None = None,
    real: str = "",
) -> Study:
    """A study of a paper as it is to be run.

    Args:
        paper: the paper.
        name: which one.
        quick: cut it down.
        further: values that replace those of the study that it has, for tests.
        repeats: replaces its repeats.
        real: as this engine of real programs can play it.
    """
    playing = paper.playing(name, real) if real else None
    path = paper.file(playing.file if playing else name)
    document = parse_document(read_text(path), str(path))
    variation = paper.variation(name)
    if variation.says:
        document = {**document, "title": f"{document['title']}: {variation.says}"}
    document = with_fewer(document, variation.keep)
    values: dict[str, object] = {}
    if playing:
        document = with_fewer(document, playing.keep)
        values |= playing.set
    if quick:
        cut = playing.quick if playing else paper.quick(name)
        document = cut_down(document, cut)
        values |= cut.set
        repeats = repeats or cut.repeats
    repeats = repeats or variation.repeats
    if playing:  # one list for all studies, of which some lack a group or a measure
        values = {k: v for k, v in values.items() if _exists(document, k.rpartition(".")[0])}
    values |= {k: v for k, v in (further or {}).items() if _exists(document, k)}
    for axis in document.get("sweep", []):
        for setting in axis:
            values.pop(setting, None)
    values |= variation.set
    return Study.from_dict(
        document, place=str(path), directory=path.parent, set=values, repeats=repeats
    )


def cut_down(document: dict[str, object], cut: Quick) -> dict[str, Any]:
    """The content of a study file with fewer values on its axes, and the cut in its title."""
    return {**with_fewer(document, cut.keep), "title": f"{document['title']} (quick)"}


def with_fewer(document: dict[str, object], keep: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The content of a study file with only some values on its axes."""
    axes = []
    for axis in axes_of(document.get("sweep", [])):
        kept = list(range(len(next(iter(axis.values())))))
        for setting, wanted in keep.items():
            if setting in axis:
                kept = [i for i in kept if axis[setting][i] in wanted]
        axes.append({setting: [values[i] for i in kept] for setting, values in axis.items()})
    return {**document, "sweep": axes}


def _exists(document: Mapping[str, object], path: str) -> bool:
    value: Any = document
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return True
