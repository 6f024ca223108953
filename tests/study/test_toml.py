"""Documents as TOML are read back as they were."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd.study.toml import toml_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.one_of(
    texts, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False),
    st.dates(), st.times(), st.datetimes(),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(texts, below, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(texts, values, max_size=5))
def test_any_document_is_read_back(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml_of(document)) == document


def test_a_document_is_laid_out_in_tables() -> None:
    document = {
        "a": {"b": {"x y": 1}, "k": [1, {"z": True}], "none": {}},
        "v": 'q"\\\n',
        "s": [{"p.q": [1.5]}, {}],
    }
    assert toml_of(document) == (
        'v = "q\\"\\\\\\n"\n\n[a]\nk = [1, {z = true}]\n\n[a.b]\n"x y" = 1\n\n[a.none]\n'
        '\n[[s]]\n"p.q" = [1.5]\n\n[[s]]\n'
    )


def test_what_toml_lacks_is_refused() -> None:
    with pytest.raises(TypeError, match="NoneType"):
        toml_of({"a": None})
