"""`flashcrowd serve`."""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators

from flashcrowd import _core
from flashcrowd.base.errors import did_you_mean, one_of, quoted
from flashcrowd.base.units import Rate, Size, Span, UnitError
from flashcrowd.cli.values import from_on
from flashcrowd.content_server import (
    Unable,
    begin,
    in_a_browser,
    listening,
    raise_descriptors,
    reachable,
    run,
)

Count = Annotated[int, from_on(1)]
MOST_STREAMS = (1 << 31) - 1
MOST_REQUESTS = (1 << 63) - 1
Seconds = Annotated[float, Parameter(validator=validators.Number(gt=0, lte=1e9))]


def serve(
    directory: Annotated[Path, Parameter(name="DIR", help="Nothing outside of it is served.")],
    /,
    *,
    listen: Annotated[
        str, Parameter(help="HOST:PORT, :PORT or PORT; without a host, all addresses.")
    ] = ":8080",
    policy: Annotated[
        str, Parameter(help="Order of the blocks: relevance, circus, attach or in-order.")
    ] = "relevance",
    memory: Annotated[
        str, Parameter(help="For the contents of files, as in 1GiB; never more.")
    ] = "256MiB",
    reads: Annotated[
        Count, Parameter(help="Reads of the disk at once, each 1 MiB; more for an array.")
    ] = 2,
    direct: Annotated[
        bool, Parameter(help="Read past the page cache where the file system can.")
    ] = True,
    reader: Annotated[
        Literal["auto", "io_uring", "threads"],
        Parameter(help="By what: io_uring, threads, or (auto) io_uring if the kernel allows it."),
    ] = "auto",
    symlinks: Annotated[
        Literal["within", "refuse", "follow"],
        Parameter(help="Symbolic links: those that stay inside, none, or wherever they lead."),
    ] = "within",
    listing: Annotated[
        bool, Parameter(help="Answer a directory with a list of its files, for browsers.")
    ] = True,
    hidden: Annotated[
        bool,
        Parameter(negative=(), help="Serve names that begin with a dot, not only /.well-known/."),
    ] = False,
    digests: Annotated[bool, Parameter(help="Offer digests of files and their blocks.")] = True,
    etag: Annotated[
        Literal["version", "mtime-size"],
        Parameter(
            help="Entity tags: of all that tells versions apart, or (mtime-size) of date and "
            "length, on which mirrors agree."
        ),
    ] = "version",
    trust_proxy: Annotated[
        list[str],
        Parameter(
            negative=(),
            help="A proxy whose X-Forwarded-For names the client, as ADDRESS or ADDRESS/LENGTH. "
            "May be repeated.",
        ),
    ] = [],  # noqa: B006
    tls_cert: Annotated[
        Path | None,
        Parameter(help="Speak TLS: the certificate and those that lead to it, in PEM."),
    ] = None,
    tls_key: Annotated[
        Path | None, Parameter(help="The certificate's key, in PEM, without a password.")
    ] = None,
    metrics: Annotated[
        str | None,
        Parameter(help="Where Prometheus asks, and people at /live, as in 127.0.0.1:9100."),
    ] = None,
    access_log: Annotated[
        Path | None, Parameter(help="A line for each answer; - for standard output.")
    ] = None,
    connections: Annotated[Count, Parameter(help="At once.")] = 10_000,
    per_address: Annotated[
        Count,
        Parameter(
            help="Connections at once of one address, or requests that a trusted proxy brings "
            "for it; of IPv6, of a /64."
        ),
    ] = 1_000,
    requests_per_connection: Annotated[
        int, from_on(1, "Requests after which a connection is closed.", MOST_REQUESTS)
    ] = 100_000,
    streams: Annotated[
        int, from_on(1, "Requests at once on a connection of HTTP/2.", MOST_STREAMS)
    ] = 32,
    ranges: Annotated[
        Count, Parameter(help="Per request; with more, the whole file is sent.")
    ] = 1_000,
    header_timeout: Annotated[
        Seconds, Parameter(help="Seconds for TLS, for the head of a request, and between two.")
    ] = 15.0,
    stall_timeout: Annotated[
        Seconds, Parameter(help="Seconds in which a client takes nothing, until it is let go.")
    ] = 60.0,
    drain: Annotated[
        Seconds, Parameter(help="Seconds for answers under way when the server is stopped.")
    ] = 30.0,
    trial_disk: Annotated[
        str | None,
        Parameter(
            help="Only to measure: reads take as long as they would on a disk that takes this long "
            'to a place and reads on at this rate, as in "5 ms, 40 MB/s".'
        ),
    ] = None,
    interval: Annotated[
        float | None,
        Parameter(
            help="Seconds between two lines of what goes on; 0 for none.",
            validator=validators.Number(gte=0),
        ),
    ] = None,
) -> int:
    """Serve a directory over HTTP/1.1 and HTTP/2, in the order that suits the disk.

    Every client gets ordinary service, with TLS if there is a certificate. `flashcrowd fetch` asks
    for any order, and so may others (docs/protocol.md). Ctrl-C or SIGTERM ends it: answers under
    way have --drain seconds; once more, at once. SIGHUP reloads the certificate and reopens the
    access log.

    Exit status: 0 stopped, 2 wrong use, or it cannot listen or read there.
    """
    try:
        if policy not in (names := _core.content_policies()):
            near = did_you_mean(policy, names)
            raise Unable(
                f"--policy {quoted(policy)}: it is {one_of(names)}" + f"; {near}" * bool(near)
            )
        if (tls_cert is None) != (tls_key is None):
            raise Unable("--tls-cert and --tls-key: TLS needs both")
        tls = None
        if tls_cert is not None:
            tls = {"certificate": str(tls_cert), "key": str(tls_key)}
        settings = {
            "root": str(directory),
            "tls": tls,
            "metrics": _addresses("--metrics", metrics)[0] if metrics is not None else None,
            "origin": {
                "memory_bytes": _bytes("--memory", memory),
                "reads": reads,
                "scheduling": {"kind": policy},
            },
            "direct": direct,
            "reader": reader,
            "trial_disk": None if trial_disk is None else _disk("--trial-disk", trial_disk),
            "symlinks": symlinks,
            "listing": listing,
            "hidden": hidden,
            "digests": digests,
            "etag": etag,
            "trust_proxy": [_network("--trust-proxy", text) for text in trust_proxy],
            "access_log": None if access_log is None else str(access_log),
            "limits": {
                "connections": connections,
                "connections_per_address": per_address,
                "requests_per_connection": requests_per_connection,
                "streams": streams,
                "ranges": ranges,
                "header_s": header_timeout,
                "stall_s": stall_timeout,
                "drain_s": drain,
            },
        }
        server = begin(settings, _addresses("--listen", listen))
    except Unable as error:
        print(f"flashcrowd serve: {error}", file=sys.stderr)
        return 2
    scheme = "http" if tls is None else "https"
    url = f"{scheme}://{server.address}/"
    print(f"Serving {directory} at {url} ({policy}, {memory}).", file=sys.stderr)
    print(f"Reading {server.reading}.", file=sys.stderr)
    if trial_disk is not None:
        print(f"Reads take as long as on a disk of {trial_disk}: a trial.", file=sys.stderr)
    if server.metrics is not None:
        at = f"http://{server.metrics}"
        print(f"Metrics at {at}/metrics and a live page at {at}/live.", file=sys.stderr)
    print(in_a_browser(reachable(scheme, server.address), listing), file=sys.stderr)
    if (few := raise_descriptors(connections)) is not None:
        print(few, file=sys.stderr)
    sys.stderr.flush()
    reloaded = ["certificate"] * (tls is not None) + ["access log"] * (access_log is not None)
    return run(server, interval, reloaded, drain)


