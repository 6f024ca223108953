"""The engine's end of a lab: its process is started, watched and, if need be, ended."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from typing import Any, Literal

from flashcrowd.emulation.scratch import scratch
from flashcrowd.errors import Cancelled, EngineError

_LOOK_S = 0.1
_LAST_LINES = 12


class LabHandle:
    """Watches and cancels one run from another thread.

    Attributes:
        progress: how far the run is, 0 to 1, as far as anybody can tell.
    """

    def __init__(self) -> None:
        self.progress = 0.0
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """End the run soon."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled.is_set()


def in_lab(
    plan_json: str,
    seed: int,
    handle: LabHandle,
    probe: bool = False,
    attachment: Literal["tun", "veth"] | None = None,
) -> Mapping[str, list[dict[str, Any]]]:
    """One run's tables, as lists of rows by name, from a process of its own.

    Args:
        plan_json: the plan.
        seed: the run's.
        handle: watches and cancels it.
        probe: no run, but the self-test of the plan's network.
        attachment: how hosts are attached; by default by TUN where it is allowed, or else by veth.

    Raises:
        Cancelled: the handle was used.
        EngineError: the run failed; the message says why, in the lab's words.
    """
    with scratch() as folder, tempfile.TemporaryFile() as errors:
        lab = subprocess.Popen(
            [sys.executable, "-m", "flashcrowd.emulation.lab"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # Ctrl-C is for the engine, which then ends the lab
        )
        asked = {"plan": plan_json, "seed": seed, "probe": probe, "folder": str(folder)}
        asked["attachment"] = attachment
        try:
            answer = _attend(lab, asked, handle)
        finally:
            lab.kill()
            lab.wait()
        if "tables" in answer:
            return answer["tables"]
        errors.seek(0)
        lines = errors.read().decode(errors="replace").splitlines()[-_LAST_LINES:]
        why = answer.get("failed") or "the lab ended without a word"
        raise EngineError("\n  ".join([why.strip(), *lines]))


def _attend(
    lab: subprocess.Popen[bytes], asked: Mapping[str, Any], handle: LabHandle
) -> dict[str, Any]:
    """What the lab says at last."""
    assert lab.stdin is not None
    assert lab.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        lab.stdin.write(json.dumps(asked).encode() + b"\n")
        lab.stdin.flush()
    last: dict[str, Any] = {}
    rest = b""
    with selectors.DefaultSelector() as selector, lab.stdin, lab.stdout:
        selector.register(lab.stdout, selectors.EVENT_READ)
        while True:
            if handle.cancelled:
                raise Cancelled
            if not selector.select(_LOOK_S):
                continue
            data = os.read(lab.stdout.fileno(), 1 << 20)
            if not data:
                return last
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                last = json.loads(line)
                if not asked["probe"]:
                    handle.progress = last.get("progress", handle.progress)
