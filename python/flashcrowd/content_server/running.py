"""A content server from its begin to its end: what is said of it, and how it is stopped."""

from __future__ import annotations

import errno
import json
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

from flashcrowd import _core
from flashcrowd.amounts import scaled
from flashcrowd.utp.stopping import attend

LOG_EVERY = 60.0
"""Seconds between two lines where there is no terminal, if nothing else is asked for."""


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


def begin(settings: dict[str, Any], addresses: Sequence[str]) -> _core.ContentServer:
    """A server at the first of these addresses that can be had.

    Raises:
        Unable: there is none, or it cannot be for another reason.
    """
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
        "header_s": "--header-timeout",
        "stall_s": "--stall-timeout",
        "drain_s": "--drain",
    }
    name, _, rest = text.partition(" ")
    return f"{names.get(name, name)} {rest}" if rest else text


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


def run(server: _core.ContentServer, interval: float | None) -> int:
    """Waits until the server has ended, and tells meanwhile what it does.

    Args:
        server: it has begun.
        interval: seconds between two lines; 0 for none; None: each second on a terminal, else
            each minute in which something was sent.

    Returns:
        The exit status.
    """
    live = sys.stderr.isatty()
    every = interval if interval is not None else (1.0 if live else LOG_EVERY)
    before = _snapshot(server)
    then = time.monotonic()

    def tick() -> None:
        nonlocal before, then
        now = time.monotonic()
        if not every or now < then + every:
            return
        snapshot = _snapshot(server)
        if live:
            print(f"\r\x1b[K{line(before, snapshot, now - then)}", end="", file=sys.stderr)
            sys.stderr.flush()
        elif interval is not None or snapshot["sent_bytes"] > before["sent_bytes"]:
            print(line(before, snapshot, now - then), file=sys.stderr, flush=True)
        before, then = snapshot, now

    attend(server, tick)
    if live:
        print("\r\x1b[K", end="", file=sys.stderr)
    whole = json.loads(server.result())
    last = _snapshot(server)
    text = f"Ended: {last['answers']} answers, {scaled(last['sent_bytes'], 'B')} sent"
    text += f", {scaled(last['read_bytes'], 'B')} read."
    print(text if whole else f"{text} Answers under way were cut.", file=sys.stderr, flush=True)
    return 0


def line(before: dict[str, Any], now: dict[str, Any], span: float) -> str:
    """What went on between two snapshots, in one line."""
    sent = now["sent_bytes"] - before["sent_bytes"]
    served = now["served_bytes"] - before["served_bytes"]
    read = now["read_bytes"] - before["read_bytes"]
    ratio = f"{read / served:.2f}" if served else "-"
    text = (
        f"{now['clients']} downloads  {now['files']} files  {now['connections']} connections  "
        f"network {scaled(sent * 8 / span, 'bit/s')}  disk {scaled(read / span, 'B/s')}  "
        f"miss ratio {ratio}  queue {now['queued_reads']}"
    )
    turned = now["turned_away"] - before["turned_away"]
    errors = now["disk_errors"] - before["disk_errors"]
    text += f"  turned away {turned}" if turned else ""
    return text + (f"  DISK ERRORS {errors}" if errors else "")


def _snapshot(server: _core.ContentServer) -> dict[str, Any]:
    return json.loads(server.snapshot())
