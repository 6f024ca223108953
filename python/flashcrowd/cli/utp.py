"""`flashcrowd utp`: measurements over real uTP connections."""

from __future__ import annotations

import json
import signal
import socket
import sys
import time
from typing import Annotated, Any

from cyclopts import App, Parameter, validators

from flashcrowd import _core
from flashcrowd.cli.options import assignments
from flashcrowd.errors import Problem, StudyError
from flashcrowd.units import Size, UnitError
from flashcrowd.utp import PORT, Place, configuration, lines
from flashcrowd.utp.place import written

app = App(
    name="utp",
    help="Measure over real uTP connections: one end serves, the other sends.",
    result_action="return_value",
)

SLICE = 0.05
"""Seconds between two looks at the keyboard."""

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
    bool, Parameter(name="--json", negative=(), help="One JSON object a line, nothing else.")
]
Interval = Annotated[
    float,
    Parameter(help="Seconds between two lines; 0 for none.", validator=validators.Number(gte=0)),
]


@app.command
def serve(
    *,
    bind: Annotated[
        str | None, Parameter(help="The address to listen at; all addresses if not given.")
    ] = None,
    port: Annotated[
        int,
        Parameter(
            help="The UDP port; 0 takes a free one.", validator=validators.Number(gte=0, lte=65535)
        ),
    ] = PORT,
    once: Annotated[bool, Parameter(negative=(), help="End after one sender.")] = False,
    most_senders: Annotated[
        int,
        Parameter(
            help="Senders at once; one more is refused.",
            validator=validators.Number(gte=1, lte=10000),
        ),
    ] = 16,
    profile: Profile = "libutp",
    set: Settings = [],  # noqa: B006
    interval: Interval = 1.0,
    json: Json = False,
) -> int:
    """Receive from several senders at once, and verify what they send.

    Ctrl-C ends it: senders are told, and what has arrived is still verified.

    Exit status: 0 done, 1 with --once if the sender failed or the digests differ, 2 wrong use or
    the port is in use.
    """
    chosen = configuration(profile, None, assignments(set))
    receiver = _listen(bind, port, chosen, {"once": once, "most_senders": most_senders})
    _say(
        json, f"Listening at {receiver.address} (UDP).", event="listening", address=receiver.address
    )
    watching = _Receiving(receiver, json, interval)
    _attend(receiver, watching.tick)
    watching.tick()
    receiver.result()
    return watching.status() if once else 0


@app.command
def send(
    to: Annotated[
        str, Parameter(name="HOST:PORT", help=f"Where `serve` runs; port {PORT} if none.")
    ],
    /,
    *,
    bytes: Annotated[str | None, Parameter(help="How much to send, as in 100MB or 1GiB.")] = None,
    seconds: Annotated[
        float | None,
        Parameter(help="How long to send; 10 if no --bytes.", validator=validators.Number(gt=0)),
    ] = None,
    profile: Profile = "libutp",
    controller: Controller = None,
    set: Settings = [],  # noqa: B006
    ipv4: Annotated[bool, Parameter(name=["--ipv4", "-4"], negative=(), help="IPv4 only.")] = False,
    ipv6: Annotated[bool, Parameter(name=["--ipv6", "-6"], negative=(), help="IPv6 only.")] = False,
    interval: Interval = 1.0,
    json: Json = False,
) -> int:
    """Send to `flashcrowd utp serve`, and have it verified.

    Ctrl-C ends it early: what was queued still arrives and is verified; a second Ctrl-C ends it at
    once.

    Exit status: 0 everything arrived as it was sent, 1 it did not, 2 wrong use, 130 ended at once.
    """
    amount = _amount(bytes, seconds)
    family = _family(ipv4, ipv6)
    chosen = configuration(profile, controller, assignments(set))
    (remote, *_) = Place.parse(to).resolve(family)
    sender = _core.UtpSender(remote, chosen, **amount)
    _say(
        json, f"Sending to {remote} (UDP), {profile}.", event="sending", to=remote, profile=profile
    )
    watching = _Sending(sender, json, interval)
    stopped = _attend(sender, watching.tick)
    try:
        outcome = _loads(sender.result())
    except InterruptedError:
        _say(json, "Stopped before there was a connection.", event="stopped")
        return 130
    except OSError as error:
        if stopped > 1:
            _say(json, "Stopped at once; nothing was verified.", event="stopped")
            return 130
        return _failed(json, remote, error)
    watching.last()
    return _sent(json, outcome)


