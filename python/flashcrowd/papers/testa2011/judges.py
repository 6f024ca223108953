"""Judges that only this paper needs: about the completions that count, and uplink queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flashcrowd.papers import cases, verdict
from flashcrowd.papers.cases import NOTHING, Case, conclude
from flashcrowd.papers.claim import Judge
from flashcrowd.papers.evidence import Evidence, Given, StudyEvidence
from flashcrowd.papers.measured import as_change
from flashcrowd.papers.testa2011 import quantities, queues, service, waits
from flashcrowd.papers.testa2011.settings import data, words
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.report.measures import Measure
from flashcrowd.report.statistics import Estimate, difference

#: One number a run, by the name that claims use.
MEASURES: dict[str, Callable[[StudyEvidence], Measure]] = {
    "completion": quantities.completion_time,
    "completion-tcp": lambda study: quantities.completion_time(study, "first"),
    "completion-utp": lambda study: quantities.completion_time(study, "second"),
    "halves": quantities.against,
    "downlink": quantities.downlink_use,
    "share-ratio": quantities.share_ratio,
    "seeds-a-leecher": quantities.seeds_a_leecher,
    "dropped": quantities.dropped,
    "background-gain": quantities.background_gain,
    "upload-rate-tcp": lambda study: quantities.upload_rate(study, "first"),
    "unchokes-won": service.won_apart,
    "request-tcp": lambda study: waits.transit(study, waits.REQUEST, "first"),
    "request-utp": lambda study: waits.transit(study, waits.REQUEST, "second"),
    "requests-apart": lambda study: waits.transits_apart(study, waits.REQUEST),
    "acknowledgement-tcp": lambda study: waits.transit(study, waits.ACKNOWLEDGEMENT, "first"),
    "acknowledgement-utp": lambda study: waits.transit(study, waits.ACKNOWLEDGEMENT, "second"),
    "acknowledgements-apart": lambda study: waits.transits_apart(study, waits.ACKNOWLEDGEMENT),
    "queue": queues.mean_length,
    "queue-tcp": lambda study: queues.mean_length(study, "first"),
    "queue-utp": lambda study: queues.mean_length(study, "second"),
    "above-3": lambda study: queues.longer(study, 3),
    "above-100": lambda study: queues.longer(study, 100),
    "above-100-all": lambda study: queues.longer(study, 100, online=False),
    "above-180": lambda study: queues.longer(study, 180),
    "above-166-tcp": lambda study: queues.longer(study, 166, "first"),
}

#: Measures that are shares of a difference, and are shown in per cent with a sign.
_RELATIVE = (
    "halves",
    "background-gain",
    "unchokes-won",
    "requests-apart",
    "acknowledgements-apart",
)


def between(found: Estimate, bounds: tuple[float, float]) -> Verdict:
    """Whether the mean lies between two bounds."""
    return verdict.all_of(
        [verdict.more_than(found, bounds[0]), verdict.less_than(found, bounds[1])]
    )


def beyond(found: Estimate, bound: float) -> Verdict:
    """Whether the mean is further from zero than `bound`, on either side."""
    opposite = {
        Verdict.REPRODUCED: Verdict.NOT_REPRODUCED,
        Verdict.NOT_REPRODUCED: Verdict.REPRODUCED,
    }
    kept = verdict.within(found, bound)
    return opposite.get(kept, kept)


#: Ways to compare a number with a bound, by the name that claims use.
COMPARISONS: dict[str, Callable[[Estimate, Any], Verdict]] = {
    "more-than": verdict.more_than,
    "less-than": verdict.less_than,
    "at-most": verdict.at_most,
    "within": verdict.within,
    "beyond": beyond,
    "between": between,
}

#: Which case is the furthest from what a comparison asks for: the one with the largest of these.
_FURTHEST: dict[str, Callable[[Estimate], float]] = {
    "more-than": lambda found: -found.mean,
    "less-than": lambda found: found.mean,
    "at-most": lambda found: found.mean,
    "within": lambda found: abs(found.mean),
    "beyond": lambda found: -abs(found.mean),
    "between": lambda found: abs(found.mean),
}


def level(evidence: Evidence, given: Given) -> Finding:
    """At every point `measure` compares with `bound` as `is` says, in its own unit."""
    study = evidence[given["study"]]
    measure = MEASURES[given["measure"]](study)
    found = [
        Case(words(study, point), estimate)
        for point in study.select(_where(study, given))
        if (estimate := measure.at(point)) is not None
    ]
    return _concluded(evidence, found, given, _shown(given["measure"], measure))


def change(evidence: Evidence, given: Given) -> Finding:
    """At every point the change of `measure` against `against` compares with `bound`.

    The change is relative, unless `relative` is false; then it is in the unit of the measure.
    `against` may be a list: then against each of them.
    """
    study = evidence[given["study"]]
    measure = MEASURES[given["measure"]](study)
    relative = given.get("relative", True)
    several = isinstance(given["against"], list)
    found = []
    for against in given["against"] if several else [given["against"]]:
        for point in study.select(_where(study, given)):
            base = study.partner(point, _condition(study, against))
            if base is None or base.index == point.index:
                continue
            estimate = measure.change(point, base, relative=relative)
            if estimate is not None:
                beside = f" against {words(study, base)}" if several else ""
                found.append(Case(words(study, point) + beside, estimate))
    if relative:
        return _concluded(evidence, found, given, wording.per_cent)
    shown = as_change(measure)
    return _concluded(evidence, found, given, shown)


def explained(evidence: Evidence, given: Given) -> Finding:
    """In the study `without`, at least half of what `measure` is in `study` is gone.

    Parameters: `study` and `where`; `without`, studies with one thing taken away each, by name,
    and what they take away in words; the first `together` (one by default) decide by the sum of
    what each takes away, and the others are named.
    """
    study = evidence[given["study"]]
    shown = _shown(given["measure"], MEASURES[given["measure"]](study))
    whole = _by_seed(study, given)
    total = difference(whole, dict.fromkeys(whole, 0.0))
    if total is None:
        return NOTHING
    sign = 1 if total.mean > 0 else -1
    deciding = given.get("together", 1)
    parts, taken = [], []
    for number, one in enumerate(given["without"]):
        if one["study"] not in evidence.studies:
            continue
        rest = _by_seed(evidence[one["study"]], given)
        common = whole.keys() & rest.keys()
        left = difference({s: rest[s] for s in common}, dict.fromkeys(common, 0.0))
        if left is None:
            continue
        parts.append(f"{shown(left)} {one['says']}")
        if number < deciding:
            taken.append({s: sign * (whole[s] - rest[s]) for s in common})
    seeds = set(whole).intersection(*taken)
    gone = difference(
        {s: sum(of[s] for of in taken) for s in seeds},
        {s: sign * whole[s] / 2 for s in seeds},
    )
    if len(taken) < deciding or gone is None:
        return Finding(Verdict.NOT_RUN, f"{shown(total)}; nothing was taken away", total.n)
    decided = verdict.more_than(gone, 0.0)
    there = beyond(total, 0.0)
    text = f"{shown(total)} as it is; {'; '.join(parts)}"
    if there is not Verdict.REPRODUCED:
        return Finding(Verdict.OPEN, text, total.n, "The difference itself is not certain.")
    return Finding(decided, text, total.n)


def _by_seed(study: StudyEvidence, given: Given) -> dict[int, float]:
    point = study.one(_where(study, given))
    if point is None:
        return {}
    of_run = MEASURES[given["measure"]](study).of_run
    return {run.seed: of_run[run.run] for run in point.good_runs if run.run in of_run}


def _concluded(
    evidence: Evidence,
    found: list[Case],
    given: Given,
    shown: Callable[[Estimate], str],
) -> Finding:
    comparison = COMPARISONS[given["is"]]
    finding = conclude(
        found, lambda one: comparison(one, given["bound"]), _FURTHEST[given["is"]], shown
    )
    if finding.verdict in (Verdict.NOT_REPRODUCED, Verdict.OPEN):
        for one in given.get("compare", ()):
            finding = finding.because(_compared(evidence, given, one))
    return finding


def _compared(evidence: Evidence, given: Given, one: Given) -> str:
    """Another number, with what `one` puts in place of `given`, in a sentence."""
    finding = level(evidence, {**given, **one, "compare": ()})
    return f"{wording.sentence(one['says'])}: {finding.measured}."


def _where(study: StudyEvidence, given: Given) -> dict[str, object]:
    return _condition(study, cases.given_where(given))


def _condition(study: StudyEvidence, given: Given) -> dict[str, object]:
    """A condition in which ``swarm`` stands for what both halves upload over."""
    rest = {name: value for name, value in given.items() if name != "swarm"}
    return {**rest, **(data(study, given["swarm"]) if "swarm" in given else {})}


def _shown(name: str, measure: Measure) -> Callable[[Estimate], str]:
    if name in _RELATIVE:
        return wording.per_cent
    return lambda found: f"{measure.name} {wording.with_interval(found, measure.unit)}"


JUDGES: dict[str, Judge] = {
    "level-of": level,
    "change-of": change,
    "explained": explained,
}
