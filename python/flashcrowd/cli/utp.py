"""`flashcrowd utp`: measurements over real connections, uTP and TCP beside it."""

from __future__ import annotations

import math
import socket
from typing import Annotated, Any

from cyclopts import App, Parameter, validators

from flashcrowd import _core
from flashcrowd.base.endpoint import PORT, Endpoint, written
from flashcrowd.base.errors import Problem, StudyError
from flashcrowd.base.stopping import attend
from flashcrowd.cli.values import assignments, from_on
from flashcrowd.utp.config import configuration
from flashcrowd.utp.sending import Sending
from flashcrowd.utp.serving import Serving
from flashcrowd.utp.totals import compared
from flashcrowd.utp.transfer_request import TransferRequest
from flashcrowd.utp.voice import Voice

app = App(
    name="utp",
    help="Measure over real uTP connections: one end serves, the other sends.",
    result_action="return_value",
)

ATTEMPTS = 16
"""Free UDP ports that are tried, until one is free for TCP as well."""

Profile = Annotated[str, Parameter(help="The uTP configuration, one of those that ship.")]
Controller = Annotated[
    str | None, Parameter(help="Another congestion controller than the profile's.")
]
Settings = Annotated[
    list[str],
    Parameter(
        name="--set",
        negative=(),
        help='Replace a value of the profile, as in ledbat.target="25 ms". May be repeated.',
    ),
]
Json = Annotated[
    bool, Parameter(name="--json", negative=(), help="One JSON document at the end, nothing else.")
]
JsonStream = Annotated[
    bool,
    Parameter(name="--json-stream", negative=(), help="One JSON object a line, as things happen."),
]


def _finite(kind: Any, value: float) -> None:
    if not math.isfinite(value):
        raise ValueError("a finite number of seconds")


Interval = Annotated[
    float,
    Parameter(
        help="Seconds between two lines; 0 for none.",
        validator=(validators.Number(gte=0), _finite),
    ),
]


@app.command
def serve(
    *,
    bind: Annotated[
        str | None, Parameter(help="The address to listen at; all addresses if not given.")
    ] = None,
    port: Annotated[int, from_on(0, "The UDP and TCP port; 0 takes a free one.", 65535)] = PORT,
    once: Annotated[bool, Parameter(negative=(), help="End after one measurement.")] = False,
    most_senders: Annotated[
        int, from_on(1, "Streams at once; one more is refused with a message.", 10000)
    ] = 16,
    tcp: Annotated[bool, Parameter(help="Serve TCP as well, at the same port.")] = True,
    profile: Profile = "libutp",
    set: Settings = [],  # noqa: B006
    interval: Interval = 1.0,
    json: Json = False,
    json_stream: JsonStream = False,
) -> int:
    """Receive from several senders at once, send to those who ask, and verify what goes over.

    Ctrl-C ends it: the other ends get a message, and the data so far are verified.

    Exit status: 0 done, 1 with --once if the measurement failed or the digests differ, 2 wrong use
    or the port is in use.
    """
    voice = Voice(json, json_stream)
    chosen = configuration(profile, None, assignments(set))
    admission = {"once": once, "most_streams": most_senders}
    server, with_tcp = _listen(bind, port, chosen, admission, tcp)
    protocols = "UDP and TCP" if with_tcp else "UDP"
    text = f"Listening at {server.address} ({protocols})."
    if tcp and not with_tcp:
        text += " TCP's port is in use."
    voice.announce(text, event="listening", address=server.address, tcp=with_tcp)
    serving = Serving(server, voice, interval)
    attend(server, serving.tick, lambda: serving.moved)
    serving.last()
    server.result()
    document = {"address": server.address, "tcp": with_tcp, "refused": serving.refused}
    voice.document({**document, "streams": serving.streams})
    return serving.status() if once else 0


