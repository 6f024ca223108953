"""What whole campaigns have found of a paper's claims, kept beside its page of the documentation.

A paper at its own size takes hours, and its studies may be run at different times and on different
machines. So ``PAPER.json`` beside ``PAPER.md`` has of each study the build that ran it, and of each
claim the finding with the studies that it rests on. A campaign of some studies replaces what it has
judged from as many studies at least, and leaves the others. A finding counts only while it rests on
what stands there: on the same runs of all its studies, and on the claim as it is judged today.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flashcrowd.papers.claim import Claim, Judged
from flashcrowd.papers.evidence import Evidence, StudyEvidence
from flashcrowd.papers.verdict import Finding, Verdict
from flashcrowd.report import wording
from flashcrowd.store import atomic


class RecordError(Exception):
    """A record cannot be read; says which file, and what to do."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Played(_Part):
    """One study that was run.

    Attributes:
        build: version and commit.
        first: the day on which its first session ended.
        last: that of its last one.
        runs: how many runs it has.
        digest: of the table of these runs.
    """

    build: str
    first: str
    last: str
    runs: int
    digest: str


class Found(_Part):
    """The finding of a claim.

    Attributes:
        says: the claim, for those who read the file.
        digest: of all that decides the verdict but the runs: of the judge, and of what it is given.
        studies: what it rests on.
        verdict: the verdict.
        measured: as in `Finding`; so are `n` and `why`.
    """

    says: str
    digest: str
    studies: tuple[str, ...]
    verdict: Verdict
    measured: str
    n: int
    why: str

    @property
    def finding(self) -> Finding:
        """The finding itself."""
        return Finding(self.verdict, self.measured, self.n, self.why)


class Record(_Part):
    """Studies that were run, and what they say of claims, by the claim's id."""

    studies: dict[str, Played] = Field(default_factory=dict)
    claims: dict[str, Found] = Field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """When, by which builds, and how many runs."""
        if not self.studies:
            return "No study was run."
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
        found = self.claims.get(claim.id)
        if found is not None and found.digest == _digest(claim):
            return found.finding
        return Finding(Verdict.NOT_RUN, f"needs {', '.join(claim.needs)}")

    def after(self, later: Record, claims: Sequence[Claim], studies: Sequence[str]) -> Record:
        """This record after a campaign that has `later`; both of these claims and studies."""
        played = {name: it for name, it in self.studies.items() if name in studies}
        played |= later.studies
        found = {
            name: it
            for name, it in self.claims.items()
            if all(played.get(on) and played[on].digest == self._of(on) for on in it.studies)
        }
        for name, new in later.claims.items():
            old = found.get(name)
            fuller = old and old.digest == new.digest and not set(old.studies) <= set(new.studies)
            if not fuller:
                found[name] = new
        return Record(
            studies=played, claims={it.id: found[it.id] for it in claims if it.id in found}
        )

    def _of(self, study: str) -> str | None:
        """The digest of a study's runs."""
        return self.studies[study].digest if study in self.studies else None


def of(evidence: Evidence, judged: Sequence[Judged]) -> Record:
    """What one campaign has found."""
    found = {
        one.claim.id: Found(
            says=one.claim.says,
            digest=_digest(one.claim),
            studies=tuple(name for name in _named(one.claim) if name in evidence.studies),
            **vars(one.finding),
        )
        for one in judged
        if one.finding.verdict is not Verdict.NOT_RUN
    }
    played = {name: _played(study) for name, study in evidence.studies.items()}
    return Record(studies=played, claims=found)


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
        return Record.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Record()
    except (OSError, ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise RecordError(
            f"{path}: is no record of a paper's claims ({reason}); take it from where the page is "
            "from, or delete it with what the page says of the whole campaign"
        ) from None


def write(page: Path, record: Record) -> None:
    """Write the record beside a page."""
    atomic.write_json(beside(page), record.model_dump(mode="json"))


def _played(study: StudyEvidence) -> Played:
    provenance, runs = study.results.provenance, study.results.tables["runs"]
    days = sorted(it["finished"].partition("T")[0] for it in provenance.get("sessions", ()))
    return Played(
        build=_build(provenance),
        first=days[0],
        last=days[-1],
        runs=len(study.points.runs),
        digest=_sha256(runs.to_pylist()),
    )


def _build(provenance: Mapping[str, Any]) -> str:
    """Version and short commit, with its ``+`` if sources differed from it."""
    version, commit = provenance.get("version", "?"), provenance.get("commit") or ""
    plus = "+" if commit.endswith("+") else ""
    return f"{version} ({commit[:8]}{plus})" if commit else str(version)


def _named(claim: Claim) -> list[str]:
    """The studies that a claim needs, and those that it also asks where they were run."""
    return sorted({*claim.needs, *_studies((claim.given, claim.reasons))})


def _studies(given: Any) -> Iterator[str]:
    if isinstance(given, Mapping):
        if isinstance(given.get("study"), str):
            yield given["study"]
        given = list(given.values())
    if isinstance(given, list | tuple):
        for it in given:
            yield from _studies(it)


def _digest(claim: Claim) -> str:
    decides = [claim.judge, claim.needs, claim.given, bool(claim.asks), bool(claim.by_construction)]
    return _sha256(decides)


def _sha256(value: Any) -> str:
    """The first 64 bits, of a value of plain values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]
