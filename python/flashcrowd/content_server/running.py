"""A content server from its begin to its end: what is said of it, and how it is stopped."""

from __future__ import annotations

import errno
import json
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from flashcrowd import _core
from flashcrowd.base import terminal
from flashcrowd.base.amounts import counted, scaled
from flashcrowd.base.signals import ask, handled
from flashcrowd.base.stopping import attend
from flashcrowd.content_server.snapshot import PaceReport, Snapshot, snapshot

LOG_EVERY = 60.0
"""Seconds between two lines where there is no terminal, if nothing else is asked for."""


HANGUP = {signal.SIGHUP}
"""Asks for a second reading of what was read at the begin."""


class Unable(Exception):
    """A server cannot begin; the text is one line that names the remedy."""


REMEDIES = {
    errno.EADDRINUSE: "another program has that port: choose another one with --listen",
    errno.EADDRNOTAVAIL: "this machine has no such address: leave the host out for all of them",
    errno.ENOENT: "give a directory that exists",
    errno.ENOTDIR: "give the directory that the file is in",
    errno.EACCES: "the user who runs the server may not (ports below 1024 need a privilege)",
    errno.EISDIR: "give a file",
}
"""What to do when the system refuses."""


def begin(settings: dict[str, object], addresses: Sequence[str]) -> _core.ContentServer:
    """A server at the first of these addresses that can be had, with SIGHUP held back until `run`.

    Raises:
        Unable: there is none, or it cannot be for another reason.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, HANGUP)
    try:
        with by_default():
            return _begin(settings, addresses)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANGUP)
        raise


@contextmanager
def by_default() -> Iterator[None]:
    """Lets Ctrl-C and SIGTERM end the process while the core opens what may not answer (a disk).

    Nothing has begun that would have to end in good order. Elsewhere than in the main thread, and
    where somebody has asked to hear of signals, it is theirs.
    """
    ours = {signal.SIGINT: {signal.default_int_handler, ask}, signal.SIGTERM: {ask}}
    if threading.current_thread() is not threading.main_thread():
        ours = {}
    before = {it: was for it, of in ours.items() if (was := signal.getsignal(it)) in of}
    try:
        for number in before:
            signal.signal(number, signal.SIG_DFL)
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)


def _begin(settings: dict[str, object], addresses: Sequence[str]) -> _core.ContentServer:
    why: OSError | None = None
    for address in addresses:
        try:
            return _core.ContentServer(json.dumps({**settings, "listen": address}))
        except _core.PlanError as error:
            raise Unable(_setting(str(error))) from None
        except OSError as error:
            why = error
            if error.errno == errno.EADDRINUSE or error.filename != address:
                break
    assert why is not None
    text = f"{why.filename}: {why.strerror}"
    remedy = REMEDIES.get(why.errno or 0)
    raise Unable(f"{text}: {remedy}" if remedy else text)


def _setting(text: str) -> str:
    """A refusal of the core, in the words of the command line."""
    names = {
        "memory_bytes": "--memory",
        "memory": "--memory",
        "reads": "--reads",
        "reader": "--reader",
        "header_s": "--header-timeout",
        "stall_s": "--stall-timeout",
        "drain_s": "--drain",
    }
    name, _, rest = text.partition(": ")
    return f"{names.get(name, name)}: {rest}" if rest else text


def raise_descriptors(connections: int) -> str | None:
    """Takes as many file descriptors as the system gives; a line if they do not reach."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # One for each connection, and about one for its file.
    if hard != resource.RLIM_INFINITY and hard < 2 * connections:
        return (
            f"The system gives {hard} file descriptors, for about {hard // 2} connections at once: "
            "raise the limit (`ulimit -Hn`, LimitNOFILE=)."
        )
    return None


LEAVE = 5.0, 1.0
"""Seconds in which a server ends in good order, beyond `drain` and after a second signal."""
LEFT = "Ended without waiting for what does not answer (a disk, the access log or this terminal)."


@contextmanager
def at_last(drain: float) -> Iterator[_core.LastResort]:
    """Ends the process if Ctrl-C or SIGTERM come, and the block does not end, whatever waits."""
    resort = _core.LastResort(drain + LEAVE[0], LEAVE[1], LEFT)
    before = signal.set_wakeup_fd(resort.fileno(), warn_on_full_buffer=False)
    try:
        yield resort
    finally:
        signal.set_wakeup_fd(before)
        resort.cancel()


