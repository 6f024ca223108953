"""What a measurement prints while it runs: one line an interval, in the manner of iperf3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashcrowd.amounts import scaled

SENDER = "    time       bytes         rate       RTT     queue    window   resent  timeouts"
"""The columns of `sending`."""

RECEIVER = "  id      time       bytes         rate  duplicates"
"""The columns of `receiving`."""


def sending(
    interval: tuple[float, float], before: Mapping[str, Any], now: Mapping[str, Any]
) -> str:
    """One interval of a sender, from two of its snapshots."""
    begin, end = interval
    moved = now["acknowledged_bytes"] - before.get("acknowledged_bytes", 0)
    resent = now["packets_retransmitted"] - before.get("packets_retransmitted", 0)
    timeouts = now["timeouts"] - before.get("timeouts", 0)
    return (
        f"{end:6.1f} s  {size(moved):>10}  {rate(moved, end - begin):>11}"
        f"  {now['rtt_ms']:5.1f} ms  {now['queueing_delay_ms']:5.1f} ms"
        f"  {size(now['window_bytes']):>8}  {resent:7d}  {timeouts:8d}"
    )


def receiving(span: float, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """One interval of a receiver, from two reports of the same sender."""
    moved = now["bytes"] - before.get("bytes", 0)
    earlier = before["connection"]["packets_duplicate"] if before else 0
    duplicates = now["connection"]["packets_duplicate"] - earlier
    return (
        f"{now['id']:4d}  {now['seconds']:6.1f} s  {size(moved):>10}  {rate(moved, span):>11}"
        f"  {duplicates:10d}"
    )


def size(count: float) -> str:
    """Bytes with a unit of a thousand, to four digits at most."""
    return scaled(count, "B", "kMG")


def rate(count: float, seconds: float) -> str:
    """Bytes in a time as bits per second."""
    return scaled(count * 8 / seconds if seconds > 0 else 0.0, "bit/s", "kMG")
