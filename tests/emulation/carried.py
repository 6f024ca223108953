"""Runs in a lab that lose nothing but by the model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flashcrowd.emulation.launch import LabHandle, in_lab
from flashcrowd.study import Study


def carried(study: Path, **how: Any) -> Mapping[str, Any]:
    """The tables of a study's one run.

    A machine that is late may lose packets of a run; then it is tried once more.
    """
    (run,) = Study.load(study).runs()
    lost: list[int] = []
    while len(lost) < 2:
        tables = in_lab(run.point.plan().parsed, run.seed, LabHandle(), **how)
        lost.append(sum(row["unmodelled_drops"] for row in tables["emulation"]))
        if not lost[-1]:
            return tables
    pytest.fail(f"packets were lost other than by the model: {lost}")
