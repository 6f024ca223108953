"""What was made is kept by its tables, and within bounds."""

from flashcrowd.base import kept as module
from flashcrowd.base.kept import Kept, as_json


def test_the_same_tables_are_met_once_and_equal_ones_anew():
    kept, made = Kept(), []

    def make(table: list[int], other: list[int]) -> dict[str, int]:
        made.append((table, other))
        return {"sum": sum(table) + sum(other)}

    one, two, like_one = [1, 2], [3], [1, 2]
    for ask in (kept.made, kept.found):
        made.clear()
        assert ask(make, one, two) is ask(make, one, two)
        assert ask(make, like_one, two) == ask(make, one, two)
        assert ask(make, two, one) == ask(make, one, two)
        assert made == [(one, two), (like_one, two), (two, one)]


def test_the_first_of_equal_values_stands_for_all():
    kept, first = Kept(), ("a", 1000)
    assert kept.same(first) is first
    assert kept.same(("a", int("1000"))) is first


def test_text_is_that_of_json(monkeypatch):
    kept = Kept()
    part = kept.made(lambda table: {"ü": [1.5, None, *table]}, [True])
    texts = [kept.text(part), kept.text(part), kept.text({"ü": [1.5, None, True]})]
    assert set(texts) == {as_json(part)} == {'{"ü":[1.5,null,true]}'}
    monkeypatch.setattr(module, "as_json", None)
    assert kept.text(part) == texts[0]


def test_what_is_too_much_is_made_again():
    kept, tables, made = Kept(), [[number] for number in range(5)], []

    def make(table: list[int]) -> list[int]:
        made.append(table)
        return [*table]

    for _ in range(2):
        for table in tables:
            kept.made(make, table, weight=lambda _: module.MOST_WEIGHT // 3)
    assert len(made) > len(tables)
    assert len(kept._results) <= 3
    light = [kept.found(len, table) for table in tables]
    assert light == [1] * 5
    assert len(kept._light) == 5
