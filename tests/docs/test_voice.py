"""A person can read it: README, docs, help and reports keep to the rules of `voice.toml`."""

from functools import cache

import pytest
from tests.docs.voice import CODE, Passage, markdown, numbers, offences, rules, words
from tests.docs.voiced import texts


@cache
def wrong(name: str) -> list[str]:
    return offences(texts()[name]())


@pytest.mark.parametrize("name", [name for name in texts() if name not in rules().not_yet])
def test_a_text_reads_easily(name: str) -> None:
    assert not wrong(name), "\n".join(f"{name}:{it}" for it in wrong(name))


@pytest.mark.parametrize("name", rules().not_yet)
def test_a_text_that_reads_easily_leaves_the_list(name: str) -> None:
    assert name in texts(), "there is no such text: take it off `not_yet` in voice.toml"
    assert wrong(name), "it reads easily now: take it off `not_yet` in voice.toml"


LONG = "The " + "very " * 44 + "long queue drops.\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The queue drops.", []),
        ("One queue.\nThe client was told.", ["2: 'told'"]),
        ("| a |\n| --- |\n| It was\u00a0told. |", ["3: 'told'"]),
        ("## Told again", ["1: 'Told'"]),
        ("`told` and\n\n    told\n\n```text\ntold\n```\n<!-- told -->", []),
        ("It takes 3 ms, 4 ms, 5 ms and 6 ms.", ["1: 4 numbers"]),
        ("| a |\n| --- |\n| 3, 4, 5, 6 |", []),
        ("It takes 3 ms; then 4 ms, 5 ms and 6 ms.", []),
        (f"| a |\n| --- |\n| {'a' * 141} |", ["3: a cell of 141"]),
        ("A word. " * 20 + LONG, ["1: 48 words"]),
        ("A word. " * 2 + "A word more " * 10 + ".", ["1: 1 of 3 sentences", "1: 30 words"]),
        ("The queue of the line " * 4 + ".", ["1: half of the sentences have 20"]),
        ("What comes out is shown.", ["1: 'What …'"]),
        ("What comes out?", []),
        ("| a |\n| --- |\n| What comes out. |", []),
    ],
)
def test_an_offence_is_named_with_its_line(text: str, expected: list[str]) -> None:
    found = offences(markdown(text))
    assert len(found) == len(expected), found
    for offence, beginning in zip(found, expected, strict=True):
        assert offence.startswith(beginning)


def test_stops_colons_and_semicolons_end_a_sentence() -> None:
    passage = Passage("1", 'One 1.5 (two). Three: four;\nfive "six." Seven')
    assert [(it.where, it.text) for it in passage.sentences()] == [
        *(("1", "One 1.5 (two)."), ("1", "Three:"), ("1", "four;")),
        *(("2", 'five "six."'), ("2", "Seven")),
    ]


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("RFC 9438 and Linux 6.18 on 29 November 2026", 0),
        ("IPv6 over x86-64 in 4G", 0),
        ("from −3 to +4.5 % of 10 000 packets", 3),
        ("RFC 9438 in 3 ms", 1),
        (f"{CODE} in 1,000 s", 1),
    ],
)
def test_names_and_dates_are_no_numbers(sentence: str, count: int) -> None:
    assert numbers(sentence) == count


def test_code_is_one_word() -> None:
    assert [words(it.text) for it in markdown("Run `a long command` now – twice.")] == [4]
