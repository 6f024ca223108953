"""What is what in words: transports, and points of a study."""

from __future__ import annotations

from flashcrowd.papers.evidence import StudyEvidence
from flashcrowd.report.points import Point
from flashcrowd.report.sweep_values import shown

#: What the paper's transports are called in figures and tables.
NAMES = {
    "windows-7": "TCP, window 7",
    "windows-12": "TCP, window 12",
    "linux-106": "TCP, window 106",
    "linux-72": "TCP, window 72",
    "linux": "TCP, growing window",
    "cubic": "TCP, CUBIC",
    "alpha1": "α1, 100 ms",
    "alpha1-25": "α1, 25 ms",
    "alpha1-ladder": "α1, 100 ms, sizes that begin again after a loss",
    "alpha1-ladder-25": "α1, 25 ms, sizes that begin again after a loss",
    "alpha2-long": "α2, 25 ms, thirteen minutes of memory",
    "alpha2-fixed": "α2, full packets",
    "alpha2-wait": "α2, waits for its timer",
    "alpha2-patient": "α2, tolerates reordering",
    "alpha2-three-samples": "α2, least of three samples",
    "alpha2": "α2, 25 ms",
    "alpha2-100": "α2, 100 ms",
    "beta1": "β1, 100 ms",
    "beta1-25": "β1, 25 ms",
    "beta1-short": "β1, two minutes of memory",
    "beta1-small": "β1, packets of 912 B",
    "beta1-ladder": "β1, sizes that double",
    "beta1-hasty": "β1, resends after three",
    "beta1-one-sample": "β1, one sample",
    "beta1-uncapped": "β1, no bound of its window",
    "rfc6817": "RFC 6817",
    "libutp": "libutp",
    "libtorrent": "libtorrent",
    "ledbat-plus-plus": "LEDBAT++",
    "linux-6": "TCP, CUBIC",
    "reno": "TCP, Reno",
    "bbr": "TCP, BBR",
}

#: What the flavours are called where the panel says which constants they have.
FAMILIES = {
    "windows": "TCP, window of Windows",
    "linux": "TCP, window of Linux",
    "alpha1": "α1",
    "alpha2": "α2",
    "beta1": "β1",
}


def name(transport: object) -> str:
    """What a transport is called."""
    return NAMES.get(str(transport), str(transport))


def family(transport: object) -> str:
    """What a transport is called, its constants aside."""
    if transport == "linux":
        return name(transport)
    return FAMILIES.get(str(transport).partition("-")[0], str(transport))


def described(study: StudyEvidence, point: Point) -> str:
    """A point in words: what flows there, which mixture, and whatever else was swept."""
    values = {
        path: axis.levels[level][place]
        for axis, level in zip(study.points.axes, point.levels, strict=True)
        for place, path in enumerate(axis.paths)
    }
    kernels = {
        path
        for path in values
        if path.endswith(".program")
        and name(values.get(f"{path.removesuffix('program')}transport")).startswith("TCP")
    }  # the kernel plays TCP, whatever program is named
    parts = [
        part
        for path, value in values.items()
        if path not in kernels and (part := _part(study, path, value))
    ]
    tcp, ledbat = (values.get(f"workloads.{kind}.flows") for kind in ("tcp", "ledbat"))
    if ledbat is not None:
        parts.append(f"{tcp} + {ledbat} flows")
    return ", ".join(dict.fromkeys(parts))


def _part(study: StudyEvidence, path: str, value: object) -> str:
    """A swept value in words; empty if another one says it, or if it is nothing."""
    text, last = shown(value), path.rsplit(".", 1)[-1]
    if last == "transport":
        return name(value)
    if last == "program":
        return f"played by {'flashcrowd' if value == 'live' else value}"
    if last == "flows":
        return "TCP on the way back" if path.endswith("backward.flows") and value else ""
    if path == "timeline.slower.to":
        return "" if text == "0 ms" else f"{text} on the way back in place of TCP"
    if path.startswith("stacks.w.receive_window"):
        return f"window {int(text.split()[0]) // 1460} segments" if last == "max" else ""
    if path == "stacks.w.delayed_ack.segments":
        return "acknowledged one by one" if text == "1" else f"acknowledged every {text}"
    if last == "jitter":
        return "no jitter" if text == "none" else f"jitter 0 to {text.removesuffix(' on')}"
    return f"{study.names.get(path, last.replace('_', ' '))} {text}"
