"""Drawings of networks: what is named, that nothing lies over anything else, and that it fits."""

from collections.abc import Iterator
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from flashcrowd.cli import main
from flashcrowd.diagram import draw, layout, network
from flashcrowd.scenario.flows import Flow
from flashcrowd.scenario.workloads import Workload
from flashcrowd.study import Study

WORKLOADS = get_args(get_args(Workload)[0])
STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))
SVG = "{http://www.w3.org/2000/svg}"

Rectangle = tuple[float, float, float, float]


def study(groups: int, *, links: int = 0, timeline: bool = False) -> dict[str, Any]:
    """A study with many groups, each joined to the next by a path over shared links."""
    names = [f"group-with-a-long-name-{number}" for number in range(groups)]
    made: dict[str, Any] = {
        "format": 1,
        "title": "Made for a test",
        "network": {
            "rtt": "10 ms",
            "groups": {
                name: {"hosts": 2, "access": "ADSL 1/8", "stack": "linux-6"} for name in names
            },
            "links": {
                f"link-{number}": {"rate": "10 Mbit/s", "delay": "3 ms", "loss": "1 %"}
                for number in range(links)
            },
            "paths": {
                f"path-{number}": {
                    "between": [names[number % groups], names[(number + 1) % groups]],
                    "through": [f"link-{number}", f"link-{(number + 1) % links}"],
                    "rtt": "20 ms",
                }
                for number in range(min(links, groups - 1))
                if links > 1
            },
        },
        "workloads": {
            f"load-{number}": {"kind": "transfer", "from": f"{names[number - 1]}-1",
                               "to": f"{names[number]}-2", "size": "1 MB"}
            for number in range(groups)
        },
    }  # fmt: skip
    if timeline:
        made["timeline"] = {
            f"step-{n}": {"at": f"{1 + n // 3} s", "change": "network.rtt", "to": f"{n + 1} ms"}
            for n in range(14)
        }
    return Study.from_dict(made).resolved()


@cache
def loaded(path: Path) -> dict[str, Any]:
    return Study.load(path).resolved()


def cases() -> Iterator[Any]:
    """What makes each study, as every worker collects all tests and runs few."""
    for path in STUDIES:
        yield pytest.param(partial(loaded, path), id=path.stem)
    for groups in (1, 2, 5, 12):
        yield pytest.param(partial(study, groups), id=f"{groups} groups")
    yield pytest.param(partial(study, 6, links=6, timeline=True), id="links in chains")


CASES = list(cases())
assert len(STUDIES) > 8