@app.command
def send(
    to: Annotated[
        str, Parameter(name="HOST:PORT", help=f"Where `serve` runs; port {PORT} if none.")
    ],
    /,
    *,
    bytes: Annotated[
        str | None, Parameter(help="How much each stream carries, as in 100MB or 1GiB.")
    ] = None,
    seconds: Annotated[
        float | None,
        Parameter(help="For how long; 10 if no --bytes.", validator=validators.Number(gt=0)),
    ] = None,
    reverse: Annotated[
        bool, Parameter(name=["--reverse", "-R"], negative=(), help="The server sends.")
    ] = False,
    bidir: Annotated[
        bool, Parameter(negative=(), help="Both ends send, over a stream each.")
    ] = False,
    parallel: Annotated[
        int, from_on(1, "Streams at once, each a connection.", 128, names=["--parallel", "-P"])
    ] = 1,
    bitrate: Annotated[
        str | None,
        Parameter(
            name=["--bitrate", "-b"], help="Each stream sends at most so fast, as in 10Mbit/s."
        ),
    ] = None,
    omit: Annotated[
        float,
        Parameter(
            name=["--omit", "-O"],
            help="Seconds by which it runs longer; the totals leave out the first of them.",
            validator=validators.Number(gte=0),
        ),
    ] = 0.0,
    tcp: Annotated[
        bool, Parameter(negative=(), help="Then the same over the kernel's TCP, to compare.")
    ] = False,
    congestion: Annotated[
        str | None,
        Parameter(
            name=["--congestion", "-C"],
            help="TCP's congestion control, as in cubic; the system's if not given.",
        ),
    ] = None,
    profile: Profile = "libutp",
    controller: Controller = None,
    set: Settings = [],  # noqa: B006
    ipv4: Annotated[bool, Parameter(name=["--ipv4", "-4"], negative=(), help="IPv4 only.")] = False,
    ipv6: Annotated[bool, Parameter(name=["--ipv6", "-6"], negative=(), help="IPv6 only.")] = False,
    interval: Interval = 1.0,
    json: Json = False,
    json_stream: JsonStream = False,
) -> int:
    """Send to `flashcrowd utp serve`, or have it send, and have it verified.

    Ctrl-C ends it early: what was queued still arrives and is verified, if 30 s are enough; a
    second Ctrl-C ends it at once. Either way, and if the connection breaks off, the totals say what
    had arrived.

    Exit status: 0 everything arrived as it was sent; 1 it did not; 2 wrong use; 130 ended
    at once by Ctrl-C, 143 by SIGTERM.
    """
    voice = Voice(json, json_stream)
    order = TransferRequest.of(
        bytes=bytes,
        seconds=seconds,
        omit=omit,
        bitrate=bitrate,
        parallel=parallel,
        reverse=reverse,
        bidir=bidir,
    )
    if congestion is not None and not tcp:
        problem = Problem("--congestion", congestion, "only with --tcp", "uTP has --controller")
        raise StudyError([problem], "command line")
    family = _family(ipv4, ipv6)
    chosen = configuration(profile, controller, assignments(set))
    (remote, *_) = Endpoint.parse(to).resolve(family)
    done: list[Sending] = []
    for transport in ("utp", "tcp") if tcp else ("utp",):
        over = {"utp": f"UDP), {profile}", "tcp": f"TCP), {congestion or 'as the system has it'}"}
        voice.say(
            f"{_verb(order)} {remote} ({over[transport]}.",
            event="sending",
            to=remote,
            transport=transport,
            profile=profile if transport == "utp" else None,
        )
        options = {"tcp": True, "congestion": congestion} if transport == "tcp" else {}
        task = _core.UtpTransfer(remote, chosen, **order.core(), **options)
        done.append(Sending(task, transport, order, voice, interval))
        done[-1].run(remote)
        if done[-1].stopped:
            break
        if transport == "utp" and tcp:
            voice.say_people("")
    sums = {sending.transport: sending.totals for sending in done}
    if len(done) == 2 and (text := compared(sums, done[1].congestion())):
        voice.say_people(text)
    voice.document(
        {
            "format": 1,
            "to": remote,
            "profile": profile,
            "controller": controller,
            "asked": order.document(),
            "transfers": [sending.document() for sending in done],
        }
    )
    return max(sending.status for sending in done)


def _verb(order: TransferRequest) -> str:
    if order.to_server and order.to_client:
        return "Sending to and receiving from"
    return "Sending to" if order.to_server else "Receiving from"


def _listen(
    bind: str | None, port: int, chosen: str, admission: dict[str, Any], tcp: bool
) -> tuple[_core.UtpServer, bool]:
    """The server, and whether TCP is served."""
    if bind is not None:
        places = [Endpoint(bind.strip("[]"), port).resolve()[0]]
    else:
        # Without IPv6 on this machine, IPv4 alone; if it was the port, that says so again.
        places = [written("::", port), written("0.0.0.0", port)]
    why: OSError | None = None
    for place in places:
        # A port that is free for UDP may not be so for TCP; of free ports there are more.
        for _ in range(ATTEMPTS if tcp and port == 0 else 1 if tcp else 0):
            try:
                return _core.UtpServer(place, chosen, tcp=True, **admission), True
            except OSError:
                continue
        try:
            return _core.UtpServer(place, chosen, tcp=False, **admission), False
        except OSError as error:
            why = error
    allowed = "an address of this machine and a UDP port that is free; port 0 takes any"
    problem = Problem("--bind, --port", places[-1], allowed, str(why))
    raise StudyError([problem], "command line")


def _family(ipv4: bool, ipv6: bool) -> socket.AddressFamily:
    if ipv4 and ipv6:
        raise StudyError([Problem("--ipv6", "given", "only one of -4 and -6")], "command line")
    return socket.AF_INET if ipv4 else socket.AF_INET6 if ipv6 else socket.AF_UNSPEC
