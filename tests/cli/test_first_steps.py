"""`init`, `list`, `explain`, `check` and `completion`."""

import json
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest

from flashcrowd import _core
from flashcrowd.base import paths
from flashcrowd.base.errors import StudyError
from flashcrowd.base.metrics import METRICS, Metric
from flashcrowd.base.need import Need
from flashcrowd.base.words import Sampled
from flashcrowd.cli import main
from flashcrowd.engines.registry import ENGINES
from flashcrowd.scenario import LINES, Measures, shipped
from flashcrowd.scenario.queue import DISCIPLINES
from flashcrowd.scenario.stack import Stack
from flashcrowd.study import Study
from flashcrowd.study.brief import brief
from flashcrowd.study.catalogue import KINDS
from flashcrowd.study.counterparts import counterparts
from flashcrowd.study.explain import NAME, every_key, find
from flashcrowd.study.read import at_hand
from flashcrowd.study.search import search
from flashcrowd.study.template import TEMPLATES, names

ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "studies").glob("*.toml"))
pytestmark = pytest.mark.usefixtures("untimed")


def status(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(map(str, arguments)))
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answers(monkeypatch: pytest.MonkeyPatch, *given: str) -> None:
    left = iter(given)

    def answer(prompt: str) -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)


@pytest.mark.parametrize("line", ["modem 56k", "ADSL 1/8", "LAN 1000"])
@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_passes_and_runs_in_seconds(here: Path, template: str, line: str):
    assert status("init", "s.toml", "--template", template, "--line", line) == 0
    assert status("check", "s.toml") == 0
    study = Study.load("s.toml")
    needs = [Need(*point.plan().parsed.need()) for point in study.points()]
    assert study.most_repeats * sum(need.seconds for need in needs) < 10
    assert "#" in (here / "s.toml").read_text()


@pytest.mark.parametrize(
    ("name", "gaps"),
    [
        ("bufferbloat", {"cable 5/50": "ADSL 1/24"}),
        ("torrent-call", {"cable 5/50": "ADSL 1/24", '"2500 kbit/s"': '"500 kbit/s"'}),
    ],
)
def test_a_template_that_is_a_study_has_a_line_of_ones_own(
    here: Path, capsys: Any, name: str, gaps: dict[str, str]
):
    assert status("init", "--template", name) == 0
    study = (ROOT / "studies" / f"{name}.toml").read_text()
    assert (here / f"{name}.toml").read_text() == study
    assert status("init", "mine.toml", "--template", name, "--line", "ADSL 1/24") == 0
    for value, other in gaps.items():
        study = study.replace(value, other)
    assert (here / "mine.toml").read_text() == study
    assert status("init", "x.toml", "--template", name, "--with", "libutp") == 2
    assert "nothing beside --line" in capsys.readouterr().err


def test_a_template_is_run(here: Path):
    assert status("init", "--template", "background") == 0
    assert status("run", "background.toml", "--quiet", "--strict") == 0


def test_a_study_that_ships_is_copied_with_its_comments(here: Path):
    assert status("init", "mine.toml", "--template", "latency") == 0
    assert (here / "mine.toml").read_text() == (ROOT / "studies" / "latency.toml").read_text()
    assert status("init", "other.toml", "--template", "latency", "--line", "ADSL 1/8") == 2


@pytest.mark.parametrize(
    ("name", "file"), [("evening", "evening.csv"), ("backbone", "backbone.graphml")]
)
def test_files_that_a_study_names_come_with_it(here: Path, capsys: Any, name: str, file: str):
    assert status("init", "a.toml", "--template", name) == 0
    assert (here / file).read_text() == (ROOT / "studies" / file).read_text()
    assert status("init", "b.toml", "--template", name) == 0
    assert status("check", "b.toml") == 0
    (here / file).write_text("mine")
    assert status("init", "c.toml", "--template", name) == 2
    assert "is there already" in capsys.readouterr().err
    assert (here / file).read_text() == "mine"


