"""The output of a measurement while it runs: one line an interval, in the manner of iperf3."""

from __future__ import annotations

from flashcrowd.base.amounts import scaled
from flashcrowd.utp.reports import Counter, Report

SENDER = "    time       bytes         rate       RTT     queue    window   resent  timeouts"
"""The columns of one stream that is sent."""

STREAMS = "  id way" + SENDER
"""The columns of several streams, or of one that is received."""

RECEIVER = "  id      time       bytes         rate  duplicates"
"""The columns of `serve`."""

WAYS = {"to-server": "->", "to-client": "<-"}
"""How the two directions are drawn."""


def sending(interval: tuple[float, float], before: Report | None, now: Report) -> str:
    """One interval of a stream, from two of its reports."""
    begin, end = interval
    moved, connection = moved_since(before, now), now["connection"]
    resent = _since(before, now, "packets_retransmitted")
    timeouts = _since(before, now, "timeouts")
    # Round trips, queues and windows are those of an end that sends.
    sends = now["queued_bytes"] > 0
    window = connection["window_bytes"] if sends else None
    return (
        f"{end:6.1f} s  {size(moved):>10}  {rate(moved, end - begin):>11}"
        f"  {_millis(connection['rtt_ms'] if sends else None)}"
        f"  {_millis(connection['queueing_delay_ms'] if sends else None)}"
        f"  {'-' if window is None else size(window):>8}"
        f"  {resent if sends else '-':>7}  {timeouts if sends else '-':>8}"
    )


def labelled(report: Report, line: str) -> str:
    """A line of one stream among several."""
    return f"{report['id']:4d}  {WAYS[report['direction']]}{line}"


def together(direction: str, interval: tuple[float, float], moved: int) -> str:
    """The sum of the streams of one direction."""
    begin, end = interval
    return f" sum  {WAYS[direction]}{end:6.1f} s  {size(moved):>10}  {rate(moved, end - begin):>11}"


def receiving(span: float, before: Report | None, now: Report) -> str:
    """One interval at the server, from two reports of the same stream."""
    moved = moved_since(before, now)
    duplicates = _since(before, now, "packets_duplicate")
    return (
        f"{now['id']:4d}  {now['seconds']:6.1f} s  {size(moved):>10}  {rate(moved, span):>11}"
        f"  {duplicates:>10}"
    )


def size(count: float) -> str:
    """Bytes with a unit of a thousand, to four digits at most."""
    return scaled(count, "B", "kMG")


def rate(count: float, seconds: float) -> str:
    """Bytes in a time as bits per second."""
    return scaled(count * 8 / seconds if seconds > 0 else 0.0, "bit/s", "kMG")


def moved_since(before: Report | None, now: Report) -> int:
    """Bytes that have arrived since an earlier report, if there is one."""
    return now["bytes"] - (before["bytes"] if before else 0)


def _since(before: Report | None, now: Report, counter: Counter) -> int | str:
    value = now["connection"][counter]
    then = before["connection"][counter] if before else None
    return "-" if value is None else value - (then or 0)


def _millis(value: float | None) -> str:
    """A time in milliseconds, with microseconds where it is less than one: as on a loopback."""
    if value is None:
        return f"{'-':>5}   "
    return f"{value:5.3f} ms" if 0 < value < 0.9995 else f"{value:5.1f} ms"
