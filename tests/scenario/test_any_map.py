"""Any map gives the right graph or an error: the fuzz target in short."""

import random
from pathlib import Path

import pytest
from fuzz.maps import WRONG, check, gml, graphml

from flashcrowd.base.units import UnitError
from flashcrowd.scenario.gml_file import read_gml
from flashcrowd.scenario.graphml_file import read_graphml


@pytest.mark.parametrize("seed", range(4))
def test_the_fuzz_target_in_short(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(2500):
        check(draw)


@pytest.mark.parametrize(
    ("form", "wrong"), [(form, part) for form, parts in WRONG.items() for part in parts]
)
def test_each_wrong_part_is_refused(form: str, wrong: str) -> None:
    write, read = (graphml, read_graphml) if form == "graphml" else (gml, read_gml)
    for seed in range(20):
        text, _ = write(random.Random(seed), wrong)
        with pytest.raises(UnitError):
            read(text, Path("map"))
