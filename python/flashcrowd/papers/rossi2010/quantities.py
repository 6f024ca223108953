"""Numbers of a run that this paper speaks of: rates, shares, delays, packet sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from flashcrowd.base.units import Rate
from flashcrowd.papers import curves
from flashcrowd.papers.evidence import Given, StudyEvidence
from flashcrowd.papers.measured import Quantity, named
from flashcrowd.report import source as tables
from flashcrowd.report.measures import Measure

#: An Ethernet frame beyond its IP packet.
_FRAMING = 38

#: The paper leaves out the first minute of runs with several flows.
FIRST_MINUTE_S = 60.0


def throughput(study: StudyEvidence, given: Given) -> Measure:
    """IP bytes that the sending host puts on the wire, in Mbit/s, as a packet trace counts them."""
    source = given.get("source", "senders-1 up")
    of_run = curves.means(curves.read(study, "link-rate"), source, *curves.stretch(given), 1e-6)
    return Measure("throughput", "Mbit/s", of_run, "IP bytes on the sender's wire.")


def goodput(study: StudyEvidence, given: Given) -> Measure:
    """Bytes that reach the receiving application, in Mbit/s."""
    source = given.get("flow", "flow/0")
    of_run = curves.means(curves.read(study, "goodput"), source, *curves.stretch(given), 1e-6)
    return Measure("goodput", "Mbit/s", of_run, "Bytes that reach the receiving application.")


def unevenness(study: StudyEvidence, given: Given) -> Measure:
    """Standard deviation of the rate over its mean, in per cent, from one sample to the next."""
    what, source = given.get("series", "link-rate"), given.get("source", "senders-1 up")
    of_run = curves.unevenness(curves.read(study, what), source, *curves.stretch(given))
    return Measure("unevenness", "%", of_run, "Standard deviation over mean, in windows of 1 s.")


def utilisation(study: StudyEvidence, given: Given) -> Measure:
    """Goodput as a share of the capacity `mbit`, in per cent.

    With `capacity` in its place the swept setting of this name is the capacity.
    """
    found = goodput(study, given)
    if "capacity" in given:
        swept = study.of_runs(given["capacity"])
        mbit = {run: Rate(str(swept[run])).bps / 1e6 for run in found.of_run}
    else:
        mbit = dict.fromkeys(found.of_run, float(given["mbit"]))
    of_run = {run: 100 * rate / mbit[run] for run, rate in found.of_run.items()}
    return Measure("goodput of the capacity", "%", of_run, found.note, most=100.0)


def in_flight(study: StudyEvidence, given: Given) -> Measure:
    """Throughput times round-trip time, in packets of 1500 B: the paper's estimate of a window."""
    found = throughput(study, given)
    of_run = {
        run: rate * 1e6 * float(given["rtt_s"]) / 8 / 1500 for run, rate in found.of_run.items()
    }
    note = "Throughput times round-trip time over 1500 B."
    return Measure("packets in flight", "packets", of_run, note)


def queue_delay(study: StudyEvidence, given: Given) -> Measure:
    """Mean delay in the queue of a link, in milliseconds."""
    source = given.get("link", "bottleneck")
    of_run = curves.means(curves.read(study, "queue-delay"), source, *curves.stretch(given), 1e3)
    return Measure("queueing delay", "ms", of_run, "Sampled every second.")


def ping(study: StudyEvidence, given: Given) -> Measure:
    """Mean round-trip time of the bystander's echo requests in a stretch, in milliseconds."""
    rows = study.results.tables["pings"]
    from_s, to_s = curves.stretch(given)
    sent, rtt = tables.numbers(rows, "sent_s"), tables.numbers(rows, "rtt_s")
    chosen = (sent >= from_s) & (sent < to_s) & ~np.isnan(rtt)
    runs = tables.integers(rows, "run")
    of_run = {run: 1e3 * float(rtt[mine].mean()) for run, mine in tables.by_run(runs, chosen)}
    return Measure("bystander's ping", "ms", of_run, "Mean of the answered echo requests.")


def ping_peak(study: StudyEvidence, given: Given) -> Measure:
    """Longest round-trip time of the bystander's echo requests in a stretch, in milliseconds."""
    rows = study.results.tables["pings"]
    from_s, to_s = curves.stretch(given)
    sent, rtt = tables.numbers(rows, "sent_s"), tables.numbers(rows, "rtt_s")
    chosen = (sent >= from_s) & (sent < to_s) & ~np.isnan(rtt)
    runs = tables.integers(rows, "run")
    of_run = {run: 1e3 * float(rtt[mine].max()) for run, mine in tables.by_run(runs, chosen)}
    return Measure("longest ping", "ms", of_run, "Of the answered echo requests.")


# --- several flows -------------------------------------------------------------------------------


