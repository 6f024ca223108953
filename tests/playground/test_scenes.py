"""Sliders change a plan as the study would."""

import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.docs.voice import Passage, offences

from flashcrowd import _core

NAMES = ("crowd", "home", "utp", "disk")
Scenes = dict[str, dict[str, Any]]


def places_of(scene: dict[str, Any], chance: random.Random) -> list[int]:
    return [chance.randrange(len(knob["values"])) for knob in scene["knobs"]]


@pytest.mark.parametrize("name", NAMES)
def test_each_combination_of_sliders_is_the_plan_of_the_study(
    name: str, scenes: Scenes, builder: ModuleType
) -> None:
    scene, chance = scenes[name], random.Random(name)
    file = builder.HERE / f"scenes/{name}.toml"
    for _ in range(25):
        places = places_of(scene, chance)
        values: dict[str, Any] = {}
        for knob, place in zip(scene["knobs"], places, strict=True):
            values |= builder.settings(knob, place)
        plan = builder.with_knobs(scene, places)
        assert plan == builder.lowered(file, values), places
        _core.Plan(builder.json.dumps(plan)).check()


@pytest.mark.parametrize("name", NAMES)
def test_each_value_of_each_slider_changes_the_plan(name: str, scenes: Scenes) -> None:
    for knob in scenes[name]["knobs"]:
        assert knob["targets"], knob["key"]
        seen = [
            [target["values"][at] for target in knob["targets"]]
            for at in range(len(knob["values"]))
        ]
        assert all(seen[a] != seen[b] for a in range(len(seen)) for b in range(a)), knob["key"]


def test_sliders_of_one_place_are_refused(builder: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    for part in ("home.toml", "home.knobs.toml"):
        text = (builder.HERE / "scenes" / part).read_text(encoding="utf-8")
        (tmp_path / part).write_text(text, encoding="utf-8")
    page = tmp_path / "home.knobs.toml"
    again = """
[[knobs]]
key = "packets"
label = "The same queue"
paths = ["network.groups.home.access.up_queue"]
values = ["200 packets", "30 packets"]
start = "200 packets"
says = "{}"
"""
    page.write_text(page.read_text(encoding="utf-8") + again, encoding="utf-8")
    with pytest.raises(ValueError, match="change the same place of the plan"):
        builder.verify(file, builder.scene_of(file))


def test_a_slider_without_the_studys_value_is_refused(builder: ModuleType, tmp_path: Path) -> None:
    for part in ("home.toml", "home.knobs.toml"):
        text = (builder.HERE / "scenes" / part).read_text(encoding="utf-8")
        text = text.replace('up_queue = "200 packets"', 'up_queue = "201 packets"')
        (tmp_path / part).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="queue has no value '201 packets'"):
        builder.scene_of(tmp_path / "home.toml")


def words_of(value: Any) -> Iterator[str]:
    """All texts in a table, its keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from words_of(part)


@pytest.mark.parametrize("name", NAMES)
def test_a_scene_is_written_in_plain_english(name: str, builder: ModuleType) -> None:
    page = (builder.HERE / f"scenes/{name}.knobs.toml").read_text(encoding="utf-8")
    study = (builder.HERE / f"scenes/{name}.toml").read_text(encoding="utf-8")
    comments = re.sub(r"^(?!# ).*\n|^# ", "", study, flags=re.MULTILINE)
    said = [*words_of(tomllib.loads(page)), comments]
    assert offences(Passage(name, text) for text in said) == []
