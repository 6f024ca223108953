import io
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.study import mistakes

from flashcrowd.base.errors import PlanRejected, Problem, StudyError, is_plain, nearest
from flashcrowd.base.units import Size, UnitError
from flashcrowd.cli import options
from flashcrowd.engines import refusal
from flashcrowd.report import axis_words
from flashcrowd.scenario.queue import DISCIPLINES
from flashcrowd.study import Study, catalogue, toml
from flashcrowd.study.catalogue import KINDS
from flashcrowd.study.missing import with_examples
from flashcrowd.study.read import parse_document


def test_the_study_without_mistakes_has_none():
    assert len(Study.from_dict(mistakes.study()).points()) == 2


@pytest.mark.parametrize("name", list(mistakes.MISTAKES))
def test_a_mistake_is_named_with_place_value_and_remedy(name: str, snapshot):
    with pytest.raises(StudyError) as caught:
        Study.from_dict(mistakes.wrong(*mistakes.MISTAKES[name]), place="study.toml")
    for problem in caught.value.problems:
        assert problem.path
        assert problem.value
        assert problem.allowed
        assert "Input should" not in problem.allowed, "the validator's words are not ours"
    assert str(caught.value) == snapshot


def test_several_mistakes_are_listed_together():
    document = mistakes.wrong("network.rtt", "400")
    document["workloads"]["swarm"]["size"] = "1 KB"
    document["titel"] = "x"
    with pytest.raises(StudyError) as caught:
        Study.from_dict(document)
    found = {problem.path for problem in caught.value.problems}
    assert found == {"titel", "network.rtt", "workloads.swarm.size"}
    assert str(caught.value).startswith("study: 3 problems")


def test_a_mistake_of_all_points_is_told_once():
    document = mistakes.wrong("timeline.dip.change", "network.links.nek.rate")
    document["sweep"] = {"network.rtt": [f"{ms} ms" for ms in range(50)]}
    with pytest.raises(StudyError) as caught:
        Study.from_dict(document)
    (problem,) = caught.value.problems
    assert "at network.rtt" not in problem.hint


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        ('format = 1\ntitle = "x\n', "s.toml:2:", ""),
        ("format = 1\nrtt = 400 ms\n", "s.toml:2:", 'quantities stand in quotes, as in "400 ms"'),
        ("format = 1\n[network\n", "s.toml:2:", ""),
        ("title = 'x'\n", "format", "write `format = 1` at the top"),
        ("format = 2\n", "format", "write `format = 1` at the top"),
    ],
)
def test_what_is_no_study_file_is_told_with_its_line(tmp_path, text, path, hint):
    file = tmp_path / "s.toml"
    file.write_text(text)
    with pytest.raises(StudyError) as caught:
        Study.load(file)
    (problem,) = caught.value.problems
    assert problem.path.removeprefix(f"{tmp_path}/").startswith(path)
    assert problem.hint.endswith(hint)


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("[network]\n[network]", "2:9", "the table network is given already"),
        ('[a."b c"]\n[a."b c"]', "2:9", 'the table a."b c" is given already'),
        ("[[a]]\n[a]", "2:3", "the table a is given already"),
        ("a = 1\na = 2", "2:6", "this key has a value already"),
        ('title = "x\ny"', "1:11", "the end of a line may not stand here"),
        ("title = 'a\x00'", "1:11", r'"\u0000" may not stand here'),
        ('title = "x', "1:11", "the text has no closing quotes"),
        ("rtt 400", "1:5", "`=` and a value come after a key"),
        ("rtt = fast", "1:7", "a value is a text in quotes, a number, true, false, a list or a"),
        ("a = 1 b = 2", "1:7", "a line holds one value only"),
        ("a = [1, 2", "1:10", "the list has no closing bracket"),
        ("a = {b = 1", "1:11", "the table has no closing brace"),
        ("a = {b = 1, b = 2}", "1:18", 'the key "b" stands twice between the braces'),
        ("[a", "1:3", '"]" ends a table\'s name'),
        ("!", "1:1", "a line is a key with a value, a table's name in brackets, or a comment"),
        ("a. = 1", "1:4", "a key is letters, digits, - and _, or in quotes"),
        (r'a = "\q"', "1:8", "\\ is written \\\\, or the text in single quotes"),
        (r'a = "\u12"', "1:8", r"a character by its number is \uXXXX or \UXXXXXXXX"),
        (r'a = "\ud800"', "1:12", "there is no character of that number"),
        ("a = 2026-02-30", "1:5", "there is no such date"),
        ("a = {b = 1}\n[a.c]", "2:5", "the table a.c is given already"),
    ],
)
def test_what_is_no_toml_is_told_in_our_words(text: str, place: str, hint: str):
    with pytest.raises(StudyError) as caught:
        parse_document(text, "s.toml")
    (problem,) = caught.value.problems
    assert problem.hint.startswith(hint)
    assert problem.path == f"s.toml:{place}"
    assert "Cannot" not in str(caught.value)
    assert all(map(is_plain, problem.value))


