"""`flashcrowd doctor`: what there is, what a study lacks, and the exit status."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flashcrowd import _core
from flashcrowd.base.messages import Failed
from flashcrowd.cli import _status
from flashcrowd.clients import PROGRAMS
from flashcrowd.emulation import capabilities
from flashcrowd.emulation.capabilities import Capability
from flashcrowd.emulation.trial import Tried


def test_it_says_that_a_study_can_be_emulated(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _status(["doctor", str(study)]) == 0
    said = capsys.readouterr().out
    assert "can be emulated here." in said
    for name in (
        "kernel",
        "namespaces",
        "TUN device",
        "real-time priority",
        "idle polling",
        "queue disciplines",
        "cores",
    ):
        assert f" {name}: " in said


def test_what_is_too_large_for_the_machine_is_said(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashcrowd.cli.doctor.capacity", lambda: 10)
    assert _status(["doctor", str(study)]) == 0
    said = capsys.readouterr().out
    assert "limited: a run sends about " in said
    assert "this machine is taken to carry 10: runs may be invalid" in said
    monkeypatch.setattr("flashcrowd.cli.doctor.available_memory", lambda: 1_000_000)
    assert _status(["doctor", str(study)]) == 2
    said = capsys.readouterr().out
    assert "at most 1 MB, which this machine has available; fewer hosts" in said


def test_every_program_of_others_is_there_or_how_to_get_it_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _status(["doctor"]) == 0
    _, clients = capsys.readouterr().out.split("Clients of swarms:\n")
    swarms, rest = clients.split("Flows of uTP:\n")
    flows, trackers = rest.split("Trackers:\n")
    assert "opentracker" in trackers
    for names, lines in ((PROGRAMS, swarms), (("libtorrent", "libutp"), flows)):
        said = {line.split()[0].rstrip(":"): line for line in lines.splitlines()}
        assert said.keys() == {*names}
        assert all("not here; " in line or any(map(str.isdigit, line)) for line in said.values())


def test_what_a_study_lacks_is_named_with_the_remedy(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = Capability(
        "congestion control bbr", "missing", "kernel TCP", "as root: modprobe tcp_bbr"
    )
    others = [it for it in capabilities.capabilities() if it.name != gone.name]
    monkeypatch.setattr(capabilities, "capabilities", lambda: [*others, gone])
    assert _status(["doctor", str(study)]) == 0, "nobody asks for it"
    capsys.readouterr()
    text = study.read_text().replace('stack = "linux-6"', 'stack = "other"')
    study.write_text(f'{text}\n[stacks.other]\nbase = "linux-6"\ncontroller = "bbr"\n')
    assert _status(["doctor", str(study)]) == 2
    assert "modprobe tcp_bbr" in capsys.readouterr().out


def test_a_controller_that_few_ask_for_is_missing_only_where_one_does(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = capabilities._tried()
    assert isinstance(tried, Tried)
    tried = replace(tried, controllers={**tried.controllers, "lp": False})
    monkeypatch.setattr(capabilities, "_tried", lambda: tried)
    assert _status(["doctor", str(study)]) == 0
    assert "limited congestion control lp" in capsys.readouterr().out
    text = study.read_text().replace('stack = "linux-6"', 'stack = "other"')
    study.write_text(f'{text}\n[stacks.other]\nbase = "linux-6"\ncontroller = "lp"\n')
    assert _status(["doctor", str(study)]) == 2
    assert "modprobe tcp_lp" in capsys.readouterr().out.partition("cannot be emulated")[2]


@pytest.mark.parametrize(
    ("found", "name", "said", "remedy"),
    [
        (
            Failed("it took more than 20 s"),
            "namespaces",
            "a trial failed: it took more than 20 s",
            "python -m flashcrowd.emulation.trial",
        ),
        ({"network": "Read-only file system"}, "network of one host", "Read-only", "--privileged"),
        ({"namespaces": "Operation not permitted"}, "namespaces", "not permitted", "sysctl -w"),
    ],
)
def test_whatever_is_missing_has_a_remedy(
    found: Failed | dict[str, str],
    name: str,
    said: str,
    remedy: str,
    study: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = capabilities._tried()
    assert isinstance(tried, Tried)
    tried = found if isinstance(found, Failed) else replace(tried, **found)
    monkeypatch.setattr(capabilities, "_tried", lambda: tried)
    (missing,) = [it for it in capabilities.capabilities() if it.state == "missing"]
    assert missing.name == name
    assert said in missing.said
    assert remedy in missing.remedy
    assert _status(["doctor", str(study)]) == 2
    assert missing.remedy in capsys.readouterr().out


def test_processors_of_which_a_part_may_be_used_are_not_kept_awake(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "polls_idle", lambda: False)
    assert _status(["doctor", str(study)]) == 0, "a run's own measure says whether that is enough"
    said = capsys.readouterr().out
    assert "idle polling: the processors' time is limited here (cpu.max)" in said
    assert "--cpuset-cpus" in said


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit(3)", "it ended with status 3"),
        ("raise OSError('no such thing')", "OSError: no such thing"),
        ("import time; time.sleep(9)", "it took more than 0.2 s"),
    ],
)
def test_a_trial_that_fails_says_why(
    code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}"\n')
    python.chmod(0o755)
    monkeypatch.setattr(capabilities.sys, "executable", str(python))
    if "sleep" in code:
        monkeypatch.setattr(capabilities, "_TRIAL_S", 0.2)
    assert capabilities._tried.__wrapped__() == Failed(said)


@pytest.mark.usefixtures("closed_tun")
def test_hosts_with_different_mtus_need_tun(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _status(["doctor", str(study)]) == 0, "veth serves hosts with one MTU"
    capsys.readouterr()
    text = study.read_text()
    text = text.replace("[network.groups.right]\n", '[network.groups.right]\nstack = "short"\n')
    study.write_text(f'{text}\n[stacks.short]\nbase = "linux-6"\nmtu = "1400 B"\n')
    assert _status(["doctor", str(study)]) == 2
    assert "different MTUs need TUN; as root: chmod 0666" in capsys.readouterr().out
