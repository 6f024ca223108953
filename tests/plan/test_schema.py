"""What Python emits as a plan against the schema that comes from the types that read it.

The schema says of every field its name, its type, and whether it may be null. Every plan of the
studies, the papers and the documentation has to follow it, and every field and every variant has to
occur in one.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator, meta
from tests.engines import plans
from tests.plan import plan_types
from tests.study.test_docs import FIRST, PARTS, merged

from flashcrowd import _core
from flashcrowd.base import paths
from flashcrowd.scenario.upload_control import CONTROLLERS
from flashcrowd.study import Study

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads(_core.plan_schema())
DEFINITIONS: dict[str, Any] = SCHEMA["$defs"]
LINE = "network.groups.homes.access"
FILES = [
    path
    for path in sorted([*ROOT.glob("studies/*.toml"), *ROOT.glob("papers/*/*.toml")])
    if "network" in tomllib.loads(path.read_text(encoding="utf-8"))
]

FLOW = {"kind": "transfer", "from": "seed", "to": "homes-1"}
MIRROR = {
    "kind": "origin",
    "host": "seed",
    "files": "64 MiB",
    "populations": {"homes": {"group": "homes"}},
}
SEED = "workloads.swarm.populations.seed"
MAHIMAHI = {"file": "m", "read": "m", "capacity": "opportunities 5 9"}
VARIANTS: list[dict[str, Any]] = [
    *(
        {f"{LINE}.up_queue": {"kind": kind}}
        for kind in ("pie", "red", "choke", "sfq", "drr", "cake")
    ),
    {f"{LINE}.framing": "atm"},
    {
        f"{LINE}.up": MAHIMAHI,
        "timeline": {"other": {"at": "9 s", "change": f"{LINE}.down", "to": MAHIMAHI}},
    },
    {f"{SEED}.arrivals": {"kind": "times", "at": ["3 s"]}, f"{SEED}.departure": "after 5 min"},
    {f"{SEED}.departure": "after exactly 5 min"},
    {
        f"{SEED}.arrivals": {"per_hour": [["0 s", 0.0], ["1 s", 60]]},
        f"{SEED}.departure": {"points": [["0 %", "1 min"], ["100 %", "1 h"]]},
    },
    {f"{SEED}.arrivals": {"per_hour": [["0 s", 3]], "period": "24 h"}},
    {f"{SEED}.program": "transmission"},
    {"workloads.swarm.tracker": {"program": "opentracker"}},
    *({f"{SEED}.upload_control": name} for name in CONTROLLERS),
    {f"{SEED}.upload_control": {"name": "unlimited", "interface": "aria2"}},
    {
        "workloads.pages": {
            "kind": "web",
            "from": "homes-1",
            "to": "seed",
            "reading": {"kind": "pareto", "least": "1 s", "shape": 1.5, "longest": "1 min"},
        }
    },
    {
        "workloads.image": {
            "kind": "download",
            "from": "seed",
            "to": "homes-1",
            "mirrors": ["homes-2"],
            "size": "1 MB",
            "connections": 2,
            "range": "equal",
        }
    },
    *({"workloads.mirror": {**MIRROR, "policy": policy}} for policy in ("attach", "circus")),
    *({"workloads.mirror": {**MIRROR, "disk": disk}} for disk in ("ssd", "network-volume")),
    {
        "workloads.mirror": {
            **MIRROR,
            "policy": "in-order",
            "disk": {"positioning": {"kind": "distance"}},
        }
    },
    {"workloads.flow": {**FLOW, "transport": "libutp", "program": "libtorrent", "size": "1 MB"}},
    {
        "workloads.flow": {**FLOW, "limit": "1 Mbit/s", "stop": "1 min"},
        "measures.window": {"from": "5 s", "to": "50 s"},
        "measures.capture": {"hosts": "homes-1", "from": "5 s", "to": "50 s"},
        "measures.connections": {"of": ["flow"], "hosts": ["seed"], "to": "50 s"},
        "timeline": {
            "slower": {"at": "9 s", "change": "workloads.flow.limit", "to": "500 kbit/s"},
            "faster": {"at": "9 s", "change": f"{SEED}.upload", "to": "1 MB/s"},
            "over": {"at": "1 min", "stop": "swarm"},
        },
    },
]
"""What neither studies nor papers nor pages use, as changes to the first example of the page."""


def resolved(schema: Any) -> tuple[str, Any]:
    """A schema behind its references, with the name of its definition."""
    name = ""
    while isinstance(schema, dict) and "$ref" in schema and len(schema.keys() - ANNOTATIONS) == 1:
        name = schema["$ref"].rpartition("/")[2]
        schema = DEFINITIONS[name]
    return name, schema


ANNOTATIONS = {
    *("description", "title", "default", "format"),
    *("minimum", "exclusiveMinimum", "maximum", "atLeast"),
    *("key", "unit", "none", "true", "false"),
}
"""What may stand beside a reference; the last line is for study files."""


def validator(schema: Any) -> Draft202012Validator:
    return Draft202012Validator({**schema, "$defs": DEFINITIONS})


def branches(schema: Any) -> list[Any]:
    """The variants of a choice, without those that are a word: `test_lists` compares words."""
    every = schema.get("oneOf") or schema.get("anyOf") or []
    return [branch for branch in every if "const" not in branch]


def tag(branch: Any) -> str:
    """What a variant of a choice is called: its kind, or its one key."""
    _, branch = resolved(branch)
    kind = branch.get("properties", {}).get("kind", {})
    words = [kind.get("const"), *branch.get("required", [])]
    return next((word for word in words if isinstance(word, str) and word != "kind"), "")


def places(schema: Any, owner: str = "Plan", seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every field of every object, of every variant of every choice, by the schema."""
    name, schema = resolved(schema)
    if name in seen:
        return
    seen, owner = (seen | {name}, name) if name else (seen, owner)
    for branch in branches(schema):
        below = f"{owner}.{tag(branch)}" if tag(branch) else owner
        if below != owner:
            yield below
        yield from places(branch, below, seen)
    for key, value in schema.get("properties", {}).items():
        yield f"{owner}.{key}"
        yield from places(value, f"{owner}.{key}", seen)
    for key in ("items", "prefixItems"):
        inside = schema.get(key)
        for item in inside if isinstance(inside, list) else [inside] if inside else []:
            yield from places(item, owner, seen)