@pytest.mark.parametrize("before", [0, 1000])
def test_a_long_line_is_shown_near_its_mistake(before: int):
    row = "a = [" + "1, " * before + "!" + ", 2" * 100_000 + "]"
    with pytest.raises(StudyError) as caught:
        parse_document(row, "s.toml")
    (problem,) = caught.value.problems
    assert "!" in problem.value
    assert len(str(caught.value)) < 500


def test_a_number_that_no_reader_takes_is_told():
    with pytest.raises(StudyError, match="whole numbers of at most 4300 digits"):
        parse_document("a = " + "9" * 5000, "s.toml")


@pytest.mark.parametrize("version", ["true", "1.0", '"1"', "2", "[1]"])
def test_the_format_is_a_whole_number(version: str):
    with pytest.raises(StudyError, match="1, the format of this version"):
        parse_document(f"format = {version}", "s.toml")
    document = mistakes.wrong("format", tomllib.loads(f"it = {version}")["it"])
    with pytest.raises(StudyError, match="1, the format of this version"):
        Study.from_dict(document)


def test_a_mark_at_the_beginning_is_no_mistake(tmp_path):
    (tmp_path / "windows.toml").write_bytes(b"\xef\xbb\xbf" + mistakes.STUDY.encode())
    (tmp_path / "plain.toml").write_bytes(mistakes.STUDY.encode())
    marked, plain = (Study.load(tmp_path / f"{name}.toml") for name in ("windows", "plain"))
    assert marked.resolved() == plain.resolved()
    assert marked.source == plain.source


@pytest.mark.parametrize("key", ["title", "description"])
@pytest.mark.parametrize(
    "char", ["\x00", "\x1b", "\r", "\x7f", "\x9b", "\u2028", "\u202e", "\u2066"]
)
def test_characters_that_control_a_reader_are_refused_with_their_place(key: str, char: str):
    with pytest.raises(StudyError) as caught:
        Study.from_dict(mistakes.wrong(key, f"abc{char}def"))
    (problem,) = caught.value.problems
    assert problem.path == key
    assert problem.hint.startswith(f"character 4 is \\u{ord(char):04x}, ")
    assert all(is_plain(char) or char == "\n" for char in str(caught.value))


def test_a_title_has_one_line_and_a_description_several():
    with pytest.raises(StudyError, match="in one line"):
        Study.from_dict(mistakes.wrong("title", "two\nlines"))
    assert Study.from_dict(mistakes.wrong("description", "two\n\tlines")).description
    for title in ("Größe ≥ 1", "ﬂash‑crowd 🎉", "می‌خواهم", "👩‍🔬"):
        assert Study.from_dict(mistakes.wrong("title", title)).title == title


@pytest.mark.parametrize("place", ["network.groups", "workloads", "timeline", "stacks"])
@pytest.mark.parametrize("name", ["a\x1b[31m", "a\n", "a\u202e", "a\x00"])
def test_names_hold_no_such_characters_either(place: str, name: str):
    with pytest.raises(StudyError) as caught:
        Study.from_dict(mistakes.wrong(f"{place}.{name}", {}))
    assert all(is_plain(char) or char == "\n" for char in str(caught.value))
    assert any(problem.path.startswith(place) for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("title", "it names the study as a whole"),
        ("format", "it says how the file is read"),
        ("sweep", "a path that is set is swept no more; what varies stands in the file"),
        ("description", "it describes the study as a whole"),
    ],
)
def test_keys_of_the_whole_study_are_not_swept(path: str, hint: str):
    with pytest.raises(StudyError) as caught:
        Study.from_dict(mistakes.wrong("sweep", {path: ["a", "b"]}))
    (problem,) = caught.value.problems
    assert problem.hint == hint
    if path in ("format", "sweep"):
        with pytest.raises(StudyError) as caught:
            Study.from_dict(mistakes.study(), set={path: 2})
        (problem,) = caught.value.problems
        assert (problem.path, problem.hint) == (path, hint)


def test_a_change_and_a_stop_are_two_entries():
    event = {"at": "5 s", "change": "network.links.neck.rate", "to": "1 Mbit/s", "stop": "bulk"}
    for extra in ({}, {"to": "1 Mbit/s"}):
        both = {key: event[key] for key in ("at", "stop")} | (extra or event)
        with pytest.raises(StudyError) as caught:
            Study.from_dict(mistakes.wrong("timeline.dip", both))
        (problem,) = caught.value.problems
        assert problem.path == "timeline.dip"
        assert problem.allowed == "either `change` and `to`, or `stop`"
        assert problem.hint == "write an entry of its own for the stop"


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(StudyError, match="No such file"):
        Study.load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(StudyError, match="not UTF-8"):
        Study.load(tmp_path / "binary.toml")
    (tmp_path / "wide.toml").write_text("format = 1", encoding="utf-16")
    with pytest.raises(StudyError, match="it looks like UTF-16; save it as UTF-8"):
        Study.load(tmp_path / "wide.toml")


