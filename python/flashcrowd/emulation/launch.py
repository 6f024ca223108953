"""The engine's end of a lab: its process is started, watched and, if need be, ended."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import IO, Any

from flashcrowd._core import Plan
from flashcrowd.base.errors import Cancelled, EngineError, shown_line
from flashcrowd.base.messages import Channel, Failed, Order, Progress, Tables
from flashcrowd.base.signals import how_it_ended
from flashcrowd.emulation import taps
from flashcrowd.emulation.idle_poll import polling
from flashcrowd.emulation.messages import Attachment, LabOrder
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
        progress: how far the run is, 0 to 1, as far as known.
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
    plan: Plan,
    seed: int,
    handle: LabHandle,
    probe: bool = False,
    attachment: Attachment | None = None,
    processor: int | None = None,
) -> dict[str, Any]:
    """One run's tables, from a process of its own: lists of rows, but of `taps` Arrow's.

    Args:
        plan: the plan.
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
        asked = LabOrder(
            plan.to_json(),
            seed,
            probe,
            folder=str(folder),
            attachment=attachment,
            processor=processor,
        )
        return {**in_process(LAB, asked, handle).tables, **taps.kept(folder)}


def in_process(module: str, asked: Order, handle: LabHandle) -> Tables:
    """The last answer of a process of its own.

    Args:
        module: of the package; it reads the order, and says `Progress` and at last `Tables` or
            `Failed`.
        asked: what it is to do.
        handle: watches and cancels it.

    Raises:
        Cancelled: the handle was used.
        EngineError: it failed; the message says why, in its words.
    """
    with tempfile.TemporaryFile() as errors, started(module, errors) as process:
        last = _attend(process, asked, handle)
        if isinstance(last, Tables):
            process.kill()  # it has said all
            return last
        ended = end_of(process)
        why = last.why if last else f"the process of the run ({module}) {ended}"
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


def last_lines(errors: IO[bytes]) -> list[str]:
    """The last lines of a process on stderr."""
    errors.seek(0)
    said = errors.read().decode(errors="replace").rstrip("\n").split("\n")
    return [shown_line(line) for line in said[-_LAST_LINES:]] if said != [""] else []


def _attend(
    process: subprocess.Popen[bytes], asked: Order, handle: LabHandle
) -> Tables | Failed | None:
    """The last message of the process; None if it ends before that."""
    assert process.stdin is not None
    assert process.stdout is not None
    last = None
    with process.stdin, process.stdout:
        ends = process.stdout.fileno(), process.stdin.fileno()
        channel = Channel(*ends, Progress, Tables, Failed)
        with contextlib.suppress(BrokenPipeError):
            channel.say(asked)
        while True:
            if handle.cancelled:
                raise Cancelled
            try:
                found = channel.hear(_LOOK_S)
            except EOFError:
                return last
            for said in found:
                if not isinstance(said, Progress):
                    last = said
                elif not asked.probe:
                    handle.progress = said.part
