"""The names that a study may use, each with one sentence: lines, stacks, clients, queues, ..."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from flashcrowd import _core
from flashcrowd.engines.registry import ENGINES, here
from flashcrowd.scenario import LINES, shipped
from flashcrowd.scenario.descriptions import descriptions
from flashcrowd.scenario.discipline import TABLES
from flashcrowd.scenario.measures import Measures
from flashcrowd.scenario.origin import DISKS, POLICIES
from flashcrowd.scenario.queue import Queue
from flashcrowd.scenario.upload_control import CONTROLLERS
from flashcrowd.scenario.workloads import Workload

HOME = Path(__file__).parents[1]
STUDIES = HOME / "studies"

_SENTENCES = {
    "linux-2.6": "A Linux of about 2010: FACK, rate halving, 3 segments at first, CUBIC.",
    "linux-6": "A Linux of today: SACK, RACK-TLP, proportional rate reduction, CUBIC.",
    "freebsd-4": "FreeBSD 4.5: NewReno without SACK, windows of 64 KiB, timeouts of at least 1 s.",
    "windows-xp": "Windows XP: 12 segments of window that nothing tunes, NewReno.",
    "ns2-tcp": "Full TCP of the simulator ns-2: NewReno, no SACK, a window of 20 segments.",
    "ns2-ledbat": "ns2-tcp with LEDBAT as testa2011 simulated it: a target of 25 ms.",
    "libutp": "bittorrent/libutp since 2013.",
    "libutp-2010": "libutp at its first public commit: packets that double, pacing below a packet.",
    "libtorrent": "libtorrent's own implementation of uTP.",
    "rfc6817": "LEDBAT by RFC 6817 on uTP's wire.",
    "ledbat-plus-plus": "LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus) on uTP's wire.",
    "alpha1": "The closed client of December 2008, as rossi2010 saw it: packets of 350 bytes.",
    "alpha2": "The closed client of March 2009: packets that double, a window of 20 packets.",
    "beta1": "The closed client of August 2009: a window of 30 packets, indifferent to jitter.",
}
"""Of stacks and uTP configurations: their values ship, a sentence about them does not."""

_WORKLOADS: tuple[type[BaseModel], ...] = typing.get_args(typing.get_args(Workload)[0])

_CLIENTS = {
    "mainline-4.0.2": "BitTorrent mainline of March 2005, the client of rao2010.",
    "modern": "libtorrent's choker and request queue on mainline's other rules.",
    "libtorrent": "libtorrent 2.0 with its default settings: Fast extension, quotas, its picker.",
    "ns2-2011": "The BitTorrent module for ns-2 with which testa2011 simulated swarms.",
}
"""The same of clients."""

Entries = Mapping[str, str]


@dataclass(frozen=True)
class Kind:
    """One kind of thing.

    Attributes:
        name: what it is called in the plural.
        where: which key of a study names one.
        entries: name to sentence.
        settings: name to its settings, where it has some.
        tables: those that the names choose, where they choose tables.
        default: the key whose default is one of them; empty if none is.
    """

    name: str
    where: str
    entries: Callable[[], Entries]
    settings: Callable[[], Mapping[str, Mapping[str, Any]]] = dict
    tables: tuple[type[BaseModel], ...] = ()
    default: str = ""


def _lines() -> Entries:
    return {
        name: f"{line['down']} down, {line['up']} up, {line['delay']} each way; "
        f"queues of {line['down_queue']} down and {line['up_queue']} up."
        + (" LTE." if name.startswith("4G") else "")
        for name, line in LINES.items()
    }


def _shipped(
    all_of: Callable[[], Mapping[str, object]], sentences: Entries = _SENTENCES
) -> Callable[[], Entries]:
    return lambda: {name: sentences.get(name, "") for name in all_of()}


@cache
def _definitions() -> dict[str, Any]:
    return json.loads(_core.plan_schema())["$defs"]


def _variants(definition: str) -> Callable[[], Entries]:
    """The words of a choice of the plan, with what the engine says of each."""
    return lambda: {
        one["const"]: first_sentence(one["description"])
        for one in _definitions()[definition]["oneOf"]
    }


def _queues() -> Entries:
    own = {f'"{example}"': "" for example in ("200 packets", "64 KiB", "unlimited")}
    plain = {", ".join(own): first_sentence(Queue.__doc__).split(":")[0] + "."}
    return {**plain, **_tables(TABLES.values())()}


def _tables(tables: Iterable[type[BaseModel]]) -> Callable[[], Entries]:
    return lambda: {kind_of(table): first_sentence(table.__doc__) for table in tables}


def _measures() -> Entries:
    said = descriptions(Measures)
    return {name: first_sentence(said.get(name)) for name in Measures.model_fields}


def _upload_controllers() -> Entries:
    return {name: first_sentence(it["about"]) for name, it in CONTROLLERS.items()}


@cache
def _templates() -> Entries:
    files = sorted((HOME / "templates").glob("*.toml"))
    return {path.stem: opening(path.read_text(encoding="utf-8")) for path in files}


@cache
def _studies() -> Entries:
    found: dict[str, str] = {}
    for path in sorted(STUDIES.glob("*.toml")):
        study = tomllib.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = study.get("description") or study["title"]
    return found


@cache
def _papers() -> Entries:
    pages = sorted((HOME / "papers").glob("*/paper.toml"))
    return {path.parent.name: tomllib.loads(path.read_text("utf-8"))["title"] for path in pages}


def _engines() -> Entries:
    modules = {name: ENGINES[name].partition(":")[0] for name in here()}
    return {
        name: first_sentence(importlib.import_module(it).__doc__) for name, it in modules.items()
    }


KINDS = {
    kind.name: kind
    for kind in (
        Kind("lines", "access of a group", _lines, lambda: LINES),
        Kind("workloads", "kind of a workload", _tables(_WORKLOADS), tables=_WORKLOADS),
        Kind(
            "clients", "profile of a population",
            _shipped(shipped.profiles, _CLIENTS), shipped.profiles,
            default="workloads.NAME.populations.NAME.profile",
        ),
        Kind(
            "stacks", "stack of hosts, transport of a workload",
            _shipped(shipped.stacks), shipped.stacks, default="network.stack",
        ),
        Kind("utp", "transport of a workload", _shipped(shipped.utps), shipped.utps),
        Kind("controllers", "controller of a stack or uTP configuration", _variants("Kind")),
        Kind("upload-controllers", "upload_control of a population", _upload_controllers),
        Kind("policies", "policy of an origin", _tables(POLICIES), tables=POLICIES),
        Kind("disks", "disk of an origin", _tables(DISKS), tables=DISKS),
        Kind(
            "queues", "queue of a link, up_queue and down_queue of a line", _queues,
            tables=tuple(TABLES.values()),
        ),
        Kind("measures", "keys of measures", _measures),
        Kind("series", "keys of measures.series", _variants("Sampled")),
        Kind("templates", "flashcrowd init --template", _templates),
        Kind("studies", "flashcrowd init --template", _studies),
        Kind("papers", "flashcrowd reproduce", _papers),
        Kind("engines", "flashcrowd run --engine", _engines),
    )
}  # fmt: skip
"""Every kind by its name."""


def kind_of(table: type[BaseModel]) -> str:
    """The word by which a file chooses this table."""
    return str(table.model_fields["kind"].default)


def opening(text: str) -> str:
    """The question of a template: the comment that it begins with."""
    return text.split("\n", 1)[0].removeprefix("# ")


def first_sentence(text: str | None) -> str:
    """Up to the first full stop that ends a sentence: none in brackets, and none of "et al."."""
    words = " ".join((text or "").split())
    for end in (match.start() + 1 for match in _FULL_STOP.finditer(words)):
        sentence = words[:end]
        if sentence.count("(") == sentence.count(")") and not sentence.endswith(_SHORT):
            return sentence
    return words


_FULL_STOP = re.compile(r"\.(?= )")
_SHORT = ("et al.", "e.g.", "i.e.", " vs.")
