"""A study without mistakes, and every kind of mistake that somebody can make in it."""

import copy
import tomllib
from typing import Any

STUDY = """
format = 1
title = "A small study"
repeats = 2

[network]
rtt = "100 ms"

[network.groups.seed]

[network.groups.leechers]
hosts = 3
access = "ADSL 1/8"

[network.links.neck]
rate = "1 Mbit/s"

[network.paths.narrow]
between = ["seed", "leechers"]
through = ["neck"]

[workloads.swarm]
kind = "swarm"
size = "1 MB"

[workloads.swarm.populations.seed]
role = "seed"
group = "seed"

[workloads.swarm.populations.leechers]
group = "leechers"
upload = "50 kB/s"

[workloads.bulk]
kind = "transfer"
from = "seed"
to = "leechers-1"
size = "1 MB"

[workloads.echo]
kind = "ping"
from = "seed"
to = "leechers-2"

[stacks.mine]
base = "linux-6"

[profiles.mine]
base = "modern"

[timeline.dip]
at = "5 s"
change = "network.links.neck.rate"
to = "500 kbit/s"

[sweep]
network.rtt = ["0 ms", "400 ms"]
"""

REMOVED = object()
"""In place of a value: the key is not there."""

_LEECHERS = "workloads.swarm.populations.leechers"

