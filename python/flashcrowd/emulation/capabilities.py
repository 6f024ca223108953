"""The capabilities of this machine for the emulation, one line each with its remedy."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.cores import cores
from flashcrowd.base.messages import BadMessage, Failed, decoded
from flashcrowd.clients import refusals
from flashcrowd.emulation import budget, players, promptness, stack
from flashcrowd.emulation.requirements import algorithms
from flashcrowd.emulation.scratch import room
from flashcrowd.emulation.stack import CONTROLLERS, SELDOM
from flashcrowd.emulation.trial import Tried
from flashcrowd.plan.parts import numbered, workloads
from flashcrowd.plan.types import OriginWorkload, SwarmWorkload

LEAST_KERNEL = (6, 7)
"""TCP_INFO reports retransmission timeouts from this Linux on."""
_TRIAL_S = 20
_DESCRIPTORS_A_HOST = 4
_DESCRIPTORS_A_DOWNLOAD = 3
"""Both ends of a connection, and the file."""
_MORE_DESCRIPTORS = (
    "raise the hard limit: ulimit -Hn 100000, or nofile in /etc/security/limits.conf"
)

State = Literal["works", "missing", "limited"]


@dataclass(frozen=True)
class Capability:
    """One thing that this machine offers, or does not.

    Attributes:
        name: what it is.
        state: whether it works; `limited` if runs are possible without, but less exact or large.
        said: what was found, in a few words.
        remedy: what to do, as a command or setting where there is one; empty if it works.
    """

    name: str
    state: State
    said: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.state:<8}{self.name}: {self.said}"
        return f"{line}\n        {self.remedy}" if self.remedy else line


@cache
def _tried() -> Tried | Failed:
    names = sorted(set(CONTROLLERS.values()))
    command = [sys.executable, "-m", "flashcrowd.emulation.trial", *names]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TRIAL_S, check=True)
        return decoded(done.stdout, Tried)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        return Failed(said[-1] if said else f"it ended with status {error.returncode}")
    except subprocess.TimeoutExpired:
        return Failed(f"it took more than {_TRIAL_S} s")
    except (OSError, subprocess.SubprocessError, ValueError, BadMessage) as error:
        return Failed(str(error))


def capabilities() -> Iterator[Capability]:
    """All that a lab may need, most important first."""
    if not hasattr(_core, "Lab"):
        yield Capability("system", "missing", platform.system(), "network namespaces need Linux")
        return
    yield _kernel()
    tried = _tried()
    if isinstance(tried, Failed):
        yield Capability(
            "namespaces",
            "missing",
            f"a trial failed: {tried.why}",
            "ask again when this machine is less busy, or see what it says: "
            "python -m flashcrowd.emulation.trial",
        )
        return
    yield _namespaces(tried)
    yield _tun(tried)
    if tried.network is not None:
        yield Capability(
            "network of one host",
            "missing",
            tried.network,
            "as root: modprobe -a tun veth; in a container, one that may write settings below "
            "/proc/sys/net: docker run --privileged",
        )
    yield _real_time(tried)
    yield _idle_polling()
    for name, there in tried.controllers.items():
        remedy = "" if there else f"as root: modprobe tcp_{name}"
        state: State = "works" if there else "limited" if name in SELDOM else "missing"
        yield Capability(f"congestion control {name}", state, "kernel TCP", remedy)
    hosts = tried.descriptors // _DESCRIPTORS_A_HOST
    few = hosts < 1000
    yield Capability(
        "file descriptors",
        "limited" if few else "works",
        f"{tried.descriptors} for a process, enough for about {hosts} hosts, or for "
        f"{hosts * _DESCRIPTORS_A_HOST // (_DESCRIPTORS_A_HOST + _DESCRIPTORS_A_DOWNLOAD)} that "
        "download from a content server",
        _MORE_DESCRIPTORS if few else "",
    )
    yield _queues()
    rate = budget.capacity()
    yield Capability(
        "cores",
        "limited" if cores() < 2 else "works",
        f"{cores()}; about {rate:,} packets/s in all, {rate * 12e-3:,.0f} Mbit/s if they are full, "
        f"or a swarm of {round(budget.peers(), -1)} peers at 100 kB/s",
        "one for the emulator and one for the programs keep runs valid" if cores() < 2 else "",
    )


def missing(plan: Plan) -> Iterator[str]:
    """The capabilities that a plan needs and this machine lacks, with the remedy."""
    needed = {f"congestion control {name}" for name in algorithms(plan)}
    for found in capabilities():
        optional = found.name.startswith("congestion control ") and found.name not in needed
        lacks = found.state == "missing" or (found.name in needed and found.state != "works")
        if lacks and not optional:
            yield f"{found.name}: {found.said}" + (f"; {found.remedy}" if found.remedy else "")
        if found.name == "file descriptors":
            hosts, downloads = len(plan.network["hosts"]), _downloads(plan)
            taken = _DESCRIPTORS_A_HOST * hosts + _DESCRIPTORS_A_DOWNLOAD * downloads
            tried = _tried()
            if isinstance(tried, Tried) and taken > tried.descriptors:
                what = f"{hosts} hosts" + (f" and {downloads} downloads" if downloads else "")
                yield f"network: {what}; {found.said}; {_MORE_DESCRIPTORS}"
        if found.name == "TUN device" and found.state != "works" and len(_mtus(plan)) > 1:
            yield f"network: hosts with different MTUs need TUN; {found.remedy}"
        if found.name == "TUN device" and found.state != "works" and stack.offloads(plan):
            yield f"stacks: super-segments (tso) need TUN; {found.remedy}"
    if _downloads(plan) and not promptness.is_known():
        yield (
            "workloads: this kernel does not tell how long threads wait for a processor, so that a "
            "content server without one would pass for a slow one; take one with CONFIG_SCHEDSTATS"
        )
    yield from _missing_programs(plan)


def _downloads(plan: Plan) -> int:
    """The clients of a plan's content servers, who may all be there at once."""
    origins = workloads(plan, OriginWorkload)
    return sum(len(it["hosts"]) for origin in origins for it in origin["populations"])


