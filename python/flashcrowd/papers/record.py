"""What whole campaigns have found of a paper's claims, kept beside its page of the documentation.

A paper at its own size takes hours, and its studies may be run at different times and on different
machines. So ``PAPER.json`` beside ``PAPER.md`` has of each study the build that ran it, and of each
claim the finding that rests on these studies. A campaign of some studies replaces what it has
judged, and leaves the others. A finding counts only while it rests on what stands there: on the
same runs of all its studies, and on the claim as it is written today.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from flashcrowd.papers.claim import Claim, Judged
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.store import atomic


class RecordError(Exception):
    """A record cannot be read; says which file, and what to do."""


@dataclass(frozen=True)
class Played:
    """One study that was run.

    Attributes:
        build: version and commit.
        first: the day on which its first session ended.
        last: that of its last one.
        runs: how many runs it has.
    """

    build: str
    first: str
    last: str
    runs: int


@dataclass(frozen=True)
class Record:
    """Studies that were run, and what they say of claims.

    Attributes:
        studies: each study that was run, by its name.
        findings: each finding with the digest of its claim, by the claim's id.
    """

    studies: Mapping[str, Played]
    findings: Mapping[str, tuple[str, Finding]]

    @property
    def sentence(self) -> str:
        """When, by which builds, and how many runs."""
        played = self.studies.values()
        days = (min(it.first for it in played), max(it.last for it in played))
        builds = sorted({it.build for it in played})
        return (
            f"{' to '.join(dict.fromkeys(days))}, flashcrowd {', '.join(builds)}: "
            f"{wording.count(sum(it.runs for it in played), 'run')} of "
            f"{wording.count(len(played), 'study', 'studies')}."
        )

    def judged(self, claims: Sequence[Claim]) -> list[Judged]:
        """Each claim with its finding, or as one that was not run."""
        return [Judged(claim, self._finding(claim)) for claim in claims]

    def _finding(self, claim: Claim) -> Finding:
        of, finding = self.findings.get(claim.id, ("", None))
        if finding is not None and of == _digest(claim):
            return finding
        return Finding(Verdict.NOT_RUN, f"needs {', '.join(claim.needs)}")

    def after(self, later: Record, claims: Sequence[Claim]) -> Record:
        """This record after a campaign that has `later`, both of these claims."""
        stale = {it.id for it in claims if set(it.needs) & set(later.studies)}
        kept = {name: it for name, it in self.findings.items() if name not in stale}
        return Record({**self.studies, **later.studies}, {**kept, **later.findings})


def of(evidence: Evidence, judged: Sequence[Judged]) -> Record:
    """What one campaign has found."""
    return Record(
        {name: _played(study) for name, study in evidence.studies.items()},
        {
            one.claim.id: (_digest(one.claim), one.finding)
            for one in judged
            if one.finding.verdict is not Verdict.NOT_RUN
        },
    )


def beside(page: Path) -> Path:
    """Where the record of a page is."""
    return page.with_suffix(".json")


def read(page: Path) -> Record:
    """The record beside a page; an empty one if there is none.

    Raises:
        RecordError: it cannot be read.
    """
    path = beside(page)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Record(
            {name: Played(**it) for name, it in data["studies"].items()},
            {it["id"]: (it["of"], _read_finding(it)) for it in data["claims"]},
        )
    except FileNotFoundError:
        return Record({}, {})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RecordError(
            f"{path}: is no record of a paper's claims ({error}); delete it, or take it from where "
            "the page is from"
        ) from None


def write(page: Path, record: Record, claims: Sequence[Claim]) -> None:
    """Write the record beside a page, its claims in the order of the paper."""
    found = record.findings
    data = {
        "studies": {name: asdict(it) for name, it in sorted(record.studies.items())},
        "claims": [
            {"id": it.id, "says": it.says, "of": found[it.id][0], **_written(found[it.id][1])}
            for it in claims
            if it.id in found
        ],
    }
    atomic.write_json(beside(page), data)


def _played(study: StudyEvidence) -> Played:
    provenance = study.results.provenance
    days = sorted(it["finished"].partition("T")[0] for it in provenance.get("sessions", ()))
    return Played(_build(provenance), days[0], days[-1], len(study.points.runs))


def _build(provenance: Mapping[str, Any]) -> str:
    """Version and short commit, with its ``+`` if sources differed from it."""
    version, commit = provenance.get("version", "?"), provenance.get("commit") or ""
    plus = "+" if commit.endswith("+") else ""
    return f"{version} ({commit[:8]}{plus})" if commit else str(version)


def _digest(claim: Claim) -> str:
    """Of all that decides a verdict: the judge with what it is given, and the studies."""
    decides = [claim.judge, claim.needs, claim.given, bool(claim.asks), bool(claim.by_construction)]
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]


def _written(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "verdict": finding.verdict.value}


def _read_finding(data: Mapping[str, Any]) -> Finding:
    found = Finding("", data["measured"], data["n"], data["why"])  # type: ignore[arg-type]
    return replace(found, verdict=Verdict(data["verdict"]))