def used(value: Any, schema: Any, owner: str = "Plan") -> Iterator[str]:
    """The same of what a value has."""
    name, schema = resolved(schema)
    owner = name or owner
    for branch in branches(schema):
        if checked(json.dumps(branch)).is_valid(value):
            below = f"{owner}.{tag(branch)}" if tag(branch) else owner
            if below != owner:
                yield below
            yield from used(value, branch, below)
    for key, inside in schema.get("properties", {}).items():
        if isinstance(value, dict) and key in value:
            yield f"{owner}.{key}"
            yield from used(value[key], inside, f"{owner}.{key}")
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        for item in value:
            yield from used(item, items, owner)


@cache
def checked(schema: str) -> Draft202012Validator:
    return validator(json.loads(schema))


def documents() -> Iterator[Study]:
    """The examples of the pages about studies and queues, and the rest."""
    for changes in VARIANTS:
        document = {**FIRST, "sweep": {}}
        for path, value in changes.items():
            line = {"line": "ADSL 1/8"} if path.startswith(LINE) else None
            if line is not None:
                document = paths.replaced(document, LINE.split("."), line)
            document = paths.replaced(document, path.split("."), value)
        yield Study.from_dict(document)
    for part in PARTS:
        yield Study.from_dict(merged({**FIRST, "sweep": {}}, part))
    page = (ROOT / "docs" / "queues.md").read_text(encoding="utf-8")
    for text in re.findall(r"^```toml\n(.*?)^```$", page, flags=re.M | re.S):
        yield Study.from_dict(merged({**FIRST, "sweep": {}}, tomllib.loads(text)))


