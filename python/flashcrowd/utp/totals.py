"""The result of a transfer: totals by direction, without the time that was to be omitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from flashcrowd.base.amounts import counted
from flashcrowd.utp import lines
from flashcrowd.utp.reports import Counter, Direction, Report, Total

DIRECTIONS: tuple[Direction, ...] = ("to-server", "to-client")
"""In the order in which they are reported."""

Mark = tuple[float, int]
"""Seconds and bytes of a stream when its omitted time was over."""

NAMES = {"utp": "uTP", "tcp": "TCP"}
"""Transports as they are printed."""

LONG_SILENCE = 1.0
"""Seconds without a word that are worth mentioning."""


def totals(reports: Sequence[Report], marks: Mapping[int, Mark]) -> dict[Direction, Total]:
    """By direction: bytes and seconds that count, their rate, and what was sent again.

    A stream that broke off counts up to the last that was heard of the other end.
    """
    found: dict[Direction, Total] = {}
    for direction in DIRECTIONS:
        streams = [report for report in reports if report["direction"] == direction]
        if not streams:
            continue
        counted = 0
        span = 0.0
        for report in streams:
            seconds, moved = marks.get(report["id"], (0.0, 0))
            counted += max(report["bytes"] - moved, 0)
            span = max(span, heard_for(report) - seconds)
        # Only the end that sends knows.
        known = [
            report["connection"]["packets_retransmitted"]
            for report in streams
            if report["queued_bytes"]
        ]
        resent = [count for count in known if count is not None]
        found[direction] = {
            "streams": len(streams),
            "bytes": counted,
            "seconds": span,
            "rate_bps": counted * 8 / span if span > 0 else 0.0,
            "omitted_bytes": sum(marks.get(report["id"], (0.0, 0))[1] for report in streams),
            "packets_retransmitted": sum(resent) if len(resent) == len(streams) else None,
        }
    return found


def heard_for(report: Report) -> float:
    """Seconds of a stream, the silence before it broke off not counted."""
    if report["error"] is None:
        return report["seconds"]
    return max(report["seconds"] - report["silent_seconds"], 0.0)


def summary(reports: Sequence[Report], sums: Mapping[Direction, Total]) -> str:
    """The last lines, for people."""
    rows = []
    for report in reports:
        text = stream(report)
        rows.append(
            text if len(reports) == 1 else f"{report['id']:4d}  {_way(report['direction'])}  {text}"
        )
    if len(reports) == 1 and not sums[reports[0]["direction"]]["omitted_bytes"]:
        return "\n".join(rows)
    for direction, total in sums.items():
        omitted = total["omitted_bytes"]
        rows.append(
            f" sum  {_way(direction)}  {lines.size(total['bytes'])} in {total['seconds']:.2f} s,"
            f" {lines.rate(total['bytes'], total['seconds'])}"
            + (f", {lines.size(omitted)} before that omitted." if omitted else ".")
        )
    return "\n".join(rows)


def stream(report: Report) -> str:
    """One stream in a few lines."""
    moved, seconds = report["bytes"], heard_for(report)
    if report["error"] is not None:
        return broken(report)
    who = {"sender": "the sender stopped", "receiver": "the receiver stopped", None: "all sent"}
    text = (
        f"{lines.size(moved)} in {seconds:.2f} s, {lines.rate(moved, seconds)};"
        f" {who[report['stopped_by']]}.\n" + _connection(report)
    )
    receipt = report["receipt"]
    if report["verified"]:
        return (
            text
            + f"Digest {receipt['digest'] if receipt else report['digest']} equal at both ends."
        )
    there = receipt["digest"] if receipt else "another"
    return text + f"DIGESTS DIFFER: {report['digest']} here, {there} there."


def broken(report: Report) -> str:
    """A stream that broke off, in a line."""
    text = f"broke off after {lines.size(report['bytes'])}, {heard_for(report):.1f} s"
    if report["silent_seconds"] >= LONG_SILENCE:
        text += f"; silent for {report['silent_seconds']:.0f} s"
    return f"{text}: {report['error']}."


def compared(sums: Mapping[str, Mapping[Direction, Total]], congestion: str | None) -> str:
    """TCP and uTP beside each other, by direction, from the totals of both."""
    rows = []
    for direction in DIRECTIONS:
        utp, tcp = (sums[name].get(direction) for name in ("utp", "tcp"))
        if not utp or not tcp:
            continue
        share = f"{utp['rate_bps'] / tcp['rate_bps']:.2f} of it" if tcp["rate_bps"] else "nothing"
        named = f" ({congestion})" if congestion else ""
        rows.append(
            f"{_way(direction)}  TCP{named} {lines.rate(tcp['bytes'], tcp['seconds'])},"
            f" uTP {lines.rate(utp['bytes'], utp['seconds'])}: {share}."
        )
    return "\n".join(rows)


def _way(direction: str) -> str:
    return lines.WAYS[direction]


def _connection(report: Report) -> str:
    connection = report["connection"]
    if not report["queued_bytes"]:
        return ""

    def count(name: Counter, noun: str) -> str:
        value = connection[name]
        return f"- {noun}s" if value is None else counted(value, noun)

    def millis(name: Literal["rtt_ms", "min_rtt_ms"]) -> str:
        value = connection[name]
        return "-" if value is None else f"{value:.1f} ms"

    again = connection["packets_retransmitted"]
    text = (
        f"RTT {millis('rtt_ms')}, least {millis('min_rtt_ms')}; {count('packets_sent', 'packet')},"
        f" {'-' if again is None else again} of them again"
    )
    if report["transport"] == "utp":
        text += f", {count('timeouts', 'timeout')}, {count('reductions', 'cut')} of the window"
    elif report["congestion"]:
        text += f"; congestion control {report['congestion']}"
    return text + ".\n"
