"""What is what in words: the lines of Table I, and points of a study."""

from __future__ import annotations

import json

from flashcrowd.papers.evidence import StudyEvidence, Where
from flashcrowd.papers.pan2009.quantities import begin_s
from flashcrowd.report.points import Point
from flashcrowd.report.sweep_values import shown

#: Table I: downlink and uplink of each network configuration.
LINES = {
    1: ("256 kbit/s", "64 kbit/s"),
    2: ("1 Mbit/s", "64 kbit/s"),
    3: ("2 Mbit/s", "256 kbit/s"),
    4: ("2 Mbit/s", "512 kbit/s"),
    5: ("4 Mbit/s", "1 Mbit/s"),
    6: ("8 Mbit/s", "640 kbit/s"),
    7: ("8 Mbit/s", "1 Mbit/s"),
    8: ("12 Mbit/s", "1 Mbit/s"),
}

#: How a client hands out its upload.
LIMITERS = {"azureus": "upload spread", "half-second": "upload every half second"}

#: What was changed where the study looks for causes, by what tells it apart there.
CASES = {
    "100 packets": "as it is",
    "1000 packets": "nothing is ever dropped",
    "5 packets": "no room for a queue",
    "fq-codel": "acknowledgements overtake",
    "home-scaling": "a window that is large enough",
    "526 ms": "an RTT of 526 ms by itself",
}

#: Stacks, by what is special about them.
STACKS = {
    "xp": "window 65535 B",
    "xp-17": "window 17520 B",
    "xp-each": "every segment acknowledged",
}

#: What the lines of Table I have unless something else is said.
USUAL = ("xp", "100 packets")

#: A client that uploads as fast as it can.
NO_LIMIT = "no limit"

#: What an upload controller is called.
CONTROLS = {
    "none": NO_LIMIT,
    "unlimited": NO_LIMIT,
    "auto-speed-v1": "Auto-Speed until 3.0.3",
    "auto-speed-v2": "Auto-Speed",
    "adaptive-drc-aimd": "AIMD",
    "adaptive-drc-mimd": "MIMD",
    "autolimit-capacity": "autolimit, by capacity",
    "autolimit": "autolimit",
}


def described(study: StudyEvidence, point: Point) -> str:
    """A point in words."""
    values = {
        path.rpartition(".")[2] if "peers" not in path else path: (path, value)
        for axis, level in zip(study.points.axes, point.levels, strict=True)
        for path, value in zip(axis.paths, axis.levels[level], strict=True)
    }
    if "stack" in values and "up_queue" in values and "rtt" in values and "hosts" not in values:
        parts = [case(study, point)]
        values = {name: values[name] for name in values if name == "upload"}
    else:
        parts = []
    if "up" in values and "down" in values:
        parts.append(line(str(values.pop("down")[1]), str(values.pop("up")[1])))
    if parts and "hosts" not in values:
        values = {name: pair for name, pair in values.items() if pair[1] not in USUAL}
    parts += [
        limiter(study, str(value)) if name == "profile" else _part(name, path, value)
        for name, (path, value) in values.items()
    ]
    return ", ".join(dict.fromkeys(parts))


def setting(where: Where) -> str:
    """Settings of a claim in words."""
    return ", ".join(
        _part(
            name.rpartition(".")[2], name, json.dumps(value) if isinstance(value, dict) else value
        )
        for name, value in where.items()
    )


def limiter(study: StudyEvidence, profile: str) -> str:
    """How a client hands out its upload: real programs play this name by another limiter."""
    rules = study.results.study.get("profiles", {}).get(profile, {}).get("limiter", {})
    return LIMITERS["azureus" if rules.get("tick") == "none" else "half-second"]


def stretch(study: StudyEvidence) -> str:
    """What of a run is counted, as a sentence begins."""
    begins, ends = begin_s(study), max(run.end_s for run in study.points.runs.values())
    return f"From {begins:.0f} s to {ends:.0f} s" if begins else f"{ends:.0f} s from the start"


def case(study: StudyEvidence, point: Point) -> str:
    """What was changed at a point of the study that looks for causes."""
    queue, stack, rtt = (
        str(study.value(point, name)) for name in ("up_queue", "home.stack", "network.rtt")
    )
    if "fq-codel" in queue:
        return CASES["fq-codel"]
    return CASES.get(stack) or CASES.get(rtt) or CASES[queue]


def control(study: StudyEvidence, point: Point) -> tuple[str, Where]:
    """How the upload is limited at a point, and the settings that select that."""
    swept = {path for axis in study.points.axes for path in axis.paths}
    where: dict[str, object] = {}
    says = []
    for name in ("upload", "upload_control"):
        path = next((path for path in swept if path.endswith(f".{name}")), None)
        if path is not None:
            where[path] = study.value(point, path)
            said = _part(name, path, where[path])
            says += [] if said == NO_LIMIT else [said]
    return ", ".join(says) or NO_LIMIT, where


def line(down: str, up: str) -> str:
    """A line: its number in Table I, if it stands there, or else its rates."""
    number = next((n for n, rates in LINES.items() if rates == (down, up)), None)
    rates = f"{down} down, {up} up"
    return rates if number is None else f"line {number}"


def _part(name: str, path: str, value: object) -> str:
    """A swept value in words."""
    text = shown(value)
    match name:
        case "upload":
            return (
                "nothing uploaded"
                if text == "0 B/s"
                else (NO_LIMIT if text == "unlimited" else f"limit {text}")
            )
        case "upload_control" if isinstance(value, str) and value.startswith("{"):
            about = dict(json.loads(value))
            control = str(about.pop("name"))
            rest = (f"{key.replace('_', ' ')} {given}" for key, given in about.items())
            return ", ".join([CONTROLS.get(control, control), *rest])
        case "upload_control":
            return CONTROLS.get(text, text)
        case "hosts":
            return f"{text} external peer{'' if text == '1' else 's'}"
        case "stack":
            return STACKS.get(text, text)
        case "up_queue" if text.startswith("fq-codel"):
            return CASES["fq-codel"]
        case "up_queue":
            return f"buffer {text}"
        case "rtt":
            return f"RTT {text}"
        case _:
            return f"{path.rpartition('.')[2].replace('_', ' ')} {text}"
