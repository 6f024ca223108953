"""A study on nodes, which here are folders of this machine."""

import json
import socket
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.runner import small
from tests.runner.bytes import tables
from tests.testbed.here import Here, options

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.study import Study
from flashcrowd.study.runner import run
from flashcrowd.testbed import deploy
from flashcrowd.testbed.deploy import Deployment, Stopped


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Eight runs of about 20 ms."""
    path = tmp_path / "small.toml"
    path.write_text(small.swarm("leechers", hosts=8, size="2 MB", repeats=4))
    return Study.load(path)


def deployment(study: Study, tmp_path: Path, **more) -> Deployment:
    return Deployment(study, "simulation", tmp_path / "r", poll_s=0.2, **more)


def test_the_tables_are_those_of_one_machine(study: Study, tmp_path: Path) -> None:
    (tmp_path / "wheel").write_text("a file")
    there = options(tmp_path, files=(tmp_path / "wheel",), prepare=("cp wheel here",))
    deployed = deployment(study, tmp_path)
    results = deployed.execute(Here(2), there)
    run(study, tmp_path / "calm", progress=False)
    assert tables(tmp_path / "r") == tables(tmp_path / "calm")
    assert results.manifest.name == "small"
    shards = [session["shard"] for session in results.provenance["sessions"]]
    assert shards == ["1/2", "2/2"]
    assert not deployed.parts.exists()
    assert not list(tmp_path.glob("flashcrowd-*")), "a folder of work is left"
    again = deployed.before()
    assert again is not None
    assert again.path == results.path


@pytest.mark.slow
def test_what_was_finished_goes_on_on_fewer_nodes(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(small.swarm("leechers", hosts=20, size="6 MB", repeats=4))
    study = Study.load(path, repeats=24)

    pressed: list[str] = []

    def stop(command: str) -> None:
        runs = list(tmp_path.glob("flashcrowd-*/n0/parts/*/runs/[!.]*"))
        if "state.json" in command and runs and not pressed:
            pressed.append(command)
            raise KeyboardInterrupt

    deployed = deployment(study, tmp_path)
    with pytest.raises(Stopped, match=r"^[0-9]+ of 48 runs are finished and kept in ") as caught:
        deployed.execute(Here(2, stop), options(tmp_path))
    assert 0 < int(str(caught.value).split()[0]) < 48
    assert not list(tmp_path.glob("flashcrowd-*"))
    results = deployed.execute(Here(1), options(tmp_path))
    sessions = results.provenance["sessions"]
    assert [session["shard"] for session in sessions] == ["1/2", "1/2", "2/2", "2/2"]
    assert sum(session["runs"] for session in sessions) == 48
    run(study, tmp_path / "calm", progress=False)
    assert tables(tmp_path / "r") == tables(tmp_path / "calm")


def saying(folder: Path, said: dict, status: int = 0, work: str = "") -> str:
    """A program in the place of Python: what it says of its node, and does for work."""
    path = folder / "python"
    path.write_text(
        "#!/bin/sh\n"
        f"case $3 in look) echo '{json.dumps(said)}'; exit {status};; work) {work}:;; esac\n"
    )
    path.chmod(0o755)
    return str(path)


GOOD = {"version": version("flashcrowd"), "engine": "e"}


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({**GOOD, "version": "0.0.1"}, "node n0 has flashcrowd 0.0.1, this machine has "),
        ({**GOOD, "problem": "cannot be emulated"}, "node n0: cannot be emulated"),
    ],
    ids=["version", "problem"],
)
def test_a_node_that_cannot_is_refused(
    study: Study, tmp_path: Path, said: dict, named: str
) -> None:
    with pytest.raises(ClusterError) as caught:
        deployment(study, tmp_path).execute(
            Here(2), options(tmp_path, python=saying(tmp_path, said))
        )
    assert str(caught.value).startswith(named)
    assert not list(tmp_path.glob("flashcrowd-*"))
    assert not (tmp_path / "r-parts").exists()


def test_nodes_that_differ_are_refused(study: Study, tmp_path: Path) -> None:
    program = saying(tmp_path, GOOD)
    text = (tmp_path / "python").read_text().replace('"e"', "\"'$(basename $PWD)'\"")
    (tmp_path / "python").write_text(text)
    with pytest.raises(ClusterError, match=r"nodes n0 and n1 are not the same \(n0 and n1\)"):
        deployment(study, tmp_path).execute(Here(2), options(tmp_path, python=program))


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"python": "no-such-python"}, "node n0: there is no Python that works at no-such-python "),
        ({"prepare": ("false",)}, "node n0: false: exit status 1"),
        ({"prepare": ("echo no room >&2; exit 3",)}, "exit 3: no room"),
    ],
    ids=["python", "prepare", "words"],
)
def test_a_node_without_what_is_needed(
    study: Study, tmp_path: Path, more: dict, named: str
) -> None:
    with pytest.raises(ClusterError) as caught:
        deployment(study, tmp_path).execute(Here(1), options(tmp_path, **more))
    assert named in str(caught.value)
    assert not list(tmp_path.glob("flashcrowd-*"))


def test_a_folder_that_cannot_be_made(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ClusterError, match=r"^node n0: .*/file: mkdir: .*Not a directory"):
        deployment(study, tmp_path).execute(Here(1), options(tmp_path / "file"))


def test_a_node_that_fails_is_named(study: Study, tmp_path: Path) -> None:
    state = json.dumps({"ended": True, "finished": 1, "failure": "point 1: no memory"})
    pack = "import zipfile; zipfile.ZipFile('answer.zip', 'w').close()"
    work = f"python3 -c \"{pack}\"; echo '{state}' > state.json; "
    program = saying(tmp_path, GOOD, work=work)
    with pytest.raises(ClusterError, match="node n0: point 1: no memory; what was finished is "):
        deployment(study, tmp_path).execute(Here(1), options(tmp_path, python=program))
    assert not list(tmp_path.glob("flashcrowd-*"))


def test_a_node_that_is_lost_is_named(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deploy, "LOST_S", 0.5)
    monkeypatch.setattr(deploy, "STOP_S", 0.5)
    told: list[str] = []
    nodes = Here(2)

    def lose(command: str) -> None:
        if "state.json" in command:
            nodes.lost = {"n1"}

    nodes.heard = lose
    program = options(tmp_path, python=saying(tmp_path, GOOD))
    with pytest.raises(ClusterError, match="node n1 cannot be reached any more; "):
        deployment(study, tmp_path, tell=told.append).execute(nodes, program)
    assert any(line.startswith("node n0 does not answer: ") for line in told)


def test_nodes_that_play_together_wait_for_each_other(study: Study, tmp_path: Path) -> None:
    """Of five nodes two pairs work: one of each has the shards, the other waits for runs."""
    state = json.dumps({"ended": True, "failure": "seen"})
    unpack = "python3 -m zipfile -e order.zip .; "
    keep = (
        f"{unpack}mkdir -p {tmp_path}/seen; cp order.json {tmp_path}/seen/$(basename $PWD).json; "
    )
    pack = "import zipfile; zipfile.ZipFile('answer.zip', 'w').close()"
    work = f"{keep} python3 -c \"{pack}\"; echo '{state}' > state.json; "
    program = saying(tmp_path, GOOD, work=work)
    deployed = Deployment(study, "emulation", tmp_path / "r", poll_s=0.2)
    with pytest.raises(ClusterError, match="seen"):
        deployed.execute(Here(5), options(tmp_path, python=program, across=2))
    seen = {it.stem: json.loads(it.read_text()) for it in (tmp_path / "seen").iterdir()}
    assert sorted(seen) == ["n0", "n1", "n2", "n3"]
    assert [seen[name]["shards"] for name in sorted(seen)] == [["1/2"], [], ["2/2"], []]
    assert seen["n0"]["members"] == [f"127.0.0.1:{seen['n1']['port']}"]
    assert seen["n2"]["members"] == [f"127.0.0.1:{seen['n3']['port']}"]
    assert len({order["secret"] for order in seen.values()}) == 1
    assert len(seen["n0"]["secret"]) == 32


@pytest.mark.parametrize(
    ("engine", "count", "named"),
    [
        ("simulation", 2, "across: a simulation is never divided; run it with across = 1"),
        ("emulation", 1, "across: 2 nodes play a run, and there are 1"),
    ],
)
def test_what_cannot_be_played_across_nodes(
    study: Study, tmp_path: Path, engine: str, count: int, named: str
) -> None:
    with pytest.raises(ClusterError, match=named):
        Deployment(study, engine, tmp_path / "r").execute(Here(count), options(tmp_path, across=2))


def test_a_folder_of_other_results_is_refused(study: Study, tmp_path: Path) -> None:
    run(study, tmp_path / "r", progress=False)
    more = Study.load(tmp_path / "small.toml", repeats=5)
    with pytest.raises(ClusterError, match="give another folder with --out"):
        deployment(more, tmp_path).before()
    until = Study.load(tmp_path / "small.toml", repeats="until 2 %")
    with pytest.raises(ClusterError, match="repeats are a number then"):
        deployment(until, tmp_path).before()


def test_a_node_that_nobody_asks_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: Study
) -> None:
    from flashcrowd.testbed import agent

    folder = tmp_path / "flashcrowd-1" / "n0"
    (folder / agent.PARTS).mkdir(parents=True)
    monkeypatch.chdir(folder)
    order = {"study": "small.toml", "engine": "simulation", "shards": ["1/2", "2/2"]}
    (folder / agent.ORDER).write_text(json.dumps(order))
    (folder / "small.toml").write_text(study.to_toml())
    (folder / agent.LEASE).touch()
    monkeypatch.setattr(agent, "LEASE_S", 0.0)
    agent.work()
    assert not folder.parent.exists()


def test_a_node_that_does_not_wait_for_runs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: Study
) -> None:
    from flashcrowd.testbed import agent

    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    order = {"study": "small.toml", "engine": "emulation", "shards": ["1/1"]}
    (tmp_path / agent.ORDER).write_text(json.dumps({**order, "members": [f"127.0.0.1:{port}"]}))
    (tmp_path / "small.toml").write_text(study.to_toml())
    (tmp_path / agent.PARTS).mkdir()
    (tmp_path / agent.LEASE).touch()
    monkeypatch.setattr(agent, "REACH_S", 0.0)
    agent.work()
    state = json.loads((tmp_path / agent.STATE).read_text())
    assert (state["ended"], state["finished"]) == (True, 0)
    assert state["failure"] == (
        f"127.0.0.1:{port} does not answer ([Errno 111] Connection refused): see that nodes reach "
        f"each other at TCP port {port}, `port` under [node]"
    )
    assert not list((tmp_path / agent.PARTS).iterdir())
