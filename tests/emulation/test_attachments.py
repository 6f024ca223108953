"""Hosts without TUN: attached by veth and a raw socket, as root and as an ordinary user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flashcrowd.emulation.launch import LabHandle, in_lab
from flashcrowd.emulation.self_test import failures
from flashcrowd.engines.emulation import SELF_TESTS
from flashcrowd.store import open as open_results
from flashcrowd.study import Study

pytestmark = pytest.mark.clocked


def test_the_network_is_the_same_by_veth(study: Path) -> None:
    (run,) = Study.load(study).runs()
    plan = run.point.plan().to_json()

    # What is found on a machine that was late says nothing.
    tries = (
        in_lab(plan, run.seed, LabHandle(), probe=True, attachment="veth")
        for _ in range(SELF_TESTS)
    )
    found = next((it for it in tries if not (it["late"] and failures(it["probes"]))), None)
    if found is None:
        pytest.skip(f"this machine was late {SELF_TESTS} times")
    assert found["probes"]
    assert failures(found["probes"]) == []
    tables = in_lab(plan, run.seed, LabHandle(), attachment="veth")
    (transfer,) = tables["transfers"]
    assert transfer["bytes"] == 4_000_000
    # 10 Mbit/s with headers, slow start and what it loses in a queue of 50 packets.
    assert 8e6 < transfer["goodput_bps"] < 9.7e6
    assert 0.05 <= transfer["min_rtt_s"] < 0.06
    link = {row["link"]: row for row in tables["links"]}["bottleneck"]
    assert link["max_queue_packets"] == 50, "packets of the MTU, no super-segments"
    assert sum(row["unmodelled_drops"] for row in tables["emulation"]) == 0
    assert any(row["rtt_s"] for row in tables["pings"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide /dev/net/tun")
@pytest.mark.skipif(
    not (shutil.which("setpriv") and shutil.which("unshare")),
    reason="unshare and setpriv are not there",
)
def test_an_ordinary_user_without_tun_runs_by_veth(study: Path, tmp_path: Path) -> None:
    study.write_text(study.read_text().replace("4 MB", "1 MB"))
    out = tmp_path / "user"
    out.mkdir()
    os.chown(out, 65534, 65534)
    reading = "-all,+dac_read_search"
    rights = f"--inh-caps={reading} --ambient-caps=+dac_read_search --bounding-set={reading}"
    become = f"setpriv --reuid=65534 --regid=65534 --clear-groups {rights}"
    script = f"mount --bind /dev/null /dev/net/tun && exec {become} {sys.executable} -m flashcrowd "

    def flashcrowd(words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script + words],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={**os.environ, "HOME": str(out), "PYTHONDONTWRITEBYTECODE": "1"},
        )

    said = flashcrowd(f"doctor {study}")
    assert said.returncode == 0, said.stderr
    (line,) = [line for line in said.stdout.splitlines() if "TUN device" in line]
    assert line.startswith("limited")
    assert "veth" in line
    done = flashcrowd(f"run {study} --engine emulation --out {out / 'e'} --quiet")
    assert done.returncode == 0, done.stderr
    (row,) = open_results(out / "e").tables["transfers"].to_pylist()
    assert row["bytes"] == 1_000_000
