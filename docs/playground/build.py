"""Makes the playground: one folder of static files, from scenes and the compiled engine.

Called by `make playground`. A scene is a study (``scenes/NAME.toml``) with a page
(``scenes/NAME.knobs.toml``: words, sliders, pictures). A slider has no rule of its own. Each of its
values is lowered as `flashcrowd run` lowers it, and the places at which the plans differ are what
it changes. Two sliders must not change the same place: `verify` compares combinations with the
lowered study.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import itertools
import json
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from flashcrowd.study import Study

HERE = Path(__file__).parent
SCRIPTS = ("engine", "study", "answer", "recording", "runs", "pictures", "page")
STATIC = ("index.html", "style.css", *(f"{name}.js" for name in SCRIPTS))
MOST_BYTES = 3_000_000
"""The folder's limit."""

Path_ = tuple[str | int, ...]


def lowered(scene: Path, values: dict[str, Any]) -> dict[str, Any]:
    """The plan of a scene with these values, dotted path → value."""
    (point,) = Study.load(scene, set=values).points()
    return json.loads(point.plan().to_json())


def differences(plans: Sequence[Any], path: Path_ = ()) -> Iterator[tuple[Path_, Sequence[Any]]]:
    """The deepest places at which plans differ, each with the value that every plan has there."""
    first = plans[0]
    if all(plan == first for plan in plans):
        return
    if all(isinstance(plan, dict) and plan.keys() == first.keys() for plan in plans):
        for key in first:
            yield from differences([plan[key] for plan in plans], (*path, key))
    elif all(isinstance(plan, list) and len(plan) == len(first) for plan in plans):
        for index in range(len(first)):
            yield from differences([plan[index] for plan in plans], (*path, index))
    else:
        yield path, plans


def targets(plans: Sequence[Any]) -> list[dict[str, Any]]:
    """The same, places with equal values together: a line of each home."""
    found: dict[str, dict[str, Any]] = {}
    for path, values in differences(plans):
        target = found.setdefault(json.dumps(values), {"places": [], "values": values})
        target["places"].append(path)
    return list(found.values())


def settings(knob: dict[str, Any], place: int) -> dict[str, Any]:
    """What a slider at this place sets: dotted path → value."""
    return dict.fromkeys(knob["paths"], knob["values"][place])


def with_knobs(scene: dict[str, Any], places: Sequence[int]) -> dict[str, Any]:
    """The plan of a scene with its sliders at these places, as the page makes it."""
    plan = json.loads(json.dumps(scene["plan"]))
    for knob, place in zip(scene["knobs"], places, strict=True):
        for target in knob["targets"]:
            for path in target["places"]:
                table = plan
                for step in path[:-1]:
                    table = table[step]
                table[path[-1]] = target["values"][place]
    return plan


def verify(file: Path, scene: dict[str, Any]) -> None:
    """Refuses sliders that depend on each other: each pair of values is lowered as well.

    Raises:
        ValueError: a combination gives another plan than the study.
    """
    knobs, base = scene["knobs"], [knob["base"] for knob in scene["knobs"]]
    for (a, one), (b, other) in itertools.combinations(enumerate(knobs), 2):
        for x, y in itertools.product(range(len(one["values"])), range(len(other["values"]))):
            if x == base[a] or y == base[b]:
                continue
            places = [*base]
            places[a], places[b] = x, y
            values = {**settings(one, x), **settings(other, y)}
            if with_knobs(scene, places) != lowered(file, values):
                raise ValueError(
                    f"{file.name}: {one['key']} = {one['values'][x]} and "
                    f"{other['key']} = {other['values'][y]} change the same place of the plan"
                )


def at(document: dict[str, Any], path: str) -> Any:
    """The value that a study file has at a dotted path."""
    table: Any = document
    for name in path.split("."):
        table = table[name]
    return table


def scene_of(file: Path) -> dict[str, Any]:
    """A scene as the page reads it.

    Raises:
        ValueError: a slider lacks the value that the study has, or the one that it begins with.
    """
    text = file.read_text(encoding="utf-8")
    document = tomllib.loads(text)
    page = tomllib.loads(file.with_suffix(".knobs.toml").read_text(encoding="utf-8"))
    for knob in page["knobs"]:
        for role, value in (("base", at(document, knob["paths"][0])), ("start", knob["start"])):
            if value not in knob["values"]:
                raise ValueError(f"{file.name}: {knob['key']} has no value {value!r} ({role})")
            knob[role] = knob["values"].index(value)
        plans = [lowered(file, settings(knob, it)) for it in range(len(knob["values"]))]
        knob["targets"] = targets(plans)
    numbers = {key: document[key] for key in ("title", "seed", "repeats")}
    return {"key": file.stem, **page, **numbers, "study": text, "plan": lowered(file, {})}


def scenes() -> list[Path]:
    """The scenes, in the order of the page."""
    return [HERE / f"scenes/{name}.toml" for name in ("crowd", "home", "utp", "disk")]


def script(name: str, value: Any) -> str:
    """A script that gives the page a value: a page that is opened as a file may fetch nothing."""
    return f"self.{name} = {json.dumps(value, separators=(',', ':'), ensure_ascii=False)};\n"


def build(module: Path, folder: Path) -> int:
    """Writes the playground into `folder`; its size in bytes.

    Args:
        module: the engine, compiled to WebAssembly.
        folder: it is made anew.

    Raises:
        ValueError: a scene is wrong, or the folder is larger than it may be.
    """
    made = [scene_of(file) for file in scenes()]
    for file, scene in zip(scenes(), made, strict=True):
        verify(file, scene)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in STATIC:
        shutil.copyfile(HERE / name, folder / name)
    packed = gzip.compress(module.read_bytes(), 9, mtime=0)
    (folder / "scenes.js").write_text(script("flashcrowdScenes", made), encoding="utf-8")
    packed_text = base64.b64encode(packed).decode("ascii")
    (folder / "module.js").write_text(script("flashcrowdModule", packed_text), encoding="utf-8")
    size = sum(file.stat().st_size for file in folder.iterdir())
    if size > MOST_BYTES:
        raise ValueError(f"{folder} has {size} bytes, more than {MOST_BYTES}")
    return size


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Makes the playground, a folder of static files.")
    parser.add_argument("module", type=Path, help="the engine, compiled to WebAssembly")
    parser.add_argument("folder", type=Path, help="where the playground is written")
    given = parser.parse_args()
    print(f"{given.folder}/index.html ({build(given.module, given.folder) / 1e6:.1f} MB)")