MISTAKES: dict[str, tuple[str, Any]] = {
    "time without unit": ("network.rtt", "400"),
    "number for a time": ("network.rtt", 400),
    "plain zero": ("network.rtt", 0),
    "negative time": ("network.rtt", "-3 ms"),
    "rate for a time": ("network.rtt", "3 kB/s"),
    "misspelt unit": ("network.rtt", "400 mss"),
    "delay too long": ("network.rtt", "1 h"),
    "misspelt key": ("network.rt", "400 ms"),
    "misspelt key at the top": ("titel", "x"),
    "share without unit": ("network.loss", "5"),
    "loss of more than all": ("network.loss", "150 %"),
    "unknown kind of loss": ("network.loss", {"kind": "gilbert"}),
    "half of a loss": ("network.loss", {"kind": "gilbert-elliott", "to_bad": "1 %"}),
    "misspelt loss": ("network.loss", {"probabilty": "5 %"}),
    "impossible bursts": ("network.loss", "80 % in bursts of 2"),
    "unknown side": ("network.loss", {"probability": "5 %", "side": "reciever"}),
    "unknown shape": ("network.jitter", {"shape": "unifrm", "spread": "1 ms"}),
    "no groups": ("network.groups", {}),
    "no hosts": ("network.groups.seed.hosts", 0),
    "text for a number": ("network.groups.seed.hosts", "3"),
    "bad name": ("network.groups.two words", {"hosts": 1}),
    "name of a host": ("network.groups.leechers-1", {"hosts": 1}),
    "too many hosts": ("network.groups.leechers.hosts", 1_000_000),
    "unknown access line": ("network.groups.leechers.access", "ADSL 1/9"),
    "misspelt key of a line": ("network.groups.leechers.access", {"up_que": "3 packets"}),
    "key of a line beside its name": ("network.groups.leechers.up_queue", "fq-codel"),
    "key of a line beside no line": ("network.groups.seed.up_queue", {"kind": "fq-codel"}),
    "key of the network at the top": ("rtt", "20 ms"),
    "key of a web seed that is none": (
        "workloads.swarm.web_seeds",
        [{"origin": "echo", "orign": 1}],
    ),
    "queue without unit": ("network.groups.leechers.access", {"up_queue": "3"}),
    "rate of zero": ("network.groups.leechers.access", {"up": "0 kbit/s"}),
    "unknown stack": ("network.groups.leechers.stack", "linux6"),
    "unknown stack of the network": ("network.stack", "windows"),
    "path to nowhere": ("network.paths.narrow.between", ["seed", "leecher"]),
    "path of one end": ("network.paths.narrow.between", ["seed"]),
    "unknown link": ("network.paths.narrow.through", ["nek"]),
    "two paths for a pair": ("network.paths.other", {"between": ["leechers", "seed"]}),
    "unknown distribution": ("network.rtt", {"file": "iplan"}),
    "missing file": ("network.rtt", {"file": "no/such.csv"}),
    "falling distribution": ("network.rtt", {"points": [["0 %", "5 ms"], ["50 %", "1 ms"]]}),
    "no workloads": ("workloads", {}),
    "no kind": ("workloads.swarm.kind", REMOVED),
    "unknown kind": ("workloads.swarm.kind", "swam"),
    "no size": ("workloads.swarm.size", REMOVED),
    "ambiguous size": ("workloads.swarm.size", "1 KB"),
    "too many pieces": ("workloads.swarm.size", "300 GB"),
    "too many blocks": ("workloads.swarm.block", "1 B"),
    "block larger than a piece": ("workloads.swarm.block", "1 MiB"),
    "block larger than the client's": ("workloads.swarm.block", "32 KiB"),
    "no populations": ("workloads.swarm.populations", REMOVED),
    "no populations in the table of them": ("workloads.swarm.populations", {}),
    "no seeds": ("workloads.swarm.populations.seed.role", "leecher"),
    "no leechers": (f"{_LEECHERS}.role", "seed"),
    "unknown role": ("workloads.swarm.populations.seed.role", "sed"),
    "unknown group": (f"{_LEECHERS}.group", "lechers"),
    "group that is missing": (f"{_LEECHERS}.group", "office"),
    "population without hosts": (f"{_LEECHERS}.group", "seed"),
    "more peers than hosts": (f"{_LEECHERS}.hosts", 7),
    "unknown profile": (f"{_LEECHERS}.profile", "mainline"),
    "unknown transport": (f"{_LEECHERS}.transport", "linux-5"),
    "unknown data transport": (f"{_LEECHERS}.data_transport", "inherit"),
    "unknown transport of a transfer": ("workloads.bulk.transport", "udp"),
    "delay drawn from one": ("network.groups.leechers.access", {"delay": "5 ms, drawn"}),
    "instants that do not match": (f"{_LEECHERS}.arrivals", {"kind": "times", "at": ["1 s"]}),
    "arrivals without a gap": (f"{_LEECHERS}.arrivals", "poisson"),
    "departure without unit": (f"{_LEECHERS}.departure", "after 5"),
    "departure in other words": (f"{_LEECHERS}.departure", "exactly 60 s"),
    "replacement of who stays": (f"{_LEECHERS}.replace", True),
    "tracker on many hosts": ("workloads.swarm.tracker", "leechers"),
    "unknown host": ("workloads.bulk.from", "sed"),
    "transfer to itself": ("workloads.bulk.to", "seed"),
    "stop before the start": ("workloads.bulk.stop", "0 s"),
    "ping too small": ("workloads.echo.size", "20 B"),
    "name of a flow": ("workloads.bulk-1", {"kind": "ping", "from": "seed", "to": "leechers-1"}),
    "unknown base": ("stacks.mine.base", "linux-7"),
    "no base": ("stacks.mine.base", REMOVED),
    "misspelt key of a stack": ("stacks.mine.min_rt", "1 s"),
    "value of a stack out of range": ("stacks.mine.min_rto", "2 h"),
    "unknown controller": ("stacks.mine.controller", "cubik"),
    "inconsistent stack": ("stacks.mine.max_rto", "500 ms"),
    "inconsistent part of a stack": ("stacks.mine.delayed_ack", {"max": "1 ms"}),
    "slots in words": ("profiles.mine.choker", {"slots": "four"}),
    "unknown backlog": ("profiles.mine.requests", {"backlog": {"kind": "fixd"}}),
    "change of nothing": ("timeline.dip.change", "network.links.nek.rate"),
    "change of what cannot change": ("timeline.dip.change", "measures.pieces"),
    "change to nonsense": ("timeline.dip.to", "fast"),
    "change that takes the rate away": ("timeline.dip.to", "unlimited"),
    "change after the end": ("timeline.dip.at", "25 h"),
    "change without a value": ("timeline.dip", {"at": "5 s"}),
    "stop of nothing": ("timeline.dip", {"at": "5 s", "stop": "bulc"}),
    "unknown series": ("measures.series", {"queue-dely": "1 s"}),
    "series too often": ("measures.series", {"queue-delay": "0 s"}),
    "no horizon": ("stop.horizon", "0 s"),
    "sweep of nothing": ("sweep", {"network.rt": ["0 ms"]}),
    "sweep of an unknown name": ("sweep", {"workloads.swrm.size": ["1 MB"]}),
    "sweep into a word": ("sweep", {"network.loss.probability": ["1 %"]}),
    "sweep of seeds": ("sweep", {"seed": [1, 2]}),
    "sweep of a base": ("sweep", {"stacks.mine.base": ["linux-6"]}),
    "sweep without values": ("sweep", {"network.rtt": []}),
    "sweep of one value": ("sweep", {"network.rtt": "5 ms"}),
    "sweep that is no table": ("sweep", 5),
    "sweep of equal values": ("sweep", {"network.rtt": ["0 ms", "0 ms"]}),
    "sweep with a wrong unit": ("sweep", {"network.rtt": ["0 ms", "400"]}),
    "sweep out of range": ("sweep", {"network.groups.seed.hosts": [1, 0]}),
    "sweep to an impossible group": ("sweep", {f"{_LEECHERS}.group": ["leechers", "seed"]}),
    "sweep that breaks something else": ("sweep", {"network.groups.leechers.hosts": [3, 1]}),
    "sweep of unequal lists": (
        "sweep",
        [{"network.rtt": ["0 ms", "1 ms"], "network.loss": ["1 %"]}],
    ),
    "sweep of a part and the whole": ("sweep", {"network.rtt": ["0 ms"], "network": [1]}),
    "no rate at all": ("network.links.neck.rate", "none"),
    "no upload or no limit": (f"{_LEECHERS}.upload", "none"),
    "unknown upload controller": (f"{_LEECHERS}.upload_control", "adaptive-drc"),
    "unknown upload controller in a table": (f"{_LEECHERS}.upload_control", {"name": "fixd"}),
    "upload controller without a name": (f"{_LEECHERS}.upload_control", {"limit": "9 kB/s"}),
    "unknown parameter of a controller": (
        f"{_LEECHERS}.upload_control",
        {"name": "adaptive-drc-aimd", "probe_periode": "1 s"},
    ),
    "parameter of a controller out of bounds": (
        f"{_LEECHERS}.upload_control",
        {"name": "adaptive-drc-mimd", "probe_period": "1 ms"},
    ),
    "unknown interface of a client": (
        f"{_LEECHERS}.upload_control",
        {"name": "unlimited", "interface": "qbitorrent"},
    ),
    "reflector that nobody knows": (
        f"{_LEECHERS}.upload_control",
        {"name": "unlimited", "reflector": ["seed", "leecher"]},
    ),
    "reflector at home": (
        f"{_LEECHERS}.upload_control",
        {"name": "unlimited", "reflector": "leechers-2"},
    ),
    "controller of what uploads nothing": (
        _LEECHERS,
        {"group": "leechers", "upload": "0 B/s", "upload_control": "adaptive-drc-aimd"},
    ),
    "no rate of a link": ("network.links.neck.rate", "0 B/s"),
    "window that ends before it begins": ("measures.window", {"from": "9 s", "to": "5 s"}),
    "window of no table": ("measures.windows", {"swarms": {"from": "9 s"}}),
    "negative seed": ("seed", -1),
    "no repeats": ("repeats", 0),
    "half a repeat": ("repeats", 2.5),
    "empty title": ("title", ""),
    "no title": ("title", REMOVED),
}


def study() -> dict[str, Any]:
    """The content of the study without mistakes."""
    return tomllib.loads(STUDY)


def wrong(path: str, value: Any) -> dict[str, Any]:
    """The study with a value at a path."""
    document: dict[str, Any] = copy.deepcopy(study())
    *above, last = path.split(".")
    table = document
    for segment in above:
        table = table.setdefault(segment, {})
    if value is REMOVED:
        del table[last]
    else:
        table[last] = value
    return document