class _Sending:
    """The lines of a sender."""

    def __init__(self, sender: _core.UtpSender, as_json: bool, interval: float) -> None:
        self.sender, self.as_json, self.interval = sender, as_json, interval
        self.started = self.then = time.monotonic()
        self.before: dict[str, Any] = {}
        self.latest: dict[str, Any] = {}
        self.headed = False

    def tick(self) -> None:
        """Prints a line if an interval is over."""
        if text := self.sender.snapshot():
            self.latest = _loads(text)
        if self.latest and self.interval and time.monotonic() >= self.then + self.interval:
            self._line()

    def last(self) -> None:
        """Nothing comes any more; the rest of an interval is in the summary."""
        if not self.as_json and self.headed:
            print()

    def _line(self) -> None:
        if not self.headed and not self.as_json:
            print(lines.SENDER, flush=True)
        self.headed = True
        now = time.monotonic()
        span = (self.then - self.started, now - self.started)
        text = lines.sending(span, self.before, self.latest)
        _say(self.as_json, text, event="interval", begin_s=span[0], end_s=span[1], **self.latest)
        self.then, self.before = now, self.latest


class _Receiving:
    """The lines of a receiver, several senders at once."""

    def __init__(self, receiver: _core.UtpReceiver, as_json: bool, interval: float) -> None:
        self.receiver, self.as_json, self.interval = receiver, as_json, interval
        self.then = time.monotonic()
        self.before: dict[int, dict[str, Any]] = {}
        self.known: dict[int, str] = {}
        self.failed = False
        self.headed = False

    def tick(self) -> None:
        """Prints who came, what moved if an interval is over, and who has finished."""
        active = {one["id"]: one for one in _loads(self.receiver.active())}
        finished = _loads(self.receiver.take_finished())
        for one in sorted([*active.values(), *finished], key=lambda one: one["id"]):
            if one["id"] not in self.known:
                self.known[one["id"]] = one["peer"]
                text = f"{one['id']:4d}  {one['peer']} has connected."
                _say(self.as_json, text, event="connected", id=one["id"], peer=one["peer"])
        now = time.monotonic()
        if self.interval and now >= self.then + self.interval:
            for one in active.values():
                self._line(one, now - self.then)
            self.then, self.before = now, active
        for one in finished:
            self._finished(one)

    def _line(self, one: dict[str, Any], span: float) -> None:
        if not self.headed and not self.as_json:
            print(lines.RECEIVER, flush=True)
        self.headed = True
        text = lines.receiving(span, self.before.get(one["id"], {}), one)
        _say(self.as_json, text, event="interval", span_s=span, **one)

    def _finished(self, one: dict[str, Any]) -> None:
        good = one["error"] is None and one["equal"] is True
        self.failed |= not good
        moved = f"{lines.size(one['bytes'])} in {one['seconds']:.2f} s"
        text = f"{one['id']:4d}  {moved}, {lines.rate(one['bytes'], one['seconds'])}, "
        if one["error"] is not None:
            text += f"broken off: {one['error']}"
        elif one["stopped_by"] == "receiver":
            text += "stopped here; what arrived is " + ("as it was sent." if good else "DAMAGED.")
        else:
            text += f"digest {one['digest']} " + (
                "equal." if good else "DIFFERS from the sender's."
            )
        _say(self.as_json, text, event="finished", **one)

    def status(self) -> int:
        """The exit status after one sender."""
        return 1 if self.failed or not self.known else 0


