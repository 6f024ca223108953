"""The page's scripts give what the command gives: plans, seeds, studies, numbers."""

import json
import random
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from tests.docs.voice import offences, plain
from tests.playground.conftest import Node
from tests.playground.test_scenes import NAMES, Scenes, places_of

from flashcrowd import _core
from flashcrowd.base.metrics import parse
from flashcrowd.report import measures
from flashcrowd.report.points import points_of
from flashcrowd.study import Study, runner
from flashcrowd.study.seeds import seed_of


def test_seeds_are_those_of_the_command(node: Node) -> None:
    seeds = [0, 1, 2, 17, 999_999_999]
    body = (
        "return given.seeds.map((seed) => [0, 1, 2, 3].map((repeat) => study.seed(seed, repeat)));"
    )
    expected = [[str(seed_of(seed, repeat)) for repeat in range(4)] for seed in seeds]
    assert node(body, seeds=seeds) == expected


@pytest.mark.parametrize("name", NAMES)
def test_the_page_makes_the_plans_of_the_builder(
    name: str, scenes: Scenes, builder: ModuleType, node: Node
) -> None:
    chance = random.Random(name)
    many = [places_of(scenes[name], chance) for _ in range(10)]
    body = "return given.many.map((places) => study.plan(given.scene, places));"
    plans = node(body, scene=scenes[name], many=many)
    assert [json.loads(plan) for plan in plans] == [
        builder.with_knobs(scenes[name], places) for places in many
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_downloaded_study_has_the_baseline_and_the_settings(
    name: str, scenes: Scenes, builder: ModuleType, node: Node
) -> None:
    scene, chance = scenes[name], random.Random(name)
    start, base = ([knob[role] for knob in scene["knobs"]] for role in ("start", "base"))
    for places, against in [(start, base), (places_of(scene, chance), places_of(scene, chance))]:
        body = 'return study.toml(given.scene, given.places, given.against, 5, "a link");'
        text = node(body, scene=scene, places=places, against=against)
        study = Study.from_dict(tomllib.loads(text))
        plans = [json.loads(point.plan().to_json()) for point in study.points()]
        assert plans == [builder.with_knobs(scene, it) for it in (against, places)]
        assert (study.seed, study.repeats) == (5, scene["repeats"])


def test_the_baseline_alone_is_the_scene_itself(scenes: Scenes, node: Node) -> None:
    scene = scenes["home"]
    base = [knob["base"] for knob in scene["knobs"]]
    body = "return study.toml(given.scene, given.base, given.base, 1, '');"
    assert node(body, scene=scene, base=base) == scene["study"]


def test_a_link_holds_the_settings(scenes: Scenes, node: Node) -> None:
    everything, chance = list(scenes.values()), random.Random(4)
    for scene in everything:
        places, against = places_of(scene, chance), places_of(scene, chance)
        body = """
        const scene = given.all.find((it) => it.key === given.key);
        const told = study.fragment({ ...given, scene, pinned: true, seed: 12 });
        const plain = study.fragment({ ...given, scene, pinned: false, seed: 12 });
        return [study.state(given.all, told), study.state(given.all, plain)];
        """
        told, plain = node(body, all=everything, key=scene["key"], places=places, against=against)
        assert told.pop("scene")["key"] == scene["key"]
        assert told == {
            "places": places, "against": against, "pinned": True, "seed": 12, "wrong": []
        }  # fmt: skip
        base = [knob["base"] for knob in scene["knobs"]]
        assert (plain["places"], plain["against"], plain["pinned"]) == (places, base, False)


def test_what_a_link_has_and_the_page_does_not_know_is_named(scenes: Scenes, node: Node) -> None:
    body = "return study.state(given.all, given.link);"
    link = "#scene=home&queue=7+packets&speed=3&seed=x"
    found = node(body, all=list(scenes.values()), link=link)
    assert found["scene"]["key"] == "home"
    assert found["wrong"] == ["queue = 7 packets", "seed = x", "speed"]
    assert found["places"] == [knob["start"] for knob in found["scene"]["knobs"]]


@pytest.mark.parametrize("name", NAMES)
def test_numbers_and_intervals_are_those_of_a_report(
    name: str, scenes: Scenes, node: Node, tmp_path: Path
) -> None:
    scene = scenes[name]
    start, base = ([knob[role] for knob in scene["knobs"]] for role in ("start", "base"))
    body = "return study.toml(given.scene, given.places, given.against, 1, '');"
    file = tmp_path / "study.toml"
    file.write_text(node(body, scene=scene, places=start, against=base), encoding="utf-8")
    study = Study.load(file)
    results = runner.run(study, tmp_path / "results")
    points = points_of(results)
    for measure in scene["measures"]:
        found = measures.named(results, parse(measure["name"]))
        (ours,) = [it for it in found if measure["name"] in (it.name, f"{it.name} of {it.of}")]
        for point, plan in zip(points.points, study.points(), strict=True):
            tables = [
                {
                    key: pa.table(table).to_pydict()
                    for key, table in _core.simulate(plan.plan().parsed, seed_of(1, it)).items()
                    if key in ("run", "downloads", "pings", "transfers", "origins")
                }
                for it in range(scene["repeats"])
            ]
            body = """
            const values = given.tables.map((it) => answer.value(given.name, it));
            return { values, ...answer.estimate(values, 0) }; // a NaN is null in JSON
            """
            theirs = node(body, tables=tables, name=measure["name"])
            expected = ours.at(point)
            if expected is None:
                assert theirs["values"] == [None] * scene["repeats"]
                continue
            assert theirs["mean"] == pytest.approx(expected.mean, rel=1e-12)
            assert theirs["low"] == pytest.approx(expected.low, rel=1e-9)
            assert theirs["high"] == pytest.approx(expected.high, rel=1e-9)


SENTENCES: list[tuple[dict[str, str], list[list[float]], list[list[float]], list[str]]] = [
    (
        {"uploads": "1"},
        [[2000, 2010, 1990, 2000]],
        [[30, 31, 29, 30]],
        [
            "When an upload runs, 95 of 100 pings come back within 2,000 ms.",
            "That is 67 times the 30 ms of the baseline, where no upload runs.",
            "4 runs: the 95 % interval is 1,987 to 2,013 ms.",
        ],
    ),
    (
        {"uploads": "1", "queue": "fq-codel"},
        [[40]],
        [[30]],
        [
            "When an upload runs and the queue is FQ-CoDel,"
            " 95 of 100 pings come back within 40 ms.",
            "That is 33 % more than the 30 ms of the baseline,"
            " where no upload runs and the queue holds 200 packets.",
            "1 of 4 runs.",
        ],
    ),
    (
        {"uploads": "1"},
        [[30, 33, 30, 29]],
        [[30, 31, 30, 30]],
        [
            "When an upload runs, 95 of 100 pings come back within 30.5 ms.",
            "That is not clearly different from the 30.3 ms of the baseline, where no upload runs.",
            "4 runs: the 95 % interval is 27.7 to 33.3 ms.",
        ],
    ),
    (
        {"uploads": "0"},
        [[30, 30, 30, 30]],
        [[30, 30, 30, 30]],
        [
            "In the baseline, where no upload runs, 95 of 100 pings come back within 30 ms.",
            "4 runs: the 95 % interval is 30.0 to 30.0 ms.",
        ],
    ),
    ({"uploads": "1"}, [[]], [[]], ["No value: no run ended as planned."]),
]


@pytest.mark.parametrize(("link", "mine", "theirs", "expected"), SENTENCES)
def test_the_answer_is_condition_number_doubt_and_comparison(
    link: dict[str, str],
    mine: list[list[float]],
    theirs: list[list[float]],
    expected: list[str],
    scenes: Scenes,
    node: Node,
) -> None:
    fragment = "#scene=home&" + "&".join(f"{key}={value}" for key, value in link.items())
    body = (
        "return answer.sentences(study.state(given.all, given.link), given.mine, given.theirs, 4);"
    )
    found: list[Any] = node(
        body, all=list(scenes.values()), link=fragment, mine=mine, theirs=theirs
    )
    assert [it.replace("\u00a0", " ") for it in found] == expected
    # A median is of more than three sentences.
    wrong = offences([plain("answer", " ".join(found))])
    assert [it for it in wrong if "half of the sentences" not in it] == []


def test_a_run_that_was_cut_off_does_not_count(node: Node) -> None:
    body = """
    const tables = (outcome) => ({ run: { outcome: [outcome] }, pings: { rtt_s: [0.5, null] } });
    return ["completed", "stopped", "undelivered", "horizon", "stalled"]
        .map((outcome) => answer.value("p95 ping", tables(outcome)));
    """
    assert node(body) == [500, 500, None, None, None]