def test_three_questions_are_asked(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    answers(monkeypatch, "backgroun", "3", "cable 5/50", "libutp, rfc6817")
    assert status("init", "a.toml") == 0
    out = capsys.readouterr().out
    assert 'There is no backgroun; did you mean "background"?' in out
    assert "flashcrowd run a.toml --report" in out
    study = Study.load("a.toml")
    assert study.network.groups["home"].access.line == "cable 5/50"  # type: ignore[union-attr]
    assert study.sweep[0] == {
        "workloads.backup.flows": [0, 1, 1],
        "workloads.backup.transport": ["libutp", "libutp", "rfc6817"],
    }


def test_nothing_is_written_where_nobody_answers(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    answers(monkeypatch, "1")
    assert status("init", "a.toml") == 2
    assert capsys.readouterr().err == "\nNothing was written.\n"
    assert list(here.iterdir()) == []


def test_without_a_terminal_a_template_has_to_be_named(here: Path, capsys: Any):
    assert status("init", "a.toml") == 2
    assert "--template" in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_no_file_is_overwritten(here: Path, capsys: Any):
    (here / "crowd.toml").write_text("mine")
    assert status("init", "--template", "crowd") == 2
    assert "is there already" in capsys.readouterr().err
    assert (here / "crowd.toml").read_text() == "mine"


def test_a_sentence_of_a_list_is_a_whole_one():
    for kind in KINDS.values():
        for name, sentence in kind.entries().items():
            assert sentence.count("(") == sentence.count(")"), (kind.name, name)
            assert not sentence.endswith(("et al.", "e.g.")), (kind.name, name)
            assert "as Linux has it" not in sentence or kind.name != "controllers"


def test_controllers_of_low_priority_are_found_by_these_words():
    found = [it.text for it in search("low priority")]
    wanted = {"lp", "nice", "ledbat", "fledbat", "ledbat-plus-plus", "libutp", "libtorrent"}
    assert wanted <= set(found)


def test_clients_of_a_first_study_are_those_of_today_first(here: Path):
    for name, template in TEMPLATES.items():
        if template.what == "clients":
            assert template.usual[0] == "libtorrent", name


@pytest.mark.parametrize("name", ["studies/patch.toml", "papers/aqm2014/breakdown.toml"])
def test_what_ships_is_found_by_its_path_in_the_repository(here: Path, name: str):
    assert at_hand(Path(name)).is_file()
    mine = here / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert at_hand(Path(name)) == Path(name)


@pytest.mark.parametrize("name", ["papers/aqm2014.toml", "papers/../studies/patch.toml", "a.toml"])
def test_nothing_else_is_looked_for_elsewhere(here: Path, name: str):
    assert at_hand(Path(name)) == Path(name)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--template", "crowed"], 'did you mean "crowd"?'),
        (["--template", "crowd", "--line", "ADSL 1/9"], 'did you mean "ADSL 1/8"?'),
        (["--template", "crowd", "--with", "libutp"], "one of libtorrent, mainline-4.0.2"),
        (["--template", "upload", "--with", "libutp", "--with", "libutp"], "each name once"),
    ],
)
def test_wrong_names_are_told(here: Path, capsys: Any, words: list[str], said: str):
    assert status("init", "a.toml", *words) == 2
    assert said in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_lists_are_those_of_the_engine_and_of_the_checks():
    found = {name: list(kind.entries()) for name, kind in KINDS.items()}
    assert found["lines"] == list(LINES)
    assert found["stacks"] == list(json.loads(_core.tcp_profiles()))
    assert found["utp"] == list(json.loads(_core.utp_profiles()))
    assert found["clients"] == list(json.loads(_core.client_profiles()))
    assert found["controllers"] == list(get_args(Stack.model_fields["controller"].annotation))
    assert found["queues"][1:] == list(DISCIPLINES)
    assert found["measures"] == list(Measures.model_fields)
    assert found["series"] == list(get_args(Sampled))
    assert set(found["templates"]) == set(TEMPLATES) - {
        "bufferbloat",
        "torrent-call",
    }  # which are studies, too
    assert found["studies"] == [path.stem for path in STUDIES]
    assert found["papers"] == sorted(path.parent.name for path in ROOT.glob("papers/*/paper.toml"))
    assert found["engines"] == list(ENGINES)
    assert {"swarm", "transfer", "ping"} <= set(found["workloads"])


@pytest.mark.parametrize("metric", METRICS, ids=lambda it: it.name)
def test_every_measure_is_explained(metric: Metric, capsys: Any):
    assert status("explain", *metric.name.split()) == 0
    said = capsys.readouterr().out
    assert f"{metric.name} (a measure)" in said
    assert metric.meaning in said
    assert metric.unit in said


def test_a_measure_is_explained_as_a_report_names_it_and_found_by_words(capsys: Any):
    assert status("explain", "p95", "ping") == 0
    said = capsys.readouterr().out
    assert "percentile 95 of each run" in said
    assert 'report.headline = ["p95 ping"]' in said
    assert status("explain", "share", "without", "the", "file", "left") == 0
    assert "left without the file  " in capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_has_a_sentence(capsys: Any, kind: str):
    assert all(KINDS[kind].entries().values())
    assert status("list", kind) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == len(KINDS[kind].entries())


