"""Whether a run kept the promises of the emulation: what exceeds a limit makes it invalid."""

from __future__ import annotations

from flashcrowd.emulation.messages import Report

LATE_S = 0.001
"""99 of 100 packets are delivered within this time of when they were due, second by second …"""
LATE_SHARE = 0.01
"""… or within this share of the least round-trip time between hosts that talk …"""
PACKET_SHARE = 0.1
"""… or of the time that the slowest link on their way takes for a full packet, if that is more."""
BAD_SECONDS = 0.05
"""The share of the seconds that may miss a limit."""
BUSY = 0.9
"""Most of a processor that the emulator may have: beyond, a queue builds before it."""
OVERSLEEP_S = 0.01
"""99 of 100 sleeps of a thread at the programs' priority end at most this late."""


def violations(report: Report, least_rtt_s: float, packet_s: float) -> list[str]:
    """The limits that a run's report exceeds, in words; none if it is valid.

    Args:
        report: the lab's.
        least_rtt_s: the least round-trip time between hosts that talk.
        packet_s: what the slowest link on the way of those that are fastest takes for a packet.
    """
    seconds = report["seconds"]
    late_s = max(LATE_S, LATE_SHARE * least_rtt_s, PACKET_SHARE * packet_s)
    found = []
    for name, limit, words in (
        ("late_p99_s", late_s, "a hundredth of the packets was later than"),
        ("oversleep_p99_s", OVERSLEEP_S, "programs waited for a processor longer than"),
    ):
        bad = [second[name] for second in seconds if second[name] > limit]
        if len(bad) > BAD_SECONDS * len(seconds):
            found.append(
                f"{words} {1e3 * limit:.3g} ms in {len(bad)} of {len(seconds)} seconds "
                f"(at most {1e3 * max(bad):.3g} ms)"
            )
    busy = [second["busy"] for second in seconds if second["busy"] > BUSY]
    if len(busy) > BAD_SECONDS * len(seconds):
        found.append(
            f"the emulator had more than {BUSY:.0%} of a processor in {len(busy)} of "
            f"{len(seconds)} seconds"
        )
    if report["interface_drops"]:
        found.append(f"{report['interface_drops']} packets were not taken in from their hosts")
    if report["refused_writes"]:
        found.append(f"{report['refused_writes']} packets were refused by their hosts")
    carrier = report["carrier"]
    if carrier:
        away = carrier["lost"] + carrier["refused"]
        if away:
            found.append(f"{away} packets were lost between nodes")
        if carrier["uncertainty_s"] > late_s:
            found.append(
                f"the clock was known to {1e3 * carrier['uncertainty_s']:.3g} ms only, more than "
                f"{1e3 * late_s:.3g} ms"
            )
    return found