def _attend(task: _core.UtpSender | _core.UtpReceiver, tick: Any) -> int:
    """Waits until it has ended. Ctrl-C or SIGTERM stops it; returns how often that came."""
    pressed = 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    while True:
        try:
            if task.wait(SLICE):
                return pressed
            tick()
        except KeyboardInterrupt:
            pressed += 1
            task.stop()
            if pressed == 1 and sys.stderr.isatty():
                print("\nStopping; once more to stop at once.", file=sys.stderr)


def _sent(as_json: bool, outcome: dict[str, Any]) -> int:
    """The summary of a sender."""
    receipt, connection = outcome["receipt"], outcome["connection"]
    arrived = receipt["bytes"]
    who = {"sender": "stopped here", "receiver": "the receiver stopped", None: "all sent"}
    text = (
        f"{lines.size(arrived)} in {outcome['seconds']:.2f} s,"
        f" {lines.rate(arrived, outcome['seconds'])}; {who[outcome['stopped_by']]}.\n"
        f"RTT {connection['rtt_ms']:.1f} ms, least {connection['min_rtt_ms']:.1f} ms;"
        f" {connection['packets_sent']} packets,"
        f" {connection['packets_retransmitted']} of them again,"
        f" {connection['timeouts']} timeouts, {connection['reductions']} cuts of the window.\n"
    )
    if outcome["verified"]:
        text += f"Digest {receipt['digest']} equal at both ends."
    else:
        text += f"DIGESTS DIFFER: {outcome['digest']} here, {receipt['digest']} there."
    _say(as_json, text, event="finished", **outcome)
    return 0 if outcome["verified"] else 1


def _failed(as_json: bool, remote: str, error: OSError) -> int:
    why = {
        ConnectionRefusedError: "nobody listens there (or a firewall says so)",
        TimeoutError: "the other end does not answer; is UDP let through to that port?",
        ConnectionResetError: "the other end has reset the connection;"
        " `flashcrowd utp serve` does so when it has --most-senders already",
    }
    text = next((text for kind, text in why.items() if isinstance(error, kind)), str(error))
    if as_json:
        _say(True, "", event="failed", to=remote, error=text)
    else:
        print(f"{remote}: {text}", file=sys.stderr)
    return 1


def _listen(
    bind: str | None, port: int, chosen: str, admission: dict[str, Any]
) -> _core.UtpReceiver:
    if bind is not None:
        (local, *_) = Place(bind.strip("[]"), port).resolve()
        return _bound(local, chosen, admission)
    try:
        return _core.UtpReceiver(written("::", port), chosen, **admission)
    except OSError:
        # Without IPv6 on this machine, IPv4 alone; if it was the port, that says so again.
        return _bound(written("0.0.0.0", port), chosen, admission)


def _bound(local: str, chosen: str, admission: dict[str, Any]) -> _core.UtpReceiver:
    try:
        return _core.UtpReceiver(local, chosen, **admission)
    except OSError as error:
        allowed = "an address of this machine and a UDP port that is free; port 0 takes any"
        problem = Problem("--bind, --port", local, allowed, str(error))
        raise StudyError([problem], "command line") from None


def _amount(size: str | None, seconds: float | None) -> dict[str, Any]:
    if size is not None and seconds is not None:
        problem = Problem("--seconds", f"{seconds:g}", "only one of --bytes and --seconds")
        raise StudyError([problem], "command line")
    if size is None:
        return {"seconds": 10.0 if seconds is None else seconds}
    try:
        return {"bytes": int(size) if size.isdecimal() else Size(size).bytes}
    except UnitError as error:
        problem = Problem("--bytes", size, error.allowed, error.hint)
        raise StudyError([problem], "command line") from None


def _family(ipv4: bool, ipv6: bool) -> socket.AddressFamily:
    if ipv4 and ipv6:
        raise StudyError([Problem("--ipv6", "given", "only one of -4 and -6")], "command line")
    return socket.AF_INET if ipv4 else socket.AF_INET6 if ipv6 else socket.AF_UNSPEC


def _say(as_json: bool, text: str, **fields: Any) -> None:
    print(json.dumps(fields) if as_json else text, flush=True)


def _loads(text: str) -> Any:
    return json.loads(text)
