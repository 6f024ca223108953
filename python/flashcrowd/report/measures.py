"""The measures that the tables of a study allow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from flashcrowd.base import metrics
from flashcrowd.base.looks import Looks
from flashcrowd.base.metrics import Named
from flashcrowd.base.undelivered import HORIZON
from flashcrowd.base.units import Span
from flashcrowd.report import downloads, source
from flashcrowd.report.measure import Measure
from flashcrowd.report.observations import Observations
from flashcrowd.report.points import Points
from flashcrowd.report.source import Source, by_run, section
from flashcrowd.report.window import extents

__all__ = [
    "Measure",
    "all_measures",
    "fitting",
    "means",
    "named",
    "observations",
    "swarm_measures",
]


def all_measures(results: Source, points: Points) -> list[Measure]:
    """The mean of every metric that the tables allow, the most telling first, links left out."""
    return means(observations(results), points)


def means(everything: Sequence[Observations], points: Points) -> list[Measure]:
    """The mean of each of the observations that some point has, links left out."""
    found = [each.measure() for each in everything if each.metric.kind != "link"]
    return [m for m in found if any(run in m.of_run for run in points.runs)]


def swarm_measures(results: Source) -> list[Measure]:
    """Mean and last download time of each swarm."""
    return [each.measure() for each in _apart(results, list(_swarms(results)))]


def named(results: Source, name: Named) -> list[Measure]:
    """The measures that `name` means: one for each workload that it fits."""
    return [
        each.measure(name.statistic, name.within) for each in fitting(observations(results), name)
    ]


def fitting(everything: Sequence[Observations], name: Named) -> Iterator[Observations]:
    """The observations that `name` is about."""
    for each in everything:
        if each.metric == name.metric and name.of in ("", each.of, metrics.workload(each.of)):
            yield from _within(each, name.within)


def observations(results: Source) -> list[Observations]:
    """Everything that was observed, by metric in the order of `flashcrowd.base.metrics`."""
    found = [
        *_swarms(results),
        *_origins(results),
        *_transfers(results),
        *_pings(results),
        *_pages(results),
        *_fetches(results),
        *_calls(results),
        *_links(results),
    ]
    order = {metric.name: place for place, metric in enumerate(metrics.METRICS)}
    found = _apart(results, sorted(found, key=lambda each: order[each.metric.name]))
    return [replace(each, until=_until(results, each)) for each in found]


_TABLES = {
    "transfer": "transfers",
    "ping": "pings",
    "web": "pages",
    "call": "calls",
    "link": "links",
    "origin": "origins",
}


def _until(results: Source, each: Observations) -> dict[int, float]:
    """When all was measured in each run that some observations are about, where that is known.

    That is when a window closes, or, of what goes on as long as the run, when the horizon comes. A
    transfer time is over when the transfer is, whatever the window says.
    """
    kind = each.metric.kind
    if kind not in _TABLES or each.metric.name == "transfer time":
        return {}
    found = extents(results, _TABLES[kind])
    until = {run: end for run, (_, end) in found.items() if end < math.inf}
    if _is_endless(results, kind, metrics.workload(each.of)):
        runs = results.tables["runs"]
        cut = source.where(runs, "outcome", HORIZON)
        ends = zip(source.integers(cut, "run").tolist(), source.numbers(cut, "end_s"), strict=True)
        until = {**dict(ends), **until}
    return until


def _is_endless(results: Source, kind: str, workload: str) -> bool:
    """Whether something goes on as long as the run, so that no run waits for it."""
    if kind != "transfer":
        return kind in ("ping", "web", "call", "link")
    table = section(section(results.study.get("workloads")).get(workload))
    swept = results.tables["runs"].column_names
    return not any(
        table.get(key) not in (None, "none") or f"workloads.{workload}.{key}" in swept
        for key in ("size", "stop")
    )


def _apart(results: Source, found: list[Observations]) -> list[Observations]:
    """The same, and each knows whether another workload has its metric, and the rule of looks."""
    looks = Looks.of_study(results.study)
    count: dict[str, int] = {}
    for each in found:
        count[each.metric.name] = count.get(each.metric.name, 0) + 1
    return [replace(each, alone=count[each.metric.name] == 1, looks=looks) for each in found]


def _within(each: Observations, name: str) -> Iterator[Observations]:
    """The observations of one group or population; all of them if `name` is empty."""
    if not name:
        yield each
        return
    for part in each.parts:
        if name in each.names(part):
            yield each.only(part, name)
            return


def _observed(
    metric: str,
    of: str,
    runs: np.ndarray,
    values: np.ndarray,
    parts: Mapping[str, np.ndarray] | None = None,
    due: np.ndarray | None = None,
) -> Iterator[Observations]:
    """The observations, those that were not made (NaN) left out; nothing if there are none.

    Those that were not made though they were `due` are missing.
    """
    made = ~np.isnan(values)
    if made.any():
        kept = {name: names[made] for name, names in (parts or {}).items()}
        found = Observations(metrics.metric(metric), of, runs[made], values[made], kept)
        if due is not None:
            lost = due & ~made
            lost_parts = {name: names[lost] for name, names in (parts or {}).items()}
            found = replace(found, missing=runs[lost], missing_parts=lost_parts)
        yield found


def _scalar(
    metric: str, of: str, of_run: Mapping[int, float], shares: Mapping[int, float] | None = None
) -> Iterator[Observations]:
    """A metric with one value per run; `shares` lists exceptions."""
    runs = np.asarray(list(of_run), dtype=np.int64)
    for found in _observed(metric, of, runs, np.asarray(list(of_run.values()), dtype=float)):
        yield replace(found, shares=shares or {})


def _swarms(results: Source) -> Iterator[Observations]:
    groups = section(section(results.study.get("network")).get("groups"))
    for name in downloads.swarms(results):
        who = downloads.leechers(results, name)
        parts = {
            "group": np.asarray([_group(host, groups) for host in who.host], dtype=object),
            "population": who.population,
        }
        without: Mapping[int, float] = {}
        due = ~np.isnan(who.left_s)
        due |= _due(results, name, who.run, who.arrived_s, who.duration_s)
        for times in _observed("download time", name, who.run, who.duration_s, parts, due):
            without = times.without
            yield times
        _, last = downloads.times_of_runs(results, name)
        yield from _scalar("last completion", name, last, without)
        yield from _left(results, name)
        yield from _seeds(results, name)


def _left(results: Source, swarm: str) -> Iterator[Observations]:
    """The number that left before they had the file, of a swarm in which one peer got it."""
    rows = source.table(results, "downloads")
    if rows is None:
        return
    rows = source.where(rows, "swarm", swarm)
    left = ~np.isnan(source.numbers(rows, "left_s")) & np.isnan(source.numbers(rows, "completed_s"))
    if left.any():
        members = by_run(source.integers(rows, "run"))
        shares = {run: 100 * float(left[them].mean()) for run, them in members}
        yield from _scalar("left without the file", swarm, shares)


def _seeds(results: Source, swarm: str) -> Iterator[Observations]:
    """The bytes of seeds and their idle time, if the tables have them."""
    rows = source.table(results, "populations")
    if rows is None:
        return
    rows = source.where(rows, "swarm", swarm)
    runs, seed = source.integers(rows, "run"), source.strings(rows, "role") == "seed"
    sent, needed = source.numbers(rows, "uploaded_bytes"), source.numbers(rows, "needed_s")
    idle = np.where(needed > 0, source.numbers(rows, "idle_share") * needed, 0.0)
    upload, share, unused = {}, {}, {}
    for run, members in by_run(runs):
        seeds = members[seed[members]]
        upload[run] = float(sent[seeds].sum()) / 1e6
        if sent[members].sum() > 0:
            share[run] = 100 * float(sent[seeds].sum() / sent[members].sum())
        # Real programs do not tell.
        if needed[seeds].sum() > 0 and not np.isnan(idle[seeds]).any():
            unused[run] = 100 * float(idle[seeds].sum() / needed[seeds].sum())
    for metric, of_run in (
        ("seed upload", upload),
        ("source upload", _source_upload(results, swarm, upload)),
        ("seed share", share),
        ("seed idle time", unused),
    ):
        yield from _scalar(metric, swarm, of_run)


def _source_upload(results: Source, swarm: str, of_seeds: Mapping[int, float]) -> dict[int, float]:
    """The bytes of seeds and web seeds, of each run of a study in which web seeds sent any."""
    rows = source.table(results, "web_seeds")
    rows = None if rows is None else source.where(rows, "swarm", swarm)
    if rows is None or not rows.num_rows:
        return {}
    sent = dict(of_seeds)
    brought = source.numbers(rows, "web_bytes")
    for run, members in by_run(source.integers(rows, "run")):
        sent[run] = sent.get(run, 0.0) + float(brought[members].sum()) / 1e6
    return sent


def _group(host: str, groups: Mapping[str, object]) -> str:
    """The group that a host belongs to: hosts are called `group-7`, or `group` if it has one."""
    return host if host in groups else host.rpartition("-")[0]


def _origins(results: Source) -> Iterator[Observations]:
    rows = source.table(results, "origins")
    if rows is None:
        return
    runs, names = source.integers(rows, "run"), source.strings(rows, "origin")
    span = source.numbers(rows, "to_s") - source.numbers(rows, "from_s")
    busy = np.divide(
        100 * source.numbers(rows, "disk_busy_s"), span, np.full(len(span), np.nan), where=span > 0
    )
    cost = source.numbers(rows, "disk_cost")
    for metric, values in (
        ("network throughput", source.numbers(rows, "network_bps") / 8e6),
        ("disk throughput", source.numbers(rows, "disk_bps") / 8e6),
        ("miss ratio", 100 * source.numbers(rows, "miss_ratio")),
        ("disk use", busy),
        ("disk cost", np.where(cost > 0, cost, np.nan)),
    ):
        for name in dict.fromkeys(names.tolist()):
            mine = names == name
            yield from _observed(metric, name, runs[mine], values[mine])


def _transfers(results: Source) -> Iterator[Observations]:
    rows = source.table(results, "transfers")
    if rows is None:
        return
    runs, names = source.integers(rows, "run"), source.strings(rows, "transfer")
    goodput, start = source.numbers(rows, "goodput_bps") / 1e6, source.numbers(rows, "start_s")
    # Tables of other versions may not say which transfers arrived whole.
    timed = "duration_s" in rows.column_names
    duration = source.numbers(rows, "duration_s") if timed else np.full(len(start), np.nan)
    end, payload = source.numbers(rows, "end_s"), source.numbers(rows, "bytes")
    rtt = source.numbers(rows, "mean_rtt_s") * 1e3
    known = "p95_rtt_s" in rows.column_names
    tail = source.numbers(rows, "p95_rtt_s") * 1e3 if known else np.full(len(rtt), np.nan)
    ended, extent = _ends(results), extents(results, "transfers")
    for name in dict.fromkeys(names.tolist()):
        mine = names == name
        workload = section(section(results.study.get("workloads")).get(name))
        if timed and workload.get("size") not in (None, "none"):
            # Without those that did not arrive whole the mean would be that of the quick ones.
            incomplete = frozenset(runs[mine & np.isnan(duration)].tolist())
            whole = mine & ~np.isin(runs, list(incomplete))
            for times in _observed("transfer time", name, runs[whole], duration[whole]):
                yield replace(times, incomplete=incomplete)
        yield from _observed("goodput", name, runs[mine], goodput[mine])
        total = {}
        flows = dict(by_run(runs, mine))
        # Where the number of flows is swept, one flow has a total as well.
        several = any(len(rows_of) > 1 for rows_of in flows.values())
        for run, rows_of in flows.items():
            first, until = extent[run]
            last = min(until, np.nan_to_num(end[rows_of], nan=ended.get(run, 0.0)).max())
            time = float(last - max(first, start[rows_of].min()))
            if several and time > 0:
                total[run] = float(payload[rows_of].sum()) * 8e-6 / time
        yield from _scalar("total goodput", name, total)
        yield from _observed("round-trip time", name, runs[mine], rtt[mine])
        yield from _observed("tail round-trip time", name, runs[mine], tail[mine])


def _due(
    results: Source, workload: str, runs: np.ndarray, began_s: np.ndarray, took_s: np.ndarray
) -> np.ndarray:
    """Which should have been over when their workload was: none of those of the run took longer."""
    stop = section(section(results.study.get("workloads")).get(workload)).get("stop", "none")
    last = math.inf if stop == "none" else Span(stop).seconds
    ended = _ends(results)
    due = np.zeros(len(runs), dtype=bool)
    for run, rows in by_run(runs):
        longest = np.nan_to_num(took_s[rows]).max()
        due[rows] = began_s[rows] + longest < min(ended.get(run, math.inf), last)
    return due


def _ends(results: Source) -> dict[int, float]:
    runs = results.tables["runs"]
    return dict(
        zip(
            source.integers(runs, "run").tolist(),
            source.numbers(runs, "end_s").tolist(),
            strict=True,
        )
    )


def _pings(results: Source) -> Iterator[Observations]:
    columns = ("sent_s", "rtt_s")
    yield from _answered(results, "pings", "ping", columns, ("ping", 1e3), "unanswered pings")


def _pages(results: Source) -> Iterator[Observations]:
    columns = ("start_s", "duration_s")
    yield from _answered(results, "pages", "web", columns, ("page time", 1), "unfinished pages")


def _fetches(results: Source) -> Iterator[Observations]:
    """Downloads of download workloads, and what each of their servers brought."""
    rows, servers = source.table(results, "fetches"), source.table(results, "fetch_servers")
    if rows is None or servers is None:
        return
    groups = section(section(results.study.get("network")).get("groups"))
    workloads = section(results.study.get("workloads"))
    runs, took = source.integers(rows, "run"), source.numbers(rows, "duration_s")
    names = _of_group(source.strings(rows, "download"), workloads)
    group = np.asarray([_group(it, groups) for it in source.strings(rows, "to")], dtype=object)
    for name in dict.fromkeys(names.tolist()):
        mine = names == name
        # As of transfers: without those that did not end the mean would be that of the quick ones.
        incomplete = frozenset(runs[mine & np.isnan(took)].tolist())
        whole = mine & ~np.isin(runs, list(incomplete))
        parts = {"group": group[whole]}
        for times in _observed("download time", name, runs[whole], took[whole], parts):
            yield replace(times, incomplete=incomplete)
    runs, rates = source.integers(servers, "run"), source.numbers(servers, "rate_bps") / 1e6
    names = _of_group(source.strings(servers, "download"), workloads)
    hosts = source.strings(servers, "server")
    for name, host in dict.fromkeys(zip(names.tolist(), hosts.tolist(), strict=True)):
        mine = (names == name) & (hosts == host)
        yield from _observed("server rate", f"{name} from {host}", runs[mine], rates[mine])


def _of_group(names: np.ndarray, workloads: Mapping[str, object]) -> np.ndarray:
    """The workloads of a study of which these are: where a group downloads, each has a number."""
    whole = [it if it in workloads else it.rpartition("-")[0] for it in names.tolist()]
    return np.asarray(whole, dtype=object)


def _answered(
    results: Source,
    table: str,
    column: str,
    columns: tuple[str, str],
    metric: tuple[str, float],
    missing: str,
) -> Iterator[Observations]:
    """Requests with the time that their answer took, and the share without one."""
    rows = source.table(results, table)
    if rows is None:
        return
    runs, names = source.integers(rows, "run"), source.strings(rows, column)
    began, took = (source.numbers(rows, column) for column in columns)
    values, without = took * metric[1], np.isnan(took)
    for name in dict.fromkeys(names.tolist()):
        mine = names == name
        due = _due(results, name, runs[mine], began[mine], took[mine])
        yield from _observed(metric[0], name, runs[mine], values[mine], due=due)
        share = {run: 100 * float(without[rows_of].mean()) for run, rows_of in by_run(runs, mine)}
        yield from _scalar(missing, name, share)


def _calls(results: Source) -> Iterator[Observations]:
    rows = source.table(results, "calls")
    if rows is None:
        return
    runs, names = source.integers(rows, "run"), source.strings(rows, "call")
    senders = source.strings(rows, "from")
    sent, lost = source.numbers(rows, "sent"), source.numbers(rows, "lost")
    delay, tail, jitter = (
        source.numbers(rows, c) * 1e3 for c in ("mean_delay_s", "p95_delay_s", "jitter_s")
    )
    for name, sender in dict.fromkeys(zip(names.tolist(), senders.tolist(), strict=True)):
        mine = (names == name) & (senders == sender)
        of = f"{name} from {sender}"
        arrived = mine & (lost < sent)
        shares = {
            run: float(lost[rows_of].sum() / sent[rows_of].sum())
            for run, rows_of in by_run(runs, mine & (sent > 0))
        }
        for metric, values in (("one-way delay", delay), ("jitter", jitter)):
            means = {
                run: float(np.average(values[rows_of], weights=(sent - lost)[rows_of]))
                for run, rows_of in by_run(runs, arrived & ~np.isnan(values))
            }
            yield from _scalar(metric, of, means, shares)
        for tails in _observed("tail one-way delay", of, runs[mine], tail[mine]):
            yield replace(tails, shares=shares)
        yield from _scalar("call loss", of, {run: 100 * it for run, it in shares.items()})


def _links(results: Source) -> Iterator[Observations]:
    rows = source.table(results, "links")
    if rows is None:
        return
    runs, names = source.integers(rows, "run"), source.strings(rows, "link")
    for metric, column, factor in (
        ("utilisation", "utilisation", 100),
        ("queueing delay", "mean_queue_delay_s", 1e3),
        ("drops", "dropped", 1),
    ):
        values = source.numbers(rows, column) * factor
        for name in dict.fromkeys(names.tolist()):
            mine = names == name
            yield from _observed(metric, name, runs[mine], values[mine])