def _addresses(name: str, text: str) -> list[str]:
    try:
        return listening(text)
    except ValueError as error:
        raise Unable(f"{name} {quoted(text)}: {error}") from None


def _network(name: str, text: str) -> str:
    """One of the proxies that are trusted, as the core reads it."""
    try:
        network = ipaddress.ip_network(text, strict=False)
        address = ipaddress.ip_address(text.partition("/")[0])
    except ValueError:
        raise Unable(
            f"{name} {quoted(text)}: it is no ADDRESS or ADDRESS/LENGTH, as in 127.0.0.1 or "
            "10.0.0.0/8"
        ) from None
    if address != network.network_address:
        raise Unable(f'{name} {quoted(text)}: did you mean "{network}"?')
    return str(network)


def _bytes(name: str, text: str) -> int:
    try:
        return Size.or_bytes(text).bytes
    except UnitError as error:
        raise Unable(f"{name} {quoted(text)}: {error}") from None


def _disk(name: str, text: str) -> dict[str, object]:
    """A hard disk, as the core reads it."""
    time, comma, rate = text.partition(",")
    try:
        if not comma:
            raise UnitError("it is no positioning time and rate, as in 5 ms, 40 MB/s")
        positioning = {"kind": "constant", "time_ns": Span(time.strip()).ns}
        bps = Rate(rate.strip()).bps
        if bps < 1:
            raise UnitError("the rate is more than 0")
        return {"kind": "hard-disk", "positioning": positioning, "rate_bps": bps}
    except UnitError as error:
        raise Unable(f"{name} {quoted(text)}: {error}") from None
