"""Emulated studies on nodes that EnOSlib reaches: this machine, twice, over SSH and without."""

import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.clients.testbed import needs
from tests.emulation.conftest import STUDY, SWARM
from tests.emulation.test_across import PING
from tests.runner import small
from tests.runner.test_command import command, done
from tests.testbed import sshd

from flashcrowd.emulation.capabilities import capabilities
from flashcrowd.store import open as open_results
from flashcrowd.testbed.options import VARIABLE

PYTHON = Path(__file__).parents[2] / "python"

NODES = """
provider = "static"
role = "peers"
[node]
python = "env PYTHONPATH={python} {executable}"
folder = "{folder}"
[configuration.resources]
networks = []
"""

MACHINE = """
[[configuration.resources.machines]]
alias = "{alias}"
address = "{address}"
roles = ["peers"]
"""

LOCAL = """
extra = {{ansible_connection = "local", ansible_python_interpreter = "{executable}"}}
"""

REMOTE = """
user = "root"
port = {port}
keyfile = "{key}"
extra = {{ansible_python_interpreter = "{executable}"}}
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get(VARIABLE),
        reason=f"no environment with EnOSlib is named by {VARIABLE}: it cannot share this one",
    ),
]


def nodes(folder: Path, connection: str, first: str = "", **more: object) -> Path:
    """The file of a testbed of two nodes, which work in this folder; `first` stands on top."""
    values = {"executable": sys.executable, "python": PYTHON, "folder": folder, **more}
    text = first + NODES.format(**values)
    for alias, address in (("one", "127.0.0.1"), ("two", "127.0.0.2")):
        text += MACHINE.format(alias=alias, address=address) + connection.format(**values)
    file = folder / "nodes.toml"
    file.write_text(text)
    return file


@pytest.fixture
def emulates() -> None:
    """This machine can."""
    lacking = [str(found) for found in capabilities() if found.state == "missing"]
    if lacking:
        pytest.skip(f"this machine cannot emulate: {lacking[0]}")


over_ssh = pytest.mark.skipif(bool(sshd.absent()), reason=sshd.absent() or "-")


@over_ssh
@pytest.mark.usefixtures("emulates")
def test_an_emulated_study_over_ssh(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    with sshd.sshd(tmp_path) as server:
        file = nodes(tmp_path, REMOTE, port=server.port, key=server.key)
        words = ("--engine", "emulation", "--repeats", 4, "--on", f"enoslib:{file}")
        status, out, err = done("run", study, *words, "--out", tmp_path / "r")
    assert status == 0, err
    assert "4 of 4 runs done" in err
    assert f"Results: {tmp_path / 'r'}" in out
    results = open_results(tmp_path / "r")
    assert [session["shard"] for session in results.provenance["sessions"]] == ["1/2", "2/2"]
    outcomes = results.tables["runs"]["outcome"].to_pylist()
    assert len(outcomes) == 4
    assert "failed" not in outcomes
    assert set(results.tables["transfers"]["bytes"].to_pylist()) == {4_000_000}
    assert not list(tmp_path.glob("flashcrowd-*")), "a folder of work is left"


@over_ssh
@pytest.mark.usefixtures("emulates")
def test_two_nodes_play_a_swarm_together_over_ssh(tmp_path: Path) -> None:
    needs("libtorrent")
    study = tmp_path / "study.toml"
    study.write_text(SWARM + PING)
    with sshd.sshd(tmp_path) as server:
        file = nodes(tmp_path, REMOTE, "across = 2\n", port=server.port, key=server.key)
        words = ("--engine", "emulation", "--repeats", 2, "--on", f"enoslib:{file}")
        status, out, err = done("run", study, *words, "--out", tmp_path / "r")
    assert status == 0, err
    assert "2 of 2 runs done" in err
    assert f"Results: {tmp_path / 'r'}" in out
    results = open_results(tmp_path / "r")
    runs = results.tables["runs"].to_pylist()
    assert len(runs) == 2
    # On a machine with other work packets come late, and the run says so.
    assert {row["outcome"] for row in runs} <= {"completed", "invalid"}, runs
    (session,) = results.provenance["sessions"]
    assert session["shard"] == "1/1"
    downloads = results.tables["downloads"].to_pylist()
    assert len(downloads) == 8
    assert None not in [row["completed_s"] for row in downloads]
    # Hosts are dealt to nodes one by one, so that the ping goes to the other node and back.
    answered = [row["rtt_s"] for row in results.tables["pings"].to_pylist() if row["rtt_s"]]
    assert min(answered) >= 0.04
    assert not list(tmp_path.glob("flashcrowd-*")), "a folder of work is left"
    assert not working(tmp_path)


def working(folder: Path) -> list[psutil.Process]:
    """What runs in a folder of work below this one."""
    found = []
    for process in psutil.process_iter(["cwd"]):
        if str(process.info["cwd"] or "").startswith(f"{folder}/flashcrowd-"):
            found.append(process)
    return found


def test_a_key_press_leaves_nothing_on_nodes(tmp_path: Path) -> None:
    study = tmp_path / "long.toml"
    study.write_text(small.swarm("leechers", hosts=20, size="6 MB", repeats=4))
    file = nodes(tmp_path, LOCAL)
    words = ("--repeats", 400, "--on", f"enoslib:{file}", "--out", tmp_path / "r")
    process = command("run", study, *words)
    end = time.monotonic() + 100
    while not list(tmp_path.glob("flashcrowd-*/*/parts/*/runs/[!.]*")):
        assert time.monotonic() < end, "no run ended"
        time.sleep(0.1)
    assert working(tmp_path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert (process.returncode, out) == (128 + signal.SIGINT, "")
    assert "of 800 runs are finished and kept in " in err
    assert f"Go on with: flashcrowd run {study}" in err
    assert "Traceback" not in err
    assert not working(tmp_path)
    assert not list(tmp_path.glob("flashcrowd-*"))


def test_a_node_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    study = tmp_path / "small.toml"
    study.write_text(small.swarm("leechers", hosts=8, size="2 MB", repeats=4))
    file = nodes(tmp_path, REMOTE, port=9, key="/no/key")
    status, out, err = done("run", study, "--on", f"enoslib:{file}", "--out", tmp_path / "r")
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        "node one cannot be reached: see that `ssh` from here to there works without a question"
    ]
    assert not (tmp_path / "r").exists()