def test_list_lists_all_and_names_the_nearest(capsys: Any):
    assert status("list") == 0
    out = capsys.readouterr().out
    assert all(f"{name} (" in out for name in KINDS)
    assert status("list", "stack") == 2
    assert 'did you mean "stacks"?' in capsys.readouterr().err


def test_list_shows_the_settings_behind_a_name(capsys: Any):
    assert status("list", "clients", "libtorrent") == 0
    sentence, _, settings = capsys.readouterr().out.partition("\n\n")
    assert sentence.startswith("libtorrent  ")
    assert tomllib.loads(settings) == shipped.profiles()["libtorrent"]
    assert status("list", "libtorrent") == 2
    assert "`flashcrowd list clients libtorrent`" in capsys.readouterr().err
    assert status("list", "clients", "libtorent") == 2
    assert 'did you mean "libtorrent"?' in capsys.readouterr().err


def test_reproduce_without_a_paper_names_the_papers(capsys: Any):
    assert status("reproduce") == 2
    error = capsys.readouterr().err
    assert all(name in error for name in KINDS["papers"].entries())


def test_explain_tells_all_there_is_to_know(capsys: Any):
    assert status("explain", "network.groups.people.access.up") == 0
    out = capsys.readouterr().out
    assert out.startswith("network.groups.NAME.access.up\n")
    assert status("explain", "workloads.swarm.piece") == 0
    assert capsys.readouterr().out == (
        "workloads.NAME.piece\n"
        "  meaning  Size of a piece.\n"
        '  allowed  a size of more than zero, as in "256 KiB" '
        "(units: B, kB, KiB, MB, MiB, GB, GiB, TB, TiB)\n"
        '  default  "256 KiB"\n'
        '  example  workloads.NAME.piece = "256 KiB"\n'
    )


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("network.rt", 'did you mean "network.rtt"?'),
        ("workloads.swarm.pice", 'did you mean "workloads.NAME.piece"?'),
        ("xyzzy", "no such key"),
        ("pipeline.depth", "`flashcrowd explain pipeline depth` searches for the words"),
    ],
)
def test_a_key_that_is_none_is_told_with_the_nearest(capsys: Any, key: str, said: str):
    assert status("explain", key) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("pipeline", "requests.backlog"),
        ("keep more requests in the pipeline", "requests.backlog"),
        ("request queue", "requests.max_queue"),
        ("outstanding requests", "requests.backlog"),
        ("unchoke slots", "choker.slots"),
        ("choking", "choker"),
        ("half-open", "connections.max_initiate"),
        ("half open connections", "connections.max_initiate"),
        ("in order", "picker.order"),
        ("sequential", "picker.order"),
        ("streaming", "picker.order"),
        ("endgame", "requests.end_game"),
        ("optimistic unchoking", "choker.optimistic_rounds"),
    ],
)
def test_words_of_people_lead_to_the_settings(words: str, key: str, capsys: Any):
    assert status("explain", *words.split()) == 0
    heading, _, *rows = capsys.readouterr().out.splitlines()
    assert heading == f"{words}: nothing is called so. A search found:"
    assert f"profiles.NAME.{key}" in [row.split("  ")[0] for row in rows[:4]]


def test_a_search_that_finds_much_says_how_much_more_there_is(capsys: Any):
    assert status("explain", "upload", "limit") == 0
    assert "more: another word narrows the search" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "programs", "here"),
    [
        ("max_out_request_queue", "libtorrent", "profiles.NAME.requests.backlog.max"),
        ("unchoke_slots_limit", "libtorrent", "profiles.NAME.choker.slots"),
        ("sequential_download", "libtorrent", "profiles.NAME.picker.order"),
        ("utp_target_delay", "libtorrent", "utp.NAME.ledbat.target"),
        ("request_queue_size", "qbittorrent", "profiles.NAME.requests.backlog"),
        ("peer_turnover", "libtorrent and qbittorrent", "profiles.NAME.connections.turnover_share"),
        ("bt-max-peers", "aria2", "profiles.NAME.connections.max_connections"),
        ("upload_rate_limit", "libtorrent", "a population's `upload`"),
        ("enable_dht", "libtorrent", "not modelled (DHT: "),
    ],
)
def test_the_setting_of_a_client_leads_to_the_key(name: str, programs: str, here: str, capsys: Any):
    assert status("explain", name) == 0
    heading, row, *rest = capsys.readouterr().out.splitlines()
    assert heading == f"{name} (a setting of {programs})"
    assert row.startswith(f"  here     {here}")
    assert (here in rest) == here.startswith(("profiles.", "utp."))