def _mtus(plan: Plan) -> set[int]:
    """The MTUs of a plan's hosts."""
    stacks = plan.stacks
    return {stacks[host["stack"]]["mtu_bytes"] for host in plan.network["hosts"]}


def _missing_programs(plan: Plan) -> Iterator[str]:
    """The capabilities that a plan's programs need and this machine lacks."""
    yield from players.missing(plan)
    space = players.space(plan)
    for index, swarm in numbered(plan, SwarmWorkload):
        yield from refusals(plan, index)
        peers = sum(len(it["hosts"]) for it in swarm["populations"])
        space += swarm["size_bytes"] * (peers + 1)
    for origin in workloads(plan, OriginWorkload):
        space += origin["files"]["count"] * origin["files"]["size_bytes"]
    if space > room():
        yield (
            f"workloads: programs may write {space:,} B, and {room():,} B are free in "
            f"{tempfile.gettempdir()}; set TMPDIR to a folder with more"
        )


def _kernel() -> Capability:
    release = platform.release()
    match = re.match(r"(\d+)\.(\d+)", release)
    version = [int(part) for part in match.groups()] if match else []
    if version < [*LEAST_KERNEL]:
        least = ".".join(map(str, LEAST_KERNEL))
        return Capability("kernel", "missing", f"Linux {release}", f"Linux {least} or newer")
    return Capability("kernel", "works", f"Linux {release}")


def _namespaces(tried: Tried) -> Capability:
    if tried.namespaces is not None:
        return Capability(
            "namespaces",
            "missing",
            tried.namespaces,
            "run as root, or let users make namespaces (as root): "
            "sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1 "
            "kernel.apparmor_restrict_unprivileged_userns=0 (those that exist)",
        )
    how = "in a user namespace of its own" if tried.own_user_namespace else "as root"
    return Capability("namespaces", "works", how)


def _tun(tried: Tried) -> Capability:
    if tried.tun is not None:
        there = os.path.exists("/dev/net/tun")
        remedy = "chmod 0666 /dev/net/tun" if there else "modprobe tun"
        said = f"{tried.tun}; hosts are attached by veth and a raw socket instead, with one MTU"
        return Capability("TUN device", "limited", said, f"as root: {remedy}")
    return Capability("TUN device", "works", "/dev/net/tun, to which hosts are attached")


def _queues() -> Capability:
    """The model brings its own disciplines; the kernel's hold what the emulator has not read."""
    try:
        kernels = Path("/proc/sys/net/core/default_qdisc").read_text().strip()
    except OSError:
        kernels = "none that is known"
    said = f"the model's own on all links; the kernel's default, {kernels}, only before they begin"
    return Capability("queue disciplines", "works", said)


def _real_time(tried: Tried) -> Capability:
    if tried.real_time:
        return Capability("real-time priority", "works", "the emulator runs before all others")
    return Capability(
        "real-time priority",
        "limited",
        "not allowed: packets are late while other programs run, and runs may be invalid",
        "as root, or with rtprio 10 for this user in /etc/security/limits.conf",
    )


def _idle_polling() -> Capability:
    if _core.polls_idle():
        return Capability("idle polling", "works", "processors stay awake while a network runs")
    return Capability(
        "idle polling",
        "limited",
        "the processors' time is limited here (cpu.max), so that they sleep while nothing is to "
        "do: packets are late where waking takes long, as on virtual machines",
        "in a container, whole processors in place of a share: docker run --cpuset-cpus, no --cpus",
    )
