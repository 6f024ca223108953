"""The map of a study: places where they are, with their hosts, and the edges that packets cross."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashcrowd.diagram.layout import TEXT, TITLE, width, wrapped
from flashcrowd.diagram.panel import ACCENT, FAINT, QUIET, Panel, circle, line, number, text
from flashcrowd.scenario.edge import Edge
from flashcrowd.scenario.topology import Topology

_MARGIN = 14.0
_LINE = 13.0
_MOST_SPRUNG = 300
"""More places without coordinates are on a circle, in order of the map."""

Point = tuple[float, float]
Rectangle = tuple[float, float, float, float]


@dataclass
class _Free:
    """Occupied parts of the drawing."""

    page: Rectangle
    taken: list[Rectangle] = field(default_factory=list)

    def fits(self, one: Rectangle) -> bool:
        left, top, right, bottom = self.page
        within = one[0] >= left and one[1] >= top and one[2] <= right and one[3] <= bottom
        return within and not any(
            one[0] < it[2] and it[0] < one[2] and one[1] < it[3] and it[1] < one[3]
            for it in self.taken
        )


def read(study: Mapping[str, Any]) -> tuple[Topology, dict[str, list[str]]] | None:
    """The map of a resolved study, and in words the hosts at each place that has some."""
    network = study["network"]
    if network.get("topology") in (None, "none"):
        return None
    topology = Topology.model_validate(network["topology"])
    here: dict[str, list[str]] = {}
    for name, group in network["groups"].items():
        at = group.get("at") or []
        at = [at] if isinstance(at, str) else at
        count: dict[str, int] = {}
        for turn in range(int(group.get("hosts", 1))):
            place = topology.find(at[turn % len(at)])[0]
            count[place] = count.get(place, 0) + 1
        for place, hosts in count.items():
            here.setdefault(place, []).append(f"{name} · {hosts} host{'' if hosts == 1 else 's'}")
    return topology, here


def panel(study: Mapping[str, object], across: float, top: float) -> Panel | None:
    """The map of a resolved study from `top` downwards; None if it has none."""
    found = read(study)
    if found is None:
        return None
    topology, here = found
    crossed = _crossed(topology, list(here))
    places, points = _positions(topology, [*here], crossed)
    room = across - 2 * _MARGIN
    shape = _extent(points[it] for it in _marked(here, crossed, topology) if it in points)
    high = min(max(room * shape[3] / shape[2], 120.0), 340.0 if across > 500 else 300.0)
    parts: list[str] = []
    for words in wrapped(_title(topology, here), across - 1, TITLE, bold=True):
        parts.append(text(0.5, top + TITLE, words, TITLE, bold=True))
        top += _LINE + 2
    top += TITLE + _LINE
    side = min(90.0, across / 5)
    place_of = {
        name: _onto(point, shape, (side, top, across - side, top + high))
        for name, point in points.items()
    }
    page = (1.0, top - _LINE, across - 1.0, top + high + 2 * _LINE)
    seen = [it for it in places if _within(place_of[it], page)]
    parts.extend(_lines(topology, crossed, place_of, set(seen)))
    parts.extend(circle(*place_of[it], 2.6, QUIET) for it in seen if it not in here)
    parts.extend(circle(*place_of[it], 4.5, ACCENT) for it in here)
    free = _Free(page)
    for name in here:
        x, y = place_of[name]
        free.taken.append((x - 7, y - 7, x + 7, y + 7))
    ways = [(place_of[a], place_of[b]) for a, b in (topology.edges[it].between for it in crossed)]
    notes: list[str] = []
    for name, groups in here.items():
        label = [topology.called(name), *groups, *_inside(topology, name)]
        parts.extend(_label(label, place_of[name], free, ways, notes))
    for name in sorted(_marked((), crossed, topology) - here.keys()):
        parts.extend(_passed(topology.called(name), place_of[name], free))
    for name in crossed:
        parts.extend(_cost(topology, topology.edges[name], place_of, free, ways))
    y = page[3] + _LINE / 2
    for note in notes:
        for words in wrapped(note, across - 2):
            parts.append(text(0.5, y + TEXT, words))
            y += _LINE
    return Panel(parts, y + _LINE / 2)


def words(study: Mapping[str, object]) -> str:
    """The map in words, for readers who cannot see it."""
    found = read(study)
    if found is None:
        return ""
    topology, here = found
    who = "; ".join(f"{topology.called(name)}: {', '.join(it)}" for name, it in here.items())
    return f" The map of {len(topology.places)} places, with hosts at {who}."


def _title(topology: Topology, here: Mapping[str, object]) -> str:
    source = f" from {topology.source}" if topology.source else ""
    return f"The map{source}: {len(topology.places)} places, hosts at {len(here)}"


def _crossed(topology: Topology, used: Sequence[str]) -> list[str]:
    """The edges that some pair crosses, loops apart, in order of the map."""
    ways = topology.ways(used).values()
    steps = {name for way in ways for name, _ in way or ()}
    return [
        name for name, it in topology.edges.items() if name in steps and len(set(it.between)) == 2
    ]


def _marked(here: Iterable[str], crossed: Iterable[str], topology: Topology) -> set[str]:
    return {*here, *(end for name in crossed for end in topology.edges[name].between)}


def _positions(
    topology: Topology, used: Sequence[str], crossed: Sequence[str]
) -> tuple[list[str], dict[str, Point]]:
    """Which places are drawn, and where: by coordinates if all that matter have them."""
    marked = _marked(used, crossed, topology)
    table = topology.places
    if all(table[it].coordinates is not None for it in marked):
        placed = {name: it.coordinates for name, it in table.items() if it.coordinates is not None}
        return list(placed), _projected(placed, marked)
    order = [name for name in table if name in marked]
    near: dict[str, list[str]] = {name: [] for name in order}
    for name in crossed:
        one, other = topology.edges[name].between
        near[one].append(other)
        near[other].append(one)
    return order, _sprung(order, near)


def _projected(places: Mapping[str, Point], marked: Iterable[str]) -> dict[str, Point]:
    """Equirectangular, true to scale at the middle latitude, cut where the widest gap is."""
    lons = sorted(places[it][1] for it in marked)
    gaps = [(b - a, b) for a, b in zip(lons, [*lons[1:], lons[0] + 360], strict=True)]
    west = max(gaps)[1] % 360
    lats = [places[it][0] for it in marked]
    shrink = max(math.cos(math.radians((min(lats) + max(lats)) / 2)), 0.2)
    edge = west - 30  # so that places a little to the west of the first are not far in the east
    return {name: (((lon - edge) % 360) * shrink, -lat) for name, (lat, lon) in places.items()}


def _sprung(order: Sequence[str], near: Mapping[str, Sequence[str]]) -> dict[str, Point]:
    """Each pair as far apart as it has hops between, by stress majorization.

    E. R. Gansner, Y. Koren, S. North: Graph drawing by stress majorization, 2004; from a circle,
    so that the same map is drawn the same way each time.
    """
    count = len(order)
    at = {
        name: (math.cos(2 * math.pi * k / count) * count / 6, math.sin(2 * math.pi * k / count))
        for k, name in enumerate(order)
    }
    if count > _MOST_SPRUNG or count < 3:
        return {name: (x * 6 / count, y) for name, (x, y) in at.items()}
    far = {name: _hops(name, near, count) for name in order}
    for _ in range(min(100, 1 + 400_000 // count**2)):
        for one in order:
            x, y = at[one]
            sums = [0.0, 0.0, 0.0]
            for other in order:
                if other == one:
                    continue
                hops = far[one][other]
                (u, v), weight = at[other], hops**-2.0
                apart = math.hypot(x - u, y - v) or 1e-9
                sums[0] += weight * (u + hops * (x - u) / apart)
                sums[1] += weight * (v + hops * (y - v) / apart)
                sums[2] += weight
            at[one] = sums[0] / sums[2], sums[1] / sums[2]
    return at


def _hops(start: str, near: Mapping[str, Sequence[str]], most: int) -> dict[str, int]:
    found = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for other in near[here]:
            if other not in found:
                found[other] = found[here] + 1
                queue.append(other)
    apart = max(found.values()) + 1
    return {name: found.get(name, min(apart, most)) for name in near}


def _extent(points: Iterable[Point]) -> Rectangle:
    """Left, top, width and height of some points; no side is nothing."""
    xs, ys = zip(*points, strict=True)
    across, down = max(xs) - min(xs), max(ys) - min(ys)
    least = max(across, down, 1e-6) / 50
    return min(xs), min(ys), max(across, least), max(down, least)


def _onto(point: Point, shape: Rectangle, page: Rectangle) -> Point:
    """A point on the page, with the same scale both ways."""
    left, top, right, bottom = page
    scale = min((right - left) / shape[2], (bottom - top) / shape[3])
    x = left + (right - left - shape[2] * scale) / 2 + (point[0] - shape[0]) * scale
    y = top + (bottom - top - shape[3] * scale) / 2 + (point[1] - shape[1]) * scale
    return x, y


def _within(point: Point, page: Rectangle) -> bool:
    return page[0] + 3 < point[0] < page[2] - 3 and page[1] + 3 < point[1] < page[3] - 3


def _lines(
    topology: Topology, crossed: Sequence[str], at: Mapping[str, Point], seen: set[str]
) -> Iterator[str]:
    used = set(crossed)
    for name, edge in topology.edges.items():
        one, other = edge.between
        if name not in used and one != other and one in seen and other in seen:
            yield line([at[one], at[other]], FAINT, 1.0)
    for name in crossed:
        edge = topology.edges[name]
        thick = 1.6
        if edge.rate is not None:
            thick = min(5.0, max(2.0, 2.0 + 0.7 * (math.log10(edge.rate.bps) - 6)))
        yield line([at[end] for end in edge.between], QUIET, thick)


def _inside(topology: Topology, place: str) -> list[str]:
    loop = next((step for step in topology.ways([place])[place, place] or ()), None)
    if loop is None:
        return []
    edge = topology.edges[loop[0]]
    return [f"inside: {_price(topology, edge)}"]


def _price(topology: Topology, edge: Edge) -> str:
    said = [f"{topology.delay_ns(edge) / 1e6:.3g} ms"]
    if edge.rate is not None:
        said.append(str(edge.rate))
    if edge.loss:
        said.append(
            f"{edge.loss.value:.2g} lost" if edge.loss.value < 1e-4 else f"loss {edge.loss}"
        )
    return ", ".join(said)


def _label(
    words: Sequence[str],
    at: Point,
    free: _Free,
    ways: Sequence[tuple[Point, Point]],
    notes: list[str],
) -> Iterator[str]:
    """Words next to a place, where they cover the fewest lines; a number if there is no room."""
    sizes = [TITLE] + [TEXT] * (len(words) - 1)
    room = max(width(it, size, bold=size == TITLE) for it, size in zip(words, sizes, strict=True))
    best: tuple[int, Rectangle] | None = None
    for left, top in _beside(at, room, _LINE * len(words)):
        box = (left, top, left + room, top + _LINE * len(words))
        if free.fits(box):
            cost = sum(_cuts(way, box) for way in ways)
            if best is None or cost < best[0]:
                best = (cost, box)
    if best is None:
        notes.append(f"{len(notes) + 1} {words[0]}: {', '.join(words[1:])}")
        yield circle(*at, 7, ACCENT)
        yield number(*at, len(notes))
        return
    box = best[1]
    free.taken.append(box)
    for row, (said, size) in enumerate(zip(words, sizes, strict=True)):
        yield text(box[0], box[1] + _LINE * row + TEXT - 1, said, size, bold=not row, halo=True)


def _passed(name: str, at: Point, free: _Free) -> Iterator[str]:
    """The name of a place that packets only pass, if there is room."""
    room = width(name, TEXT)
    for left, top in _beside(at, room, TEXT):
        box = (left, top, left + room, top + TEXT)
        if free.fits(box):
            free.taken.append(box)
            yield text(left, top + TEXT - 2, name, TEXT, quiet=True, halo=True)
            return


def _beside(at: Point, room: float, high: float) -> Iterator[Point]:
    x, y = at
    yield x + 8, y - high / 2
    yield x - 8 - room, y - high / 2
    yield x - room / 2, y + 8
    yield x - room / 2, y - 8 - high
    for far in (6, 14):
        for right in (True, False):
            for below in (True, False):
                yield x + far if right else x - far - room, y + far if below else y - far - high


def _cuts(way: tuple[Point, Point], box: Rectangle) -> bool:
    """Whether a line goes through a box, by a look at points on it."""
    (x, y), (u, v) = way
    steps = [k / 24 for k in range(25)]
    return any(
        box[0] <= x + (u - x) * t <= box[2] and box[1] <= y + (v - y) * t <= box[3] for t in steps
    )


def _cost(
    topology: Topology,
    edge: Edge,
    at: Mapping[str, Point],
    free: _Free,
    ways: Sequence[tuple[Point, Point]],
) -> Iterator[str]:
    """Delay, rate and loss along an edge, where they cover the fewest others; if there is room."""
    said = _price(topology, edge)
    room = width(said, TEXT)
    own = at[edge.between[0]], at[edge.between[1]]
    (x, y), (u, v) = own
    boxes: list[Rectangle] = []
    for part in (0.5, 0.4, 0.6, 0.3, 0.7):
        a, b = x + (u - x) * part, y + (v - y) * part
        for left, top in ((a - room / 2, b - 6), (a + 4, b - 14), (a + 4, b + 2)):
            boxes.append((left, top, left + room, top + TEXT))
    fit = [box for box in boxes if free.fits(box)]
    if fit:
        box = min(fit, key=lambda box: sum(_cuts(it, box) for it in ways if it != own))
        free.taken.append(box)
        yield text(box[0], box[1] + TEXT - 2, said, TEXT, quiet=True, halo=True)
