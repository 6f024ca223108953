"""What was lowered is kept by its table, and within bounds."""

from flashcrowd.plan import kept as module
from flashcrowd.plan.kept import Kept, as_json


def test_the_same_table_is_made_once_and_an_equal_one_anew():
    made: list[object] = []
    kept = Kept()

    def make(table: list[int]) -> dict[str, int]:
        made.append(table)
        return {"sum": sum(table)}

    one, other = [1, 2], [1, 2]
    assert kept.made(make, one) is kept.made(make, one)
    assert kept.made(make, other) == kept.made(make, one)
    assert made == [one, other]


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
            kept.made(make, table, weight=module.MOST_WEIGHT // 3)
    assert len(made) > len(tables)
    assert sum(entry[0] is not None for entry in kept._results.values()) <= 3
    light = [kept.made(len, table, weight=0) for table in tables]
    assert light == [1] * 5
    assert len(kept._light) == 5