def test_a_study_that_ships_is_offered_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"init --template latency. writes the one that ships"):
        Study.load(tmp_path / "latency.toml")
    with pytest.raises(StudyError) as found:
        Study.load(tmp_path / "mine.toml")
    assert "`flashcrowd list studies` has those that ship" in str(found.value)
    with pytest.raises(StudyError, match=r"set .report.headline. in the study file"):
        Study.load(catalogue.STUDIES / "latency.toml", set={"report.headline": ["ping"]})


def _unknown_tables() -> None:
    Study.from_dict({**mistakes.study(), **{f"stuff{at}": {"a": 1} for at in range(12_000)}})


def _sweep_values() -> None:
    values = [f"{at} apples" for at in range(1_000)]
    Study.from_dict({**mistakes.study(), "sweep": [{"network.rtt": values}]})


def _engine() -> None:
    plan = Study.from_dict(mistakes.study()).points()[0].plan().parsed
    refusal.check_for(plan, "no engine", lambda _: (f"stuff {at}" for at in range(12_000)))


@pytest.mark.parametrize("given", [_unknown_tables, _sweep_values, _engine])
def test_of_a_long_list_of_mistakes_the_first_are_shown(given: Callable[[], None]):
    with pytest.raises((StudyError, PlanRejected)) as caught:
        given()
    said = [str(caught.value)]
    if isinstance(caught.value, StudyError):
        assert f"{len(caught.value.problems)} problems" in said[0]
        page = io.StringIO()
        Console(file=page, width=200).print(caught.value)
        said.append(page.getvalue())
    for text in said:
        assert len(text.splitlines()) <= 110
        assert re.search(r"… and \d+ more\n?$", text)


def test_of_a_long_list_of_doubts_the_first_are_shown(tmp_path, monkeypatch, capsys):
    path = tmp_path / "study.toml"
    path.write_text(toml.toml_of(mistakes.study()))
    doubts = [Problem(f"stuff{at}", "1", "few would want this") for at in range(12_000)]
    monkeypatch.setattr(Study, "warnings", lambda _: doubts)
    options.load(path, [])
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 21
    assert said[-1] == "warning: … and 11980 more"


@pytest.mark.parametrize("swept", [False, True])
def test_a_key_that_is_missing_has_an_example(swept: bool):
    backlog = {"kind": "queue-time", "queue_time": "3 s", "min": 2}
    path = "profiles.mine.requests.backlog"
    document: dict[str, Any] = {
        "format": 1,
        "title": "T",
        "network": {"groups": {"a": {}}},
        "profiles": {"mine": {"base": "libtorrent"}},
        "workloads": {"swarm": {"kind": "swarm", "size": "1 MB", "populations": {
            "s": {"role": "seed", "group": "a"}, "p": {"group": "a", "profile": "mine"}}}},
    }  # fmt: skip
    if swept:
        document["sweep"] = {path: [2, backlog]}
    else:
        document["profiles"]["mine"]["requests"] = {"backlog": backlog}
    with pytest.raises(StudyError) as caught:
        Study.from_dict(document)
    (problem,) = with_examples(caught.value.problems)
    assert problem.path.endswith(".max")
    assert problem.hint == "Greatest number, as in max = 500"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("tcp-lp", "lp"), ("TCP-LP", "lp"), ("tcp-nice", "nice"), ("TCP Vegas", "vegas"),
        ("LEDBAT++", "ledbat-plus-plus"), ("BBRv3", "bbr-v3"), ("NewReno", "new-reno"),
    ],
)  # fmt: skip
def test_names_as_papers_write_them_are_near(written: str, meant: str):
    assert nearest(written, KINDS["controllers"].entries()) == meant


def test_every_name_that_a_report_writes_is_near_the_one_of_files():
    names = {*DISCIPLINES, *KINDS["controllers"].entries()}
    for name in names & set(axis_words.SPELLED):
        assert nearest(axis_words.spelled(name), sorted(names)) == name


def test_a_number_in_quotes_or_with_a_unit_has_a_hint():
    document = mistakes.study()
    for value in ("50 packets", "50"):
        queue = {"kind": "sfq", "limit": value}
        line = {"up": "1 Mbit/s", "down": "8 Mbit/s", "up_queue": queue}
        document["network"]["groups"]["more"] = {"access": line}
        with pytest.raises(StudyError) as caught:
            Study.from_dict(document)
        assert [it.hint for it in caught.value.problems] == ["write 50"]


def test_a_size_without_a_unit_is_that_of_a_file():
    for written in (700, "700"):
        with pytest.raises(UnitError) as caught:
            Size(written)  # type: ignore[arg-type]
        assert caught.value.hint == 'write "700 MB" or "700 B"'


@pytest.mark.parametrize("key", ["group", "goups", "Groups"])
def test_a_key_that_is_misspelt_is_not_missing_as_well(key: str):
    document = mistakes.study()
    network = document["network"]
    network[key] = network.pop("groups")
    with pytest.raises(StudyError) as caught:
        Study.from_dict(document)
    (problem,) = caught.value.problems
    assert problem.hint == 'did you mean "groups"?'