def flows(study: StudyEvidence, run: int) -> dict[str, float]:
    """Goodput of each flow of a run after the first minute, in bit/s, TCP first."""
    found = curves.read(study, "goodput").get(run, {})
    rates = {name: float(c.between(FIRST_MINUTE_S, np.inf).mean()) for name, c in found.items()}
    return dict(sorted(rates.items(), key=lambda item: (not _is_tcp(item[0]), item[0])))


def _is_tcp(name: str) -> bool:
    return name.startswith("tcp/")


def share(study: StudyEvidence, given: Given) -> Measure:
    """Mean share of a flow of one kind (``tcp`` or ``ledbat``) in what all flows carry."""

    def of(rates: Mapping[str, float]) -> float | None:
        mine = [rate for name, rate in rates.items() if _is_tcp(name) == (given["kind"] == "tcp")]
        total = sum(rates.values())
        return float(np.mean(mine)) / total if mine and total else None

    name = "share of a TCP flow" if given["kind"] == "tcp" else "share of a LEDBAT flow"
    return _of_flows(study, name, "", of, "Mean over the flows of that kind, after a minute.", 1.0)


def ranked_share(study: StudyEvidence, given: Given) -> Measure:
    """Share of the flow of one kind that has the largest, second largest, ... (`rank`) of them."""
    rank = int(given["rank"])

    def of(rates: Mapping[str, float]) -> float | None:
        mine = [rate for name, rate in rates.items() if _is_tcp(name) == (given["kind"] == "tcp")]
        total = sum(rates.values())
        return sorted(mine, reverse=True)[rank - 1] / total if len(mine) >= rank and total else None

    called = "TCP" if given["kind"] == "tcp" else "LEDBAT"
    name = f"share of the {called} flow in place {rank}"
    return _of_flows(study, name, "", of, "By goodput, after a minute.", 1.0)


def ratio(study: StudyEvidence, given: Given) -> Measure:
    """Goodput of a LEDBAT flow over that of a TCP flow."""
    del given

    def of(rates: Mapping[str, float]) -> float | None:
        tcp = [rate for name, rate in rates.items() if _is_tcp(name)]
        ledbat = [rate for name, rate in rates.items() if not _is_tcp(name)]
        if not tcp or not ledbat or not sum(tcp):
            return None
        return float(np.mean(ledbat) / np.mean(tcp))

    note = "Means over the flows of each kind, after a minute."
    return _of_flows(study, "a LEDBAT flow over a TCP flow", "", of, note)


def jain(study: StudyEvidence, given: Given) -> Measure:
    """Jain's index of fairness over all flows, or over those of one `kind`."""
    kind = given.get("kind", "")

    def of(rates: Mapping[str, float]) -> float | None:
        x = np.array([r for n, r in rates.items() if not kind or _is_tcp(n) == (kind == "tcp")])
        return float(x.sum() ** 2 / (len(x) * (x**2).sum())) if len(x) and x.any() else None

    found = _of_flows(study, "Jain's index", "", of, "Goodput after the first minute.", 1.0)
    # One of n flows that takes all has 1/n.
    most = max((len(flows(study, run)) for run in found.of_run), default=1)
    return replace(found, least=1 / most)


def eta(study: StudyEvidence, given: Given) -> Measure:
    """IP bytes that cross the bottleneck over what its rate carries, after the first minute."""
    del given
    rows = study.results.tables["links"]
    names = tables.strings(rows, "link") == "bottleneck"
    runs = tables.integers(rows, "run")[names]
    packets, size = (tables.numbers(rows, c)[names] for c in ("packets", "bytes"))
    ip = {int(r): 1 - _FRAMING * p / b for r, p, b in zip(runs, packets, size, strict=True) if b}
    rates = curves.read(study, "link-rate")
    of_run = {}
    for run, rate in curves.means(rates, "bottleneck", FIRST_MINUTE_S, np.inf).items():
        of_run[run] = rate * ip.get(run, 1.0) / 10e6
    return Measure(
        "utilisation", "", of_run, "IP bytes over 10 Mbit/s, after the first minute.", most=1.0
    )


def repeated(study: StudyEvidence, given: Given) -> Measure:
    """Share of the TCP segments that were sent again, in per cent, over the whole run."""
    del given
    rows = tables.where(study.results.tables["transfers"], "transfer", "tcp")
    runs = tables.integers(rows, "run")
    again, sent = tables.numbers(rows, "retransmits"), tables.numbers(rows, "segments")
    of_run = {
        int(run): 100 * float(again[runs == run].sum() / sent[runs == run].sum())
        for run in np.unique(runs)
    }
    note = "Of the TCP segments of the whole run; the paper leaves out the first minute elsewhere."
    return Measure("TCP segments sent again", "%", of_run, note, most=100.0)


