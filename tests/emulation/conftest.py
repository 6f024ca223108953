"""Studies to emulate, and what this machine lacks for them, if anything."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.clients.testbed import needs

from flashcrowd.emulation import capabilities as machine
from flashcrowd.emulation.capabilities import Capability, capabilities
from flashcrowd.emulation.self_test import failures
from flashcrowd.engines.emulation import Emulator

STUDY = """
format = 1
title = "A transfer and a ping through one bottleneck"
seed = 1
repeats = 1

[network]
rtt = "0 ms"
stack = "linux-6"

[network.groups.left]
hosts = 1

[network.groups.right]
hosts = 1

[network.links.bottleneck]
rate = "10 Mbit/s"
queue = "50 packets"

[network.paths.across]
between = ["left", "right"]
through = ["bottleneck"]
rtt = "50 ms"

[workloads.bulk]
kind = "transfer"
from = "left"
to = "right"
size = "4 MB"

[workloads.bystander]
kind = "ping"
from = "left"
to = "right"
interval = "50 ms"

[measures.series]
queue-delay = "100 ms"
goodput = "500 ms"
window = "100 ms"
rtt = "100 ms"

[stop]
horizon = "20 s"
"""

SWARM = """
format = 1
title = "Five peers that share a file"
seed = 1
repeats = 1

[network]
rtt = "40 ms"
stack = "linux-6"

[network.groups.homes]
hosts = 6
access = { up = "20 Mbit/s", down = "50 Mbit/s" }

[workloads.swarm]
kind = "swarm"
size = "1 MB"
piece = "64 KiB"
tracker = "homes-6"

[workloads.swarm.populations.seed]
role = "seed"
hosts = 1
group = "homes"
profile = "libtorrent"
transport = "inherit" # kernels know the round-trip times of TCP alone
upload = "1500 kB/s"

[workloads.swarm.populations.crowd]
hosts = 4
group = "homes"
profile = "libtorrent"
transport = "inherit"
upload = "1 MB/s"
arrivals = { spread = "0.5 s" }

[measures]
pieces = "500 ms"
have = true
rtts = true

[measures.series]
online = "500 ms"
swarm-rate = "500 ms"

[stop]
horizon = "60 s"
"""
"""Hosts and tracker have one kind of line, so that the self-test has one kind of path to probe."""


@pytest.fixture(autouse=True, scope="package")
def _possible() -> None:
    lacking = [str(found) for found in capabilities() if found.state == "missing"]
    if lacking:
        pytest.skip(f"this machine cannot emulate: {lacking[0]}")


class Measured(dict[str, Any]):
    """The networks of an engine; those that an engine before has found to be the plan's, too."""

    known: dict[str, Any] = {}  # noqa: RUF012

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The measurement of a network, which counts as one of now."""
        before = self.known.get(key)
        if before is None or before.found is None or failures(before.found[0]):
            before = self.known[key] = default
        else:
            before.at = time.monotonic()
        return super().setdefault(key, before)


@pytest.fixture
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures a network once in all tests of this process, as a campaign does in all its runs."""
    init = Emulator.__init__

    def knowing(emulator: Emulator) -> None:
        init(emulator)
        emulator._tested = Measured()

    monkeypatch.setattr(Emulator, "__init__", knowing)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A transfer of 4 MB and a ping."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def swarm(tmp_path: Path) -> Path:
    """A seed and four leechers, all libtorrent; 1 MB."""
    needs("libtorrent")
    path = tmp_path / "swarm.toml"
    path.write_text(SWARM)
    return path


@pytest.fixture
def closed_tun(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does not let this user have TUN devices."""
    closed = Capability("TUN device", "limited", "Permission denied", "as root: chmod 0666")
    found = [*(it for it in capabilities() if it.name != closed.name), closed]
    monkeypatch.setattr(machine, "capabilities", lambda: found)
