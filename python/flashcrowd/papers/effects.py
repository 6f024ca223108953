"""Effects with and without a mechanism: what explains a difference in download time.

An effect is the difference between two points of a study, `slow` and `fast`, relative to `fast`,
with everything else as a variant has it. Variants have a rule of the client or of TCP switched off.
"""

from __future__ import annotations

from collections.abc import Mapping

from flashcrowd.papers import cases, verdict
from flashcrowd.papers.cases import NOTHING
from flashcrowd.papers.evidence import Evidence, Given, StudyEvidence
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.report.statistics import Estimate, difference

#: Effect of each run, by its seed.
Effect = dict[int, float]


def explains(evidence: Evidence, given: Given) -> Finding:
    """Without a rule, at least half of an effect is gone.

    Parameters: `slow` and `fast`, the two points; `as_is` and `without`, the variants with and
    without the rule; `where`, what else selects the points; `instead`, a variant without another
    rule that is tried as well, and `instead_says`, its words.
    """
    study = evidence[given["study"]]
    whole = effect(study, given, given["as_is"])
    rest = effect(study, given, given["without"])
    total, left, gone = _mean(whole), _mean(rest), _half_gone(whole, rest)
    if total is None or left is None or gone is None:
        return NOTHING
    text = f"{wording.per_cent(total)} with it; {wording.per_cent(left)} without"
    there = verdict.more_than(total, 0.0)
    if there is Verdict.NOT_REPRODUCED:
        return Finding(there, text, total.n, "There is no such difference to explain.")
    if there is Verdict.OPEN:
        return Finding(there, text, total.n, "The difference itself is not certain.")
    return Finding(verdict.more_than(gone, 0.0), text, total.n, _instead(study, given, whole))


def reason(evidence: Evidence, given: Given) -> str:
    """Why a claim failed: what is left of an effect in each variant, in a sentence.

    Parameters as for :func:`explains`, but `variants`, a list of tables with `says` and `is`.
    Empty if the study was not run or has not these points.
    """
    if given["study"] not in evidence.studies:
        return ""
    study = evidence[given["study"]]
    total = _mean(effect(study, given, given["as_is"]))
    if total is None:
        return ""
    parts = []
    for variant in given["variants"]:
        left = _mean(effect(study, given, variant["is"]))
        if left is not None:
            parts.append(f"{wording.per_cent(left)} {variant['says']}")
    if not parts:
        return ""
    return (
        f"{wording.sentence(given['says'])}, {wording.per_cent(total)} become {'; '.join(parts)}."
    )


def effect(study: StudyEvidence, given: Given, variant: Mapping[str, object]) -> Effect:
    """The relative difference in download time between `slow` and `fast`, under `variant`."""
    common = {**cases.given_where(given), **variant}
    slow, fast = study.one({**common, **given["slow"]}), study.one({**common, **given["fast"]})
    if slow is None or fast is None:
        return {}
    times = study.download_time.of_run
    base = {run.seed: times[run.run] for run in fast.good_runs if run.run in times}
    return {
        run.seed: times[run.run] / base[run.seed] - 1
        for run in slow.good_runs
        if run.run in times and run.seed in base
    }


def _instead(study: StudyEvidence, given: Given, whole: Effect) -> str:
    """What the effect becomes without another rule, in words."""
    if "instead" not in given:
        return ""
    other = effect(study, given, given["instead"])
    left, gone = _mean(other), _half_gone(whole, other)
    if left is None or gone is None:
        return ""
    word = {
        Verdict.REPRODUCED: "so that this does explain it",
        Verdict.NOT_REPRODUCED: "so that this does not explain it",
    }.get(verdict.more_than(gone, 0.0), "which leaves it open whether this explains it")
    number = wording.per_cent(left)
    return f"{wording.sentence(given['instead_says'])} the difference is {number}, {word}."


def _mean(found: Effect) -> Estimate | None:
    return difference(found, dict.fromkeys(found, 0.0))


def _half_gone(whole: Effect, rest: Effect) -> Estimate | None:
    """By how much the rest is less than half of the whole."""
    return difference({seed: value / 2 for seed, value in whole.items()}, rest)