@pytest.fixture
def resolved(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param()


def labels(root: ElementTree.Element) -> list[tuple[str, Rectangle]]:
    """Every text with the rectangle that DejaVu Sans takes for it."""
    found = []
    for text in root.iter(f"{SVG}text"):
        style = text.attrib["style"]
        size = float(style.split("px")[0].split()[-1])
        weight = "bold" if "bold" in style else "normal"
        says = text.text or ""
        left, low, right, high = extents(says, size, weight)
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        x -= (left + right) / 2 if "middle" in style else 0
        found.append((says, (x + left, y - high, x + right, y - low)))
    return found


@cache
def extents(says: str, size: float, weight: str) -> Rectangle:
    """What a text takes of DejaVu Sans: least and largest x and y of its outlines' points."""
    font = FontProperties(family="DejaVu Sans", weight=weight)
    outline = TextPath((0, 0), says, size=size, prop=font)
    # Where an outline closes, its point means nothing.
    points = np.asarray(outline.vertices)[np.asarray(outline.codes) != outline.CLOSEPOLY]
    (left, low), (right, high) = points.min(axis=0), points.max(axis=0)
    return float(left), float(low), float(right), float(high)


def boxes(root: ElementTree.Element) -> list[Rectangle]:
    found = []
    for rect in root.iter(f"{SVG}rect"):
        x, y, across, down = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        found.append((x, y, x + across, y + down))
    return found


def meet(one: Rectangle, other: Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def inside(one: Rectangle, other: Rectangle) -> bool:
    return (
        one[0] >= other[0] and one[1] >= other[1] and one[2] <= other[2] and one[3] <= other[3]
    )  # fmt: skip


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("resolved", CASES, indirect=True)
def test_everything_is_named_and_nothing_lies_over_anything(
    resolved: dict[str, Any], narrow: bool
) -> None:
    root = ElementTree.fromstring(draw(resolved, narrow=narrow))
    across, down = (float(end) for end in root.attrib["viewBox"].split()[2:])
    page = (0.0, 0.0, across, down)
    texts = labels(root)
    says = " ".join(text.replace("\u00a0", " ") for text, _ in texts)
    broken = says.replace(" ", "")
    given = resolved["network"]
    names = [*given["groups"], *given["links"], *resolved["workloads"], *given["paths"]]
    for name in names:
        assert name.replace(" ", "") in broken
    for change in resolved["timeline"].values():
        assert f"{change['at']}: " in says
    placed = boxes(root)
    assert len(placed) >= len(given["groups"]) + len(given["links"])
    for one, other in combinations(placed, 2):
        assert not meet(one, other)
    for (one, a), (other, b) in combinations(texts, 2):
        assert not meet(a, b), (one, other)
    for text, found in texts:
        assert inside(found, page), text
        around = [box for box in placed if meet(found, box)]
        assert all(inside(found, box) for box in around), text
    for box in placed:
        assert inside(box, page)


@pytest.mark.parametrize("resolved", CASES, indirect=True)
def test_every_group_is_joined_to_the_rest(resolved: dict[str, Any]) -> None:
    diagram = network.read(resolved)
    joined = {group for group, _ in diagram.edges}
    assert joined == set(range(len(diagram.groups)))
    lines = ElementTree.fromstring(draw(resolved)).findall(f"{SVG}path[@class='line']")
    assert len(lines) == len(diagram.edges) + len(diagram.chained)


def test_what_varies_has_no_value_of_its_own() -> None:
    resolved = Study.load(STUDIES[0].with_name("latency.toml")).resolved()
    for narrow in (False, True):
        texts = [text for text, _ in labels(ElementTree.fromstring(draw(resolved, narrow=narrow)))]
        assert "round trip varies" in texts
        assert "loss varies" in texts
        assert not any("round trip 0" in text.replace("\u00a0", " ") for text in texts)


def test_lines_and_numbers_that_vary_are_not_those_of_one_point() -> None:
    made = study(2) | {
        "sweep": {
            "network.groups.group-with-a-long-name-0.access": ["cable 5/50", "none"],
            "network.groups.group-with-a-long-name-1.hosts": [2, 3],
            "workloads.load-0.flows": [1, 2],
        }
    }
    resolved = Study.from_dict(made).resolved()
    zero, one = network.read(resolved).groups
    assert zero.lines == ["line varies", "TCP linux-6"]
    assert one.title == "group-with-a-long-name-1 · hosts vary"
    assert any(task.text.endswith("(flows vary)") for task in one.tasks)
    for narrow in (False, True):
        assert ElementTree.fromstring(draw(resolved, narrow=narrow)) is not None


def test_a_round_trip_does_not_hide_that_lines_have_delays() -> None:
    """A ping over ADSL takes 10 ms of the network and twice 12.5 ms of each line."""
    diagram = network.read(Study.from_dict(study(2)).resolved())
    assert diagram.between[0].lines == ["round trip 10 ms", "plus the delays of lines"]
    assert "delay 12.5 ms each way" in diagram.groups[0].lines
    bare = study(2)
    for group in bare["network"]["groups"].values():
        del group["access"]
    diagram = network.read(Study.from_dict(bare).resolved())
    assert diagram.between[0].lines == ["round trip 10 ms"]


def test_lines_cross_no_box_of_a_narrow_drawing() -> None:
    found = layout.narrow(network.read(study(6, links=6)))
    left = min(placed.x for placed in (*found.groups, *found.between))
    assert 0 < min(found.lanes) < max(found.lanes) < left
    assert len(set(found.lanes)) == len(found.lanes)


def test_a_narrow_drawing_can_be_read_on_a_phone() -> None:
    for case in CASES:
        drawn = draw(case.values[0](), narrow=True)
        width = float(ElementTree.fromstring(drawn).attrib["viewBox"].split()[2])
        assert layout.TEXT * (400 - 2 * 0.8 * 16) / width >= 11


def test_links_of_a_chain_are_joined_and_paths_say_what_they_cost() -> None:
    diagram = network.read(study(6, links=6))
    assert (0, 1) in diagram.chained
    assert "path-0: rtt 20 ms" in diagram.between[0].lines
    assert "delay 3 ms, loss 1 %" in diagram.between[0].lines
    assert diagram.between[-1].title == "between all others"


def test_a_sweep_is_a_table_or_several() -> None:
    axes = {"network.rtt": ["1 ms", "2 ms"], "network.loss": ["0 %", None]}
    for sweep in (axes, [axes], [{path: values} for path, values in axes.items()]):
        assert network.read({**study(2), "sweep": sweep}).swept == [
            "network.rtt: 1 ms, 2 ms", "network.loss: 0 %, none",
        ]  # fmt: skip


def test_who_does_what() -> None:
    diagram = network.read(Study.load(STUDIES[0].parent / "upload-limit.toml").resolved())
    home = next(group for group in diagram.groups if group.name == "home")
    assert [task.text for task in home.tasks] == [
        "seeds seeding (1 GB), as home, upload limit varies",
        "download: receives from server", "game: pings server",
    ]  # fmt: skip
    assert home.lines[:3] == [
        "line ADSL 1/8", "↑ 1 Mbit/s, queue varies", "↓ 8 Mbit/s, queue 200 packets",
    ]  # fmt: skip


def test_every_kind_of_workload_between_two_hosts_is_said_in_words_of_its_own() -> None:
    kinds = [it.model_fields["kind"].default for it in WORKLOADS if issubclass(it, Flow)]
    assert len(kinds) > 3
    resolved = study(2)
    ends = {end: resolved["workloads"]["load-0"][end] for end in ("from", "to")}

    def says(kind: str) -> tuple[str, ...]:
        diagram = network.read({**resolved, "workloads": {"it": {"kind": kind, **ends}}})
        return tuple(task.text for group in diagram.groups for task in group.tasks)

    for kind in kinds:
        assert len(says(kind)) == 2
        assert all(text.startswith("it: ") for text in says(kind))
    assert len({says(kind) for kind in kinds}) == len(kinds)
    assert all(text.startswith("it: new with ") for text in says("new"))


def test_the_command_writes_a_file_or_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "net.svg"
    for options in (["-o", str(file)], []):
        with pytest.raises(SystemExit) as ended:
            main(["draw", str(STUDIES[0]), *options])
        assert ended.value.code == 0
    assert file.read_text(encoding="utf-8") in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["draw", str(STUDIES[0]), "-o", str(tmp_path / "no" / "net.svg")])
    assert ended.value.code == 2
    assert "a file that can be written" in capsys.readouterr().err


def test_names_from_a_study_cannot_become_markup() -> None:
    resolved = study(2)
    resolved["network"]["groups"]["group-with-a-long-name-0"]["access"]["line"] = "<script>"
    assert "<script" not in draw(resolved)


def cities(count: int, *, placed: bool) -> dict[str, Any]:
    """A ring of places with a spoke to the first from every third, and hosts at every other."""
    places = {
        f"p{n}": {"label": f"Place {n}"}
        | ({"coordinates": [50 + 9 * (n % 5), -30 + 60 * n / count]} if placed else {})
        for n in range(count)
    }
    pairs = [(n, (n + 1) % count) for n in range(count)]
    pairs += [(0, n) for n in range(3, count - 1, 3)]
    edges = {
        f"{a} - {b}": {"between": [f"p{a}", f"p{b}"], "delay": f"{1 + a} ms", "rate": "10 Mbit/s"}
        for a, b in pairs
    }
    made = {
        "format": 1,
        "title": "Made for a test",
        "network": {
            "topology": {"places": places, "edges": edges},
            "groups": {
                "seed": {"at": "p0"},
                "homes": {"hosts": count, "at": [f"p{n}" for n in range(0, count, 2)]},
            },
        },
        "workloads": {"f": {"kind": "transfer", "from": "seed", "to": "homes", "size": "1 MB"}},
    }
    return Study.from_dict(made).resolved()


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("placed", [False, True], ids=["sprung", "by coordinates"])
@pytest.mark.parametrize("count", [3, 10, 40])
def test_a_map_names_every_place_with_hosts_and_nothing_lies_over_anything(
    count: int, placed: bool, narrow: bool
) -> None:
    resolved = cities(count, placed=placed)
    drawn = draw(resolved, narrow=narrow)
    assert drawn == draw(resolved, narrow=narrow), "the same map is drawn the same way"
    root = ElementTree.fromstring(drawn)
    across, down = (float(end) for end in root.attrib["viewBox"].split()[2:])
    texts = labels(root)
    says = [text for text, _ in texts]
    for number in range(0, count, 2):
        name = f"Place {number}"
        assert any(it == name or f" {name}:" in it for it in says), name
    for text, found in texts:
        assert inside(found, (0.0, 0.0, across, down)), text
    words = [(text, box) for text, box in texts if not text.isdecimal()]
    for (one, a), (other, b) in combinations(words, 2):
        assert not meet(a, b), (one, other)
    dots = root.findall(f"{SVG}circle")
    assert len(dots) >= count // 2
    assert "The map of" in root.findtext(f"{SVG}title", "")


def test_arrivals_from_a_trace_and_by_rates_are_a_curve() -> None:
    resolved = Study.load(STUDIES[0].parent / "evening.toml").resolved()
    says = [text for text, _ in labels(ElementTree.fromstring(draw(resolved)))]
    assert {"When people of swarm come", "have come", "are there at most", "40"} <= set(says)
    people = resolved["workloads"]["swarm"]["populations"]["people"]
    for period in ("none", "24 h"):
        people["arrivals"] = {
            "kind": "rates", "per_hour": [["0 s", 40.0], ["30 min", 0.01]], "period": period,
        }  # fmt: skip
        says = [text for text, _ in labels(ElementTree.fromstring(draw(resolved)))]
        assert "expected to have come" in says
        # Twenty in half an hour; the others as slowly as the rate says, or on the next day.
        assert ("24.5 h" in says) == (period == "24 h")