def test_every_key_that_is_named_beside_the_setting_of_a_client_is_one():
    for it in counterparts():
        assert not it.key or [key.text for key in find(it.key)] == [it.key] * len(find(it.key))
        assert find(it.key) if it.key else it.said, it.name


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_that_is_listed_is_explained(kind: str, capsys: Any):
    for name, sentence in KINDS[kind].entries().items():
        assert status("explain", name) == 0
        out = capsys.readouterr().out
        assert f"{name} ({kind}: {KINDS[kind].where})\n" in out
        assert sentence in out


def test_a_name_says_what_differs_from_the_default(capsys: Any):
    assert status("explain", "libtorrent") == 0
    out = capsys.readouterr().out
    assert 'not as "mainline-4.0.2" announce.' in out
    assert "  choker.slots = 8\n" in out
    assert "\n  all                     flashcrowd list clients libtorrent\n" in out
    assert "nagle = " not in out  # as in the default
    assert status("explain", "Mainline-4.0.2") == 0
    assert "default  of workloads.NAME.populations.NAME.profile" in capsys.readouterr().out
    assert status("explain", "codel") == 0
    assert 'target = "5 ms"' in capsys.readouterr().out


def test_a_key_says_what_each_shipped_table_has_there(capsys: Any):
    assert status("explain", "choker.slots") == 0
    out = capsys.readouterr().out
    assert "  shipped  8  libtorrent, " in out
    assert '"mainline-by-rate"  mainline-4.0.2' in out
    assert "unchoke_slots_limit (libtorrent), max_uploads (qbittorrent), " in out


def test_kinds_that_have_the_same_key_are_told_apart(capsys: Any):
    assert status("explain", "workloads.x.size") == 0
    out = capsys.readouterr().out
    assert 'in       a table of kind "swarm"' in out
    assert 'in       a table of kind "transfer"' in out


def test_a_kind_is_explained_once_with_all_that_there_are(capsys: Any):
    assert status("explain", "workloads.x.kind") == 0
    out = capsys.readouterr().out
    assert out.count("workloads.NAME.kind\n") == 1
    assert "default" not in out
    for kind in ("swarm", "transfer", "ping", "web", "call", "origin"):
        assert len([line for line in out.splitlines() if f'"{kind}"  ' in line]) == 1, kind
    assert status("explain", "kind") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(set(lines))
    assert all(len(line.split("  ")) > 1 for line in lines)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("network.paths.x.between", "a list of 2, each a text"),
        ("network.paths.x.through", "a list, each a text"),
        ("network.topology.places.x.coordinates", "a list of 2, each a number"),
        ("network.rtt.points", "a list, each a list of 2: a share of at"),
        ("network.topology", 'a text, as in "map.graphml"'),
    ],
)
def test_lists_and_files_say_what_may_be_in_them(key: str, said: str, capsys: Any):
    assert status("explain", key) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_key_of_a_resolved_study_is_explained(path: Path):
    document = Study.load(path).resolved()
    document.pop("sweep")
    for leaf in paths.leaves(document):
        assert find(paths.join(leaf)), leaf


def test_every_key_has_a_meaning_and_says_what_is_allowed():
    for key in every_key():
        assert key.allowed, key.text
        assert key.meaning, key.text


def test_examples_are_taken():
    """Each example of a key that a study has is a value that the study accepts there."""
    document = Study.load(ROOT / "studies" / "home-bystanders.toml").resolved()
    tried = 0
    for leaf in paths.leaves({key: document[key] for key in ("network", "workloads", "stop")}):
        for key in find(paths.join(leaf)):
            if not key.example or key.path[-1] in ("kind", "from", "to", NAME) or key.of:
                continue
            (_, _, value) = key.example.partition(" = ")
            given = tomllib.loads(f"value = {value}")["value"]
            changed = paths.replaced(document, leaf, given)
            try:
                Study._validated(changed, "study", ROOT / "studies")
            except StudyError as error:  # beside the other values of its table
                wrong = [problem.path for problem in error.problems]
                assert paths.join(leaf) not in wrong, key.example
            tried += 1
    assert tried > 10


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_check_prints_the_same_study_and_is_short(path: Path, capsys: Any):
    study = Study.load(path)
    assert Study.from_dict(brief(study)).fingerprint() == study.fingerprint()
    assert status("check", path) == 0
    out = capsys.readouterr().out
    assert Study.from_dict(tomllib.loads(out)).fingerprint() == study.fingerprint()
    assert len(out.splitlines()) < len(study.to_toml().splitlines()) / 2


