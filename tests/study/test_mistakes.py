import importlib.util
from pathlib import Path

import pytest

from flashcrowd.errors import StudyError
from flashcrowd.study import Study

_spec = importlib.util.spec_from_file_location("mistakes", Path(__file__).with_name("mistakes.py"))
assert _spec is not None
assert _spec.loader is not None
mistakes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(mistakes)


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


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(StudyError, match="No such file"):
        Study.load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(StudyError, match="not UTF-8"):
        Study.load(tmp_path / "binary.toml")
