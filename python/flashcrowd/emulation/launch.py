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
from collections.abc import Iterator, Mapping
from typing import IO, Any, Literal

from flashcrowd.base.errors import Cancelled, EngineError, shown_line
from flashcrowd.base.signals import how_it_ended
from flashcrowd.emulation import taps
from flashcrowd.emulation.idle_poll import polling
from flashcrowd.emulation.messages import Answer, Order, Said
from flashcrowd.emulation.scratch import scratch

LAB = "flashcrowd.emulation.lab"
"""The module that plays a run in its network."""
DYING_S = 5.0
"""A process that has closed its output has ended within this, or never will."""
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
    processor: int | None = None,
) -> dict[str, Any]:
    """One run's tables, from a process of its own: lists of rows, but of `taps` Arrow's.

    Args:
        plan_json: the plan.
        seed: the run's.
        handle: watches and cancels it.
        probe: no run, but the self-test of the plan's network.
        attachment: how hosts are attached; by default by TUN where it is allowed, or else by veth.
        processor: the one on which the emulator stays, while hosts receive on the others; by
            default the scheduler's choice, and hosts receive on the same.

    Raises:
        Cancelled: the handle was used.
        EngineError: the run failed; the message says why, in the lab's words.
    """
    with scratch() as folder, polling():
        asked: Order = {
            "plan": plan_json,
            "seed": seed,
            "probe": probe,
            "folder": str(folder),
            "attachment": attachment,
            "processor": processor,
        }
        return {**in_process(LAB, asked, handle)["tables"], **taps.kept(folder)}


def in_process(module: str, asked: Mapping[str, Any], handle: LabHandle) -> Answer:
    """What a process of its own answers at last, which has `tables`.

    Args:
        module: of the package; it reads a line of JSON, and writes such lines: `progress`, and at
            last the answer, or `failed`.
        asked: what it reads.
        handle: watches and cancels it.

    Raises:
        Cancelled: the handle was used.
        EngineError: it failed; the message says why, in its words.
    """
    with tempfile.TemporaryFile() as errors, started(module, errors) as process:
        said = _attend(process, asked, handle)
        if "tables" in said:
            process.kill()  # it has said all
            return {"tables": said["tables"], "pace": said.get("pace", {})}
        ended = end_of(process)
        why = said.get("failed") or f"the process of the run ({module}) {ended}"
        raise EngineError("\n  ".join([why.strip(), *last_lines(errors)]))


@contextlib.contextmanager
def started(module: str, errors: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """The process of a module, until the block ends; `errors` gets what it says of them."""
    with subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        process_group=0,  # Ctrl-C is for the engine, which then ends the process
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def end_of(process: subprocess.Popen[bytes]) -> str:
    """How a process ended that says no more, in words that follow its name."""
    try:
        return how_it_ended(process.wait(DYING_S))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "closed its output, did not end, and was killed"


def messages(data: bytes) -> tuple[list[Said], bytes]:
    """The messages of a lab in what it has written, and the rest behind the last of them.

    What a library prints there, or a process leaves that dies in the middle of a line, is none.
    """
    *lines, rest = data.split(b"\n")
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            said = json.loads(line)
            if isinstance(said, dict):
                found.append(said)
    return found, rest


def last_lines(errors: IO[bytes]) -> list[str]:
    """What a process said last of errors."""
    errors.seek(0)
    said = errors.read().decode(errors="replace").rstrip("\n").split("\n")
    return [shown_line(line) for line in said[-_LAST_LINES:]] if said != [""] else []


def _attend(process: subprocess.Popen[bytes], asked: Mapping[str, Any], handle: LabHandle) -> Said:
    """What the process says at last."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
    last: Said = {}
    rest = b""
    with selectors.DefaultSelector() as selector, process.stdin, process.stdout:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if handle.cancelled:
                raise Cancelled
            if not selector.select(_LOOK_S):
                continue
            data = os.read(process.stdout.fileno(), 1 << 20)
            if not data:
                return last
            found, rest = messages(rest + data)
            for last in found:
                if not asked.get("probe"):
                    handle.progress = last.get("progress", handle.progress)