def run(
    server: _core.ContentServer,
    interval: float | None,
    reloaded: Sequence[str] = (),
    drain: float = 30.0,
) -> int:
    """Waits until the server has ended, and tells meanwhile what it does.

    Args:
        server: it has begun.
        interval: seconds between two lines; 0 for none; None: each second on a terminal, else
            each minute in which something was sent.
        reloaded: what is read again on SIGHUP, in words.
        drain: seconds that answers under way have when it is stopped.

    Returns:
        The exit status.
    """
    live = sys.stderr.isatty()
    every = interval if interval is not None else (1.0 if live else LOG_EVERY)
    before = snapshot(server)
    then = time.monotonic()
    hung_up = False

    def hang_up(number: int, frame: FrameType | None) -> None:
        nonlocal hung_up
        hung_up = True

    def tell(wrong: list[str]) -> None:
        if wrong:
            text = f"Not reloaded: {'; '.join(wrong)}. What was there before holds."
        else:
            text = f"Reloaded: {' and '.join(reloaded) or 'there was nothing to reload'}."
        try:
            if live:
                terminal.rewrite(sys.stderr, f"{text}\n")
            else:
                print(text, file=sys.stderr, flush=True)
        except OSError:
            server.stop()  # The terminal that it was said on has gone.

    def tick() -> None:
        nonlocal before, then, hung_up
        if hung_up:
            hung_up = False
            if not server.reload():
                tell(["what was to be read last time does not answer"])
        if (wrong := server.reloaded()) is not None:
            tell(wrong)
        now = time.monotonic()
        if not every or now < then + every:
            return
        found = snapshot(server)
        if live:
            terminal.rewrite(sys.stderr, line(before, found, now - then))
        elif interval is not None or found["sent_bytes"] > before["sent_bytes"]:
            print(line(before, found, now - then), file=sys.stderr, flush=True)
        before, then = found, now

    with at_last(drain) as resort, handled(HANGUP, hang_up):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANGUP)
        attend(server, tick, heard=resort.heard)
        _tell_the_end(server, live)
    return 0


def _tell_the_end(server: _core.ContentServer, live: bool) -> None:
    if live:
        terminal.rewrite(sys.stderr, "")
    whole = json.loads(server.result())
    last = snapshot(server)
    text = f"Ended: {counted(last['answers'], 'answer')}, {scaled(last['sent_bytes'], 'B')} sent"
    text += f", {scaled(last['read_bytes'], 'B')} read."
    if not whole:
        text += " Answers under way were cut."
    if lost := last["log_lines_lost"]:
        text += f" {counted(lost, 'line')} of the access log {'was' if lost == 1 else 'were'} lost."
    print(text, file=sys.stderr, flush=True)
    if (pace := last["trial_disk"]) is not None:
        print(kept_pace(pace), file=sys.stderr, flush=True)


def kept_pace(pace: PaceReport) -> str:
    """How a disk for trials has kept its pace, in one line."""
    text = (
        f"Trial disk: busy for {pace['busy_s']:.1f} s, {counted(pace['reads'], 'read')}, "
        f"{pace['positioned_reads']} of them positioned; late by at most "
        f"{pace['lateness_max_s'] * 1e3:.1f} ms (99 %: {pace['lateness_p99_s'] * 1e3:.1f} ms)"
    )
    if pace["void"]:
        return f"{text}. VOID: it lost {pace['lost_s']:.2f} s; measure on a machine that is idle."
    return f"{text}."


def line(before: Snapshot, now: Snapshot, span: float) -> str:
    """What went on between two snapshots, in one line."""
    sent = now["sent_bytes"] - before["sent_bytes"]
    served = now["served_bytes"] - before["served_bytes"]
    read = now["read_bytes"] - before["read_bytes"]
    ratio = f"{read / served:.2f}" if served else "-"
    text = (
        f"{counted(now['clients'], 'download')}  {counted(now['files'], 'file')}  "
        f"{counted(now['connections'], 'connection')}  "
        f"network {scaled(sent * 8 / span, 'bit/s')}  disk {scaled(read / span, 'B/s')}  "
        f"miss ratio {ratio}  queue {now['queued_reads']}"
    )
    turned = now["turned_away"] - before["turned_away"]
    errors = now["disk_errors"] - before["disk_errors"]
    text += f"  turned away {turned}" if turned else ""
    return text + (f"  DISK ERRORS {errors}" if errors else "")
