"""The runs on which predictions are measured: points of `studies/`, and random studies."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flashcrowd import _core
from flashcrowd.base.need import Need
from flashcrowd.study import Study

STUDIES = Path(__file__).parents[2] / "studies"
POINTS = 8
"""At most so many points of a study, evenly spread over its sweep."""
LONGEST_S = 25.0
"""Points that are expected to take longer are left out: a measurement is minutes, not hours."""
RANDOM = range(2001, 2021)
"""Seeds of the random studies of the table. No constant is fitted to them."""
FITTED = range(1001, 1041)
"""Seeds of the random studies that constants are fitted to, besides the repository's."""


def need_of(plan: str) -> Need:
    """What a run of a plan (JSON) is expected to need."""
    return Need(*_core.Plan(plan).need())


def repository() -> Iterator[tuple[str, str]]:
    """Names and plans of points of the repository's studies."""
    for path in sorted(STUDIES.glob("*.toml")):
        points = Study.load(path).points()
        count = min(POINTS, len(points))
        for place in range(count):
            point = points[place * (len(points) - 1) // max(count - 1, 1)]
            plan = point.plan().to_json()
            if need_of(plan).seconds <= LONGEST_S:
                yield f"{path.stem} {point.index}", plan


def drawn(seeds: range) -> Iterator[tuple[str, str]]:
    """Names and plans of random studies."""
    for seed in seeds:
        study = random_study(seed)
        yield (
            f"random {seed}, {study['title']}",
            Study.from_dict(study).points()[0].plan().to_json(),
        )


LINES = ["ADSL 1/8", "ADSL 1/24", "VDSL 10/50", "cable 5/50", "4G 10/40", "fibre 100/100"]
CLIENTS = ["mainline-4.0.2", "modern", "libtorrent"]
CONTROLLERS = ["adaptive-drc-aimd", "auto-speed-v2", "mainline-5-deviation", "autolimit"]
UTPS = ["libutp", "libtorrent", "ledbat-plus-plus"]


def random_study(seed: int) -> dict[str, Any]:
    """A study with one to three workloads on random lines.

    Every choice is one that pages of this project or papers have, in ranges in which a run takes
    seconds.
    """
    rng = random.Random(seed)
    kind = rng.choice(["crowd", "crowd", "sessions", "churn", "flows", "origin", "home"])
    study: dict[str, Any] = {
        "format": 1,
        "title": kind,
        "seed": seed,
        "network": {
            "rtt": f"{_log(rng, 5, 400):.0f} ms",
            "stack": rng.choice(["linux-6", "linux-6", "linux-2.6"]),
            "groups": {},
        },
        "workloads": {},
        "stop": {"horizon": f"{_log(rng, 600, 86400):.0f} s"},
    }
    if rng.random() < 0.25:
        study["network"]["loss"] = f"{_log(rng, 0.1, 3):.2f} %"
    _KINDS[kind](rng, study)
    return study


def _log(rng: random.Random, least: float, most: float) -> float:
    """Between two numbers; each ratio is as likely as any other."""
    return least * (most / least) ** rng.random()


def _group(
    rng: random.Random, study: dict[str, Any], name: str, hosts: int, line: str | None
) -> None:
    access: Any = line or rng.choice(LINES)
    if hosts > 1 and rng.random() < 0.3:
        access = {"line": access, "delay": "1 ms to 25 ms, drawn"}
    study["network"]["groups"][name] = {"hosts": hosts, "access": access}


def _swarm(rng: random.Random, study: dict[str, Any], hosts: int, **more: Any) -> dict[str, Any]:
    _group(rng, study, "seeds", rng.randint(1, 2), rng.choice([*LINES, "fibre 1000/1000"]))
    _group(rng, study, "homes", hosts, None)
    client = rng.choice(CLIENTS)
    size = _log(rng, 1, 40 if hosts < 60 else 10)
    piece = rng.choice([64, 256, 256, 512, 1024])
    leechers: dict[str, Any] = {"group": "homes", "profile": client, **more}
    seeds: dict[str, Any] = {"role": "seed", "group": "seeds", "profile": client}
    if rng.random() < 0.5:
        leechers["upload"] = f"{_log(rng, 20, 400):.0f} kB/s"
    if rng.random() < 0.3:
        seeds["upload"] = f"{_log(rng, 50, 2000):.0f} kB/s"
    if rng.random() < 0.3:
        leechers["transport"] = seeds["transport"] = rng.choice(UTPS)
    swarm: dict[str, Any] = {
        "kind": "swarm",
        "size": f"{size:.1f} MB",
        "piece": f"{piece} KiB",
        "populations": {"seeds": seeds, "homes": leechers},
    }
    study["workloads"]["swarm"] = swarm
    return swarm


def _crowd(rng: random.Random, study: dict[str, Any]) -> None:
    spread = _log(rng, 1, 600)
    leaving = rng.choice(["never", "all-done", "at-once", "after 5 min"])
    arrivals = {"kind": "flash-crowd", "spread": f"{spread:.0f} s"}
    _swarm(rng, study, round(_log(rng, 5, 250)), arrivals=arrivals, departure=leaving)


def _sessions(rng: random.Random, study: dict[str, Any]) -> None:
    hosts = round(_log(rng, 10, 120))
    hours = _log(rng, 0.2, 24)
    study["stop"]["horizon"] = f"{max(hours, 0.5):.2f} h"
    stay = _log(rng, 60, 3600)
    times = {0: 0.2, 50: 0.7, 80: 1.2, 100: 3.0}
    points = [[f"{share} %", f"{stay * it:.1f} s"] for share, it in times.items()]
    leaving: Any = {"points": points}
    arrivals: dict[str, Any] = {"kind": "poisson", "gap": f"{hours * 3600 / hosts:.1f} s"}
    if rng.random() < 0.5:
        leaving = rng.choice(["at-once", f"after {stay:.0f} s", "after 50 %"])
    _swarm(rng, study, hosts, arrivals=arrivals, departure=leaving)


def _churn(rng: random.Random, study: dict[str, Any]) -> None:
    hosts = round(_log(rng, 8, 60))
    leaving = rng.choice(["at-once", "after 50 %", f"after {_log(rng, 10, 300):.0f} s"])
    arrivals = {"kind": "poisson", "gap": f"{_log(rng, 1, 20):.1f} s"}
    swarm = _swarm(rng, study, hosts, arrivals=arrivals, departure=leaving, replace=True)
    swarm["stop_after"] = round(hosts * rng.uniform(0.5, 4))


def _flows(rng: random.Random, study: dict[str, Any]) -> None:
    _group(rng, study, "server", 1, "fibre 1000/1000")
    _group(rng, study, "home", 1, None)
    for number in range(rng.randint(1, 3)):
        flow: dict[str, Any] = {"kind": "transfer", "from": "server", "to": "home"}
        flow["size"] = f"{_log(rng, 0.2, 60):.1f} MB"
        flow["flows"] = rng.choice([1, 1, 2, 5])
        flow["transport"] = rng.choice(["inherit", "inherit", *UTPS])
        if rng.random() < 0.3:
            flow["from"], flow["to"] = "home", "server"
        if rng.random() < 0.2:
            flow["limit"] = f"{_log(rng, 20, 500):.0f} kB/s"
        study["workloads"][f"flow-{number}"] = flow
    _bystanders(rng, study, "home", "server")


def _bystanders(rng: random.Random, study: dict[str, Any], home: str, server: str) -> None:
    ends = {"from": home, "to": server}
    if rng.random() < 0.4:
        study["workloads"]["call"] = {"kind": "call", **ends, "size": "200 B", "interval": "20 ms"}
    if rng.random() < 0.3:
        study["workloads"]["web"] = {"kind": "web", **ends, "users": rng.randint(1, 4)}
    if rng.random() < 0.3:
        study["workloads"]["ping"] = {"kind": "ping", **ends, "interval": "100 ms"}


def _origin(rng: random.Random, study: dict[str, Any]) -> None:
    _group(rng, study, "server", 1, "fibre 1000/1000")
    _group(rng, study, "clients", round(_log(rng, 5, 100)), None)
    study["network"]["groups"]["server"]["access"] = "fibre 1000/1000"
    spread = _log(rng, 1, 300)
    study["workloads"]["origin"] = {
        "kind": "origin",
        "host": "server",
        "files": f"{_log(rng, 1, 30):.0f} MiB",
        "policy": rng.choice(["in-order", "attach", "relevance"]),
        "populations": {
            "clients": {
                "group": "clients",
                "arrivals": {"kind": "flash-crowd", "spread": f"{spread:.0f} s"},
            }
        },
    }


def _home(rng: random.Random, study: dict[str, Any]) -> None:
    """A home that seeds to others, with what it feels of that."""
    study["stop"]["horizon"] = f"{_log(rng, 60, 600):.0f} s"
    _group(rng, study, "home", 1, rng.choice(LINES[:4]))
    _group(rng, study, "others", rng.randint(4, 20), "fibre 100/100")
    _group(rng, study, "server", 1, "fibre 1000/1000")
    seeding: dict[str, Any] = {"role": "seed", "group": "home", "profile": "libtorrent"}
    if rng.random() < 0.6:
        seeding["upload_control"] = rng.choice(CONTROLLERS)
    else:
        seeding["upload"] = f"{_log(rng, 10, 200):.0f} kB/s"
    study["workloads"]["seeding"] = {
        "kind": "swarm",
        "size": "1 GB",
        "piece": "1 MiB",
        "populations": {
            "home": seeding,
            "others": {
                "group": "others",
                "profile": "libtorrent",
                "upload": rng.choice(["0 B/s", "unlimited"]),
            },
        },
    }
    if rng.random() < 0.6:
        study["workloads"]["download"] = {"kind": "transfer", "from": "server", "to": "home"}
    _bystanders(rng, study, "home", "server")


_KINDS = {
    "crowd": _crowd,
    "sessions": _sessions,
    "churn": _churn,
    "flows": _flows,
    "origin": _origin,
    "home": _home,
}


def all() -> Iterator[tuple[str, str]]:
    """Every case: the repository's, those of the table, and those that only costs are fitted to."""
    yield from repository()
    yield from drawn(RANDOM)
    yield from drawn(FITTED)


def seed_of(name: str) -> int | None:
    """The seed of a random study, by its name."""
    return int(name.split()[1].rstrip(",")) if name.startswith("random ") else None