def test_brief_keeps_what_differs_from_a_base():
    text = (ROOT / "studies" / "dumbbell.toml").read_text()
    document = tomllib.loads(text)
    document["stacks"] = {
        **document.get("stacks", {}),
        "slow": {"base": "linux-6", "controller": "ledbat", "ledbat": {"target": "25 ms"}},
        "plain": {"base": "ns2-ledbat", "controller": "new-reno", "ledbat": "none"},
    }
    document["network"]["groups"] |= {"far": {"access": {"line": "ADSL 1/8", "up": "2 Mbit/s"}}}
    study = Study.from_dict(document)
    said = brief(study)
    assert said["stacks"]["slow"] == document["stacks"]["slow"]
    assert said["stacks"]["plain"] == document["stacks"]["plain"]
    assert said["network"]["groups"]["far"] == document["network"]["groups"]["far"]
    assert Study.from_dict(said).resolved() == study.resolved()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script(capsys: Any, shell: str):
    assert status("completion", shell) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("flashcrowd", "explain", "strict", "reproduce"))
    if shutil.which(shell):
        checked = subprocess.run(
            [shell, "-n"], input=script, capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (0, "")


def test_each_name_of_a_template_or_a_study_is_listed_once():
    assert len(set(names())) == len(names())
    assert set(shipped.profiles()) >= set(TEMPLATES["crowd"].usual)


@pytest.mark.parametrize("line", ["modem 56k", "ADSL 1/8", "LAN 1000"])
def test_pings_of_the_background_template_count_while_the_backup_is_alone(here: Path, line: str):
    assert status("init", "s.toml", "--template", "background", "--line", line) == 0
    scenario: Any = Study.load("s.toml").scenario
    windows, upload = scenario.measures.windows, scenario.workloads["upload"]
    backup = scenario.workloads["backup"]
    assert backup.start.seconds + backup.spread.seconds < windows["pings"].begin.seconds
    assert windows["pings"].to.seconds <= upload.start.seconds
    assert upload.start.seconds < windows["transfers"].begin.seconds
    assert windows["transfers"].to.seconds <= scenario.stop.horizon.seconds


@pytest.mark.parametrize("command", ["check", "plan", "draw"])
def test_a_study_of_the_pages_needs_no_checkout(
    here: Path, capsys: pytest.CaptureFixture[str], command: str
):
    said = (
        "studies/backbone.toml is not here: taking the study of that name that comes with "
        "flashcrowd\n"
    )
    # It names a file, which is in its own folder.
    assert status(command, "studies/backbone.toml") == 0
    taken = capsys.readouterr()
    assert taken.err.startswith(said)
    assert status(command, ROOT / "studies" / "backbone.toml") == 0
    whole, own = (
        [line for line in text.splitlines() if not line.startswith("#")]  # times of this machine
        for text in (capsys.readouterr().out, taken.out)
    )
    assert own == whole


def test_a_file_that_is_here_goes_before_the_study_of_its_name(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    (here / "studies").mkdir()
    assert status("init", "studies/backbone.toml", "--template", "free-riders") == 0
    capsys.readouterr()
    assert status("check", "studies/backbone.toml") == 0
    assert "taking" not in (said := capsys.readouterr()).err
    assert tomllib.loads(said.out)["title"] == Study.load("studies/backbone.toml").title
    for name in ("backbone.toml", "mine/backbone.toml", "studies/none.toml", "studies/backbone"):
        assert status("check", name) == 2
        assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["after exactly", "after-exactly"])
def test_a_kind_of_table_is_explained_where_it_may_stand(words: str, capsys: Any):
    assert status("explain", *words.split()) == 0
    out = capsys.readouterr().out
    assert out.startswith("after-exactly (a kind of workloads.NAME.populations.NAME.departure)\n")
    assert "  keys     stay: That time." in out


def test_a_measure_is_explained_in_any_case(capsys: Any):
    assert status("explain", "UTILISATION") == 0
    assert capsys.readouterr().out.startswith("utilisation (a measure)\n")
