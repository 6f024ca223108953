"""A promise is a test: each sentence that promises stands in `promises.toml` with what holds it."""

from pathlib import Path

import pytest
from tests.docs.promises import LIST, OTHERS, ROOT, collected, listed, mistakes, pages, sentences


@pytest.mark.parametrize("page", pages())
def test_each_promise_has_its_test(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    wrong = mistakes(page, text, listed().get(page, {}))
    assert not wrong, "\n".join(wrong)


def test_the_list_is_of_pages_that_there_are() -> None:
    assert not set(listed()) - set(pages())


HERE = "tests/docs/test_promises.py::test_a_part_of_a_sentence_names_it"


@pytest.mark.parametrize(
    ("text", "entries", "said"),
    [
        ("It never ends.", {}, "has no test for 'It never ends.'"),
        ("It ends within 10 s.", {}, "has no test for"),
        ("| a | b |\n| --- | --- |\n| c | exit status 2 |", {}, "has no test for '| c | exit"),
        ("| exit status |\n| --- |\n| 2 |", {}, "has no test for 'exit status | 2 |'"),
        ("| a | bound |\n| --- | --- |\n| b | 1 MB |", {}, "has no test for 'bound | b | 1 MB |'"),
        ("- It takes at most\n  two.", {}, "has no test for 'It takes at most two.'"),
        (
            "It never ends.",
            {"It never ends": "tests/docs/test_promises.py::test_none"},
            "collected",
        ),
        ("It never ends.", {"It never ends": "crates/link/src/lib.rs::none"}, "collected"),
        ("It never ends.", {"It never ends": "nonsense"}, "collected"),
        ("It ends.", {"It never ends": HERE}, "of a sentence are needed, not 'It never ends'"),
        (
            "It never ends.",
            {"never": HERE},
            "3 words or more of a sentence are needed, not 'never'",
        ),
    ],
)
def test_a_wrong_list_is_named(text: str, entries: dict[str, str], said: str) -> None:
    assert any(said in one for one in mistakes("p.md", text, entries))


def test_a_part_of_a_sentence_names_it() -> None:
    assert not mistakes("p.md", "It is. It never\nends. It may.", {"It never ends": HERE})
    assert not mistakes("p.md", "# It never ends\n\n```\nnever\n```\n\n    never\n", {})
    assert not mistakes("p.md", "It never ends.", {"It never ends": OTHERS[0]})
    claims = "<!-- claims of quick mode -->\n\n| It never ends. |\n\n<!-- end of claims -->\n"
    assert not mistakes("p.md", claims, {})
    assert mistakes("p.md", f"{claims}\nIt never ends.", {})
    assert list(sentences("One. Two (never).\n\n- three\n  four\n- *Five.* Six `7.5`.")) == [
        *("One.", "Two (never).", "three four", "*Five.*", "Six `7.5`."),
    ]


def test_tests_of_rust_are_found() -> None:
    assert not collected("crates/none.rs::none")
    assert not collected("README.md::none")


def test_the_list_is_sorted_as_pages_are() -> None:
    names = list(listed())
    assert names == [page for page in pages() if page in names], LIST
    assert Path(LIST).is_file()
