"""Whatever stands in a study file: the engine can read it, or its mistakes are told."""

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.study import mistakes

from flashcrowd.base import paths
from flashcrowd.base.errors import StudyError
from flashcrowd.study import Study
from flashcrowd.study.read import parse_document

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))

RESOLVED = Study.from_dict(mistakes.study()).resolved()
PLACES = [path for path in paths.leaves(RESOLVED) if path[0] not in ("format", "title")]
WORDS = sorted(
    {leaf for path in PLACES for leaf in path}
    | {str(paths.look_up(RESOLVED, path)) for path in PLACES}
    | {"none", "unlimited", "inherit", "0 ms", "1 h", "0 B", "1 B", "100 %", "1 bit/s", "poisson"}
)

scalars = (
    st.sampled_from(WORDS)
    | st.text(max_size=5)
    | st.integers(-1, 2**65)
    | st.floats()
    | st.booleans()
    | st.none()
    | st.dates()
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)
    ),
    max_leaves=4,
)


def tried(document: dict[str, Any]) -> None:
    try:
        study = Study.from_dict(document)
        plans = [point.plan() for point in study.points()]
    except StudyError:
        return
    for plan in plans:
        plan.parsed.check()


@given(st.lists(st.tuples(st.sampled_from(PLACES), values), min_size=1, max_size=3))
def test_any_values_anywhere(changes: list[tuple[tuple[str, ...], Any]]):
    document = RESOLVED
    for path, value in changes:
        document = paths.replaced(document, path, value)
    tried(document)


@given(st.sampled_from(PLACES), st.lists(values, max_size=3))
def test_any_sweep(path: tuple[str, ...], swept: list[Any]):
    tried({**mistakes.study(), "sweep": {paths.join(path): swept}})


@given(st.sampled_from(PLACES), st.text(max_size=8), values)
def test_any_change(path: tuple[str, ...], more: str, value: Any):
    change = {"at": "1 s", "change": paths.join(path) + more, "to": value}
    tried({**mistakes.study(), "timeline": {"any": change}})


@given(st.dictionaries(st.text(max_size=12) | st.sampled_from(WORDS), values, max_size=4))
def test_any_document(document: dict[str, Any]):
    tried(document)


@given(st.sampled_from(STUDIES), st.integers(0, 3000), st.text(max_size=3))
def test_any_damage_to_a_file(path: Path, place: int, text: str):
    whole = path.read_text(encoding="utf-8")
    damaged = whole[:place] + text + whole[place + 1 :]
    try:
        document = parse_document(damaged, "damaged.toml")
    except StudyError:
        return
    assert isinstance(tomllib.loads(damaged), dict)
    tried(document)