FEW = 4
"""So many points of a study, and items of a list, are looked at: the others differ in numbers."""


def cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: cut(item) for key, item in value.items()}
    return [cut(item) for item in value[:FEW]] if isinstance(value, list) else value


@cache
def plans_of(path: Path) -> list[Any]:
    points = Study.load(path).points()[:FEW]
    return [cut(json.loads(point.plan().to_json())) for point in points]


@cache
def emitted() -> list[Any]:
    examples = [it.plan().to_json() for study in documents() for it in study.points()[:FEW]]
    return [*map(cut, map(json.loads, examples)), *(it for path in FILES for it in plans_of(path))]


def test_it_is_a_schema() -> None:
    meta.validate(SCHEMA)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_plans_follow_it(path: Path) -> None:
    follow_it(plans_of(path))


def test_plans_of_the_documentation_follow_it() -> None:
    follow_it(emitted())


def follow_it(plans: list[Any]) -> None:
    """Plans have all fields, but for those that `flashcrowd.plan.types` has as not required."""
    for plan in plans:
        assert [(it.instance_path, it.message[:200]) for it in of_lowered().iter_errors(plan)] == []


@cache
def of_lowered() -> Draft202012Validator:
    return Draft202012Validator(plan_types.as_lowered(SCHEMA))


def test_what_is_left_out_is_left_out_somewhere() -> None:
    """Each field that is not required in `flashcrowd.plan.types` is missing from some plan."""
    missing = {place for plan in emitted() for place in lacking(plan, SCHEMA)}
    assert missing >= plan_types.LEFT_OUT


def lacking(value: Any, schema: Any, owner: str = "Plan") -> Iterator[str]:
    """The fields that a value does not have, of those that its schema has."""
    name, schema = resolved(schema)
    owner = name or owner
    for branch in branches(schema):
        if checked(json.dumps(branch)).is_valid(value):
            yield from lacking(value, branch, owner)
    for key, inside in schema.get("properties", {}).items():
        if isinstance(value, dict) and key in value:
            yield from lacking(value[key], inside, owner)
        elif isinstance(value, dict):
            yield f"{owner}.{key}"
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        for item in value:
            yield from lacking(item, items, owner)


def test_it_refuses_what_the_engine_refuses() -> None:
    """A field too many, one too few, and a type that is wrong, wherever in a plan."""
    plan = plans.plan(
        4, [plans.swarm(3), plans.transfer(), plans.web(), plans.call(), plans.ping()]
    )
    judge = Draft202012Validator(SCHEMA)
    assert judge.is_valid(plan)
    judged = 0
    for place in objects(plan):
        for key in [*place, "no such key"]:
            kept = dict(place)
            for value in (None, [{}]) if key in kept else ("",):
                place[key] = value
                refused = not judge.is_valid(plan)
                assert refused or accepts(plan), (key, value, kept)
                judged += refused
                place.clear()
                place.update(kept)
    assert judged > 300


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value[:1]:
        if isinstance(item, dict | list):
            yield from objects(item)


def accepts(plan: Any) -> bool:
    """Whether the engine reads it: what contradicts itself is another matter."""
    try:
        _core.Plan(json.dumps(plan)).check()
    except _core.PlanError as error:
        return not re.search(r"invalid type|unknown (field|variant)|missing field", str(error))
    return True


def shape(value: Any) -> Any:
    """A value without its numbers."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return value if isinstance(value, str | bool | None) else type(value).__name__


def test_every_field_and_variant_is_emitted() -> None:
    different = {json.dumps(shape(plan)): plan for plan in emitted()}
    found = {place for plan in different.values() for place in used(plan, SCHEMA)}
    assert sorted(set(places(SCHEMA)) - found) == []


@pytest.mark.parametrize("file", plan_types.written(), ids=lambda file: file.stem)
def test_the_types_of_plans_are_those_of_the_schema(file: Path) -> None:
    """`make plan-types` writes them."""
    made = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "-"],
        input=plan_types.written()[file],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout
    assert file.read_text(encoding="utf-8") == made