def _of_flows(
    study: StudyEvidence,
    name: str,
    unit: str,
    of: Callable[[Mapping[str, float]], float | None],
    note: str,
    most: float = np.inf,
) -> Measure:
    found = {run: of(flows(study, run)) for run in study.points.runs}
    return Measure(
        name, unit, {run: v for run, v in found.items() if v is not None}, note, most=most
    )


# --- packet sizes --------------------------------------------------------------------------------


def packets(study: StudyEvidence) -> list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Of each run: when the data packets were sent, their IP bytes and their payload."""
    if "_packets" not in study.__dict__:
        study.__dict__["_packets"] = list(_packets(study))
    return study.__dict__["_packets"]


def _packets(study: StudyEvidence) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    rows = study.results.tables["packets"]
    runs = tables.integers(rows, "run")
    time = tables.numbers(rows, "t_s")
    ip, payload = tables.integers(rows, "ip_bytes"), tables.integers(rows, "payload_bytes")
    data = payload > 0
    runs, time, ip, payload = runs[data], time[data], ip[data], payload[data]
    for run in np.unique(runs):
        mine = runs == run
        yield int(run), time[mine], ip[mine], payload[mine]


def _of_packets(
    study: StudyEvidence,
    given: Given,
    name: str,
    unit: str,
    of: Callable[[np.ndarray, np.ndarray, np.ndarray], float | None],
    note: str,
) -> Measure:
    from_s, to_s = curves.stretch(given)
    found = {}
    for run, time, ip, payload in packets(study):
        mine = (time >= from_s) & (time < to_s)
        value = of(time[mine], ip[mine], payload[mine]) if mine.any() else None
        if value is not None:
            found[run] = value
    return Measure(name, unit, found, note)


def full_packets(study: StudyEvidence, given: Given) -> Measure:
    """Share of the packets of a stretch whose payload is the largest of the run, in per cent."""
    largest = {run: payload.max() for run, _, _, payload in packets(study)}
    from_s, to_s = curves.stretch(given)
    found = {}
    for run, time, _, payload in packets(study):
        mine = (time >= from_s) & (time < to_s)
        if mine.any():
            found[run] = 100 * float((payload[mine] == largest[run]).mean())
    return Measure("packets of full size", "%", found, "Of those with payload.", most=100.0)


def time_to_full(study: StudyEvidence, given: Given) -> Measure:
    """When at least half of the packets of a second are of the largest size, for the first time."""
    del given
    found = {}
    for run, time, _, payload in packets(study):
        full = payload == payload.max()
        second = time.astype(int)
        share = np.bincount(second, full) / np.maximum(np.bincount(second), 1)
        found[run] = float(np.argmax(share >= 0.5))
    return Measure("time until packets are full", "s", found, "Half of the packets of a second.")


def sizes(study: StudyEvidence, given: Given) -> Measure:
    """How many sizes make up at least one packet in a thousand of a stretch."""

    def of(time: np.ndarray, ip: np.ndarray, payload: np.ndarray) -> float:
        del time, ip
        _, counts = np.unique(payload, return_counts=True)
        return float((counts >= 0.001 * counts.sum()).sum())

    return _of_packets(
        study, given, "sizes of packets", "", of, "Sizes of at least 0.1 % of the packets."
    )


def median_size(study: StudyEvidence, given: Given) -> Measure:
    """Median payload of the packets of a stretch, in bytes."""
    return _of_packets(
        study, given, "median payload", "B",
        lambda time, ip, payload: float(np.median(payload)), "Of packets with payload.",
    )  # fmt: skip


def overhead(study: StudyEvidence, given: Given) -> Measure:
    """Headers over IP bytes of the data packets, in per cent."""
    return _of_packets(
        study, given, "headers", "% of IP bytes",
        lambda time, ip, payload: 100 * float(1 - payload.sum() / ip.sum()),
        "Of data packets: IP, UDP or TCP, and uTP.",
    )  # fmt: skip


def packet_rate(study: StudyEvidence, given: Given) -> Measure:
    """Data packets a second."""
    from_s, to_s = curves.stretch(given)
    return _of_packets(
        study, given, "data packets", "a second",
        lambda time, ip, payload: len(time) / (min(to_s, float(time.max())) - from_s), "",
    )  # fmt: skip


#: Each measure, by the name that claims use.
MEASURES: Mapping[str, Quantity] = {
    "throughput": throughput,
    "goodput": goodput,
    "unevenness": unevenness,
    "utilisation": utilisation,
    "in-flight": in_flight,
    "queue-delay": queue_delay,
    "ping": ping,
    "ping-peak": ping_peak,
    "share": share,
    "ranked-share": ranked_share,
    "ratio": ratio,
    "jain": jain,
    "eta": eta,
    "repeated": repeated,
    "full-packets": full_packets,
    "time-to-full": time_to_full,
    "sizes": sizes,
    "median-size": median_size,
    "overhead": overhead,
    "packet-rate": packet_rate,
}

#: The measure that `given` names, with its parameters.
measure = named(MEASURES)
