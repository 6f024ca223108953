"""The upload controller of a client: the loop of `flashcrowd autolimit`, at its place."""

from __future__ import annotations

import json
import selectors
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.autolimit.clock import Clock
from flashcrowd.autolimit.loop import PERIOD_NS, Loop
from flashcrowd.autolimit.memory import Volatile
from flashcrowd.autolimit.probes import WAYS, Reflector, Sounder
from flashcrowd.autolimit.probes.icmp import Icmp
from flashcrowd.autolimit.probes.sounder import BUDGET_BPS
from flashcrowd.autolimit.session import Session, Status
from flashcrowd.autolimit.turn import LimitChange, Said
from flashcrowd.base.limit_steps import LIMIT_STEPS
from flashcrowd.base.rows import Row
from flashcrowd.client_api.client import Client as Interface
from flashcrowd.client_api.client import Gone, Reading, Refused
from flashcrowd.clients.host_sandbox import HostSandbox, entered
from flashcrowd.clients.settings import OWN, Settings, Unmet
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import ControlledUpload, Population, SwarmWorkload

CONTROLLED = tuple(LIMIT_STEPS)
"""The programs that play peers, and whose interface autolimit speaks."""
JOIN_S = 3.0
"""A loop that was stopped has ended after this: it waits two seconds for what is under way."""
_LAST = 6


def of(population: Population) -> ControlledUpload | None:
    """The controller that a population of a plan asks for."""
    return population.get("upload_control")


def differences(
    plan: Plan, population: Population, program: str, settings: Settings
) -> Iterator[Unmet]:
    """The differences between the controller beside a program and the plan's.

    Args:
        plan: the plan.
        population: whose clients are controlled.
        program: what plays them.
        settings: the settings of these clients.
    """
    spec = of(population)
    if spec is None:
        return
    kind = spec["controller"]["kind"]
    if program not in LIMIT_STEPS:
        yield from _own_differences(spec, program)
        return
    if kind not in ("fixed", "unlimited"):
        if spec["probe_bytes"] != Icmp.cost:
            given = f"{Icmp.cost} B by ICMP, more or less by other ways"
            yield _unmet("probe_size", f"{spec['probe_bytes']} B", given)
        yield _unmet(
            "reflector",
            "whom the controller asks, whenever it asks",
            f"those that a vote believes, by turns; at most {BUDGET_BPS / 1e3:g} kbit/s",
        )
    late_ns = spec["lateness_ns"]
    yield _unmet("lateness", f"up to {late_ns / 1e6:g} ms", "that of a thread of this machine")
    if spec["poll_ns"] != PERIOD_NS:
        yield _unmet("poll", f"{spec['poll_ns'] / 1e9:g} s", f"{PERIOD_NS / 1e9:g} s")
    asked = spec["interface"]
    refresh_s = settings.refresh_s or 0.0 if program == "qbittorrent" else 0.0
    if asked["refresh_ns"] / 1e9 != refresh_s:
        yield _unmet("interface.refresh", f"{asked['refresh_ns'] / 1e9:g} s", f"{refresh_s:g} s")
    if asked["window_ns"] is not None:
        said = f"rates over {asked['window_ns'] / 1e9:g} s"
        yield _unmet("interface.window", said, "counts bytes")
    if asked["step_bytes"] != LIMIT_STEPS[program]:
        yield _unmet("interface.step", f"{asked['step_bytes']} B/s", f"{LIMIT_STEPS[program]} B/s")
    changed = any(
        change["kind"] == "upload"
        and workload(plan, change["workload"], SwarmWorkload)["populations"][change["population"]]
        == population
        for change in plan.timeline
    )
    if changed or population["upload_bps"] is not None:
        yield Unmet(
            "upload",
            "what the client has until its controller says something else",
            "a ceiling for its controller, as any limit of a user is",
        )


def _own_differences(spec: ControlledUpload, program: str) -> Iterator[Unmet]:
    """Rules of the plan that the controller of a program itself lacks."""
    kind = spec["controller"]["kind"]
    yield _unmet("name", kind, f"that of {program} itself, by its own defaults and counters")
    yield _unmet("reflector", "whom the controller asks", "the nodes of its DHT that it chooses")
    (known,) = (it for it in json.loads(_core.upload_controllers()) if it["name"] == kind)
    for parameter in known["parameters"]:
        asked = spec["controller"][parameter["name"]]
        if asked != parameter["default"]:
            name = parameter["name"].removesuffix("_ns").removesuffix("_bps")
            yield _unmet(name, str(asked), OWN)


def _unmet(name: str, asked: str, given: str) -> Unmet:
    return Unmet(f"upload_control.{name}", asked, given)


@dataclass(frozen=True)
class Asked:
    """One question to the client, and what the controller does: a row of the table `control`.

    Attributes:
        at: when, by `time.monotonic`.
        limit: the upload limit of the client, bytes per second; None for none.
        up: what it uploads, bytes per second since the row before.
        down: what it downloads.
        rtt: round trip that was heard last since the row before, in nanoseconds.
        base: the least round trip so far.
        lost: probes that had no answer since the row before.
        status: what the controller does.
    """

    at: float
    limit: int | None
    up: float
    down: float
    rtt: int | None
    base: int | None
    lost: int
    status: Status


class _Noted(Session):
    """A session that notes what it hears."""

    def __init__(self, *arguments: Any, since: int, **named: Any) -> None:
        """As a session; counters of the client began with nothing at the instant `since`."""
        self.rows: list[Asked] = []
        self._rtt: int | None = None
        self._least: int | None = None
        self._lost = 0
        self._before = (since, 0, 0)
        super().__init__(*arguments, **named)

    def on_answer(self, now: int, reflector: int, rtt: int | None) -> None:
        """A probe was answered, or was lost."""
        if rtt is None:
            self._lost += 1
        else:
            self._rtt = rtt
            self._least = rtt if self._least is None else min(rtt, self._least)
        super().on_answer(now, reflector, rtt)

    def on_said(self, now: int, said: Said, order: LimitChange | None = None) -> None:
        """The client has answered."""
        super().on_said(now, said, order)
        reading = said.reading
        up, down = self._rates_since(now, reading)
        self.rows.append(
            Asked(
                now / 1e9, reading.setting.limit, up, down,
                self._rtt, self._least, self._lost, self.status(),
            )
        )  # fmt: skip
        self._rtt, self._lost = None, 0

    def _rates_since(self, now: int, reading: Reading) -> tuple[float, float]:
        since, up, down = self._before
        self._before = (now, reading.uploaded, reading.downloaded)
        span = max(now - since, 1) / 1e9
        return max(reading.uploaded - up, 0) / span, max(reading.downloaded - down, 0) / span


class Controller:
    """The controller of one client, in a thread of its own at the client's place.

    The client keeps what it was given last: it ends with its peer, and has no user to give
    anything back to.

    Attributes:
        failure: why it ended by itself, with its last words; empty while it has not.
    """

    def __init__(
        self,
        spec: ControlledUpload,
        interface: Interface,
        place: HostSandbox,
        reflectors: Sequence[HostSandbox],
        since: float,
    ) -> None:
        """It is started.

        Args:
            spec: the controller, as the plan has it.
            interface: how the client is talked to.
            place: where both are.
            reflectors: who answers probes.
            since: when the client came, by `time.monotonic`.
        """
        self._spec, self._interface, self._place = spec, interface, place
        self._reflectors = [Reflector(reflector.address) for reflector in reflectors]
        self._since = round(since * 1e9)
        self._session: _Noted | None = None
        self._loop: Loop | None = None
        self._stopping = False
        self._remarks: list[str] = []
        self.failure = ""
        self._thread = threading.Thread(
            target=self._run, name="flashcrowd-upload-controller", daemon=True
        )
        self._thread.start()

    @property
    def rows(self) -> Sequence[Asked]:
        """The answers of its client so far."""
        return () if self._session is None else self._session.rows

    def stop(self) -> None:
        """It ends soon: its client is about to leave."""
        self._stopping = True
        if self._loop is not None:
            self._loop.stop()

    def close(self) -> None:
        """It has ended when this returns, or hangs and is forgotten."""
        self.stop()
        self._thread.join(JOIN_S)

    # Audience of the loop.

    def remark(self, now: int, text: str) -> None:
        """Its last words, should it crash."""
        self._remarks = [*self._remarks[1 - _LAST :], text]

    def status(self, now: int, status: Status) -> None:
        """It is in the rows."""

    def _run(self) -> None:
        try:
            with entered(self._place.netns), selectors.DefaultSelector() as selector:
                self._control(selector)
        except (Refused, Gone) as error:
            if not self._stopping:  # a client that leaves refuses
                self._fail(str(error), self._remarks)
        except BaseException as error:
            words = "".join(traceback.format_exception(error)).strip().splitlines()
            self._fail(words[-1], [*self._remarks, *words[-_LAST:-1]])
        finally:
            self._interface.close()

    def _control(self, selector: selectors.BaseSelector) -> None:
        clock = Clock()
        settings = dict(self._spec["controller"])
        control = settings.pop("kind")
        self._interface.connect()
        sounder = Sounder(selector, self._reflectors, tuple(WAYS))
        try:
            self._session = session = _Noted(
                clock.now(),
                self._interface.read(),
                since=self._since,
                control=control,
                reflectors=len(self._reflectors),
                rounded=self._interface.rounded,
                settings=json.dumps(settings),
                waits=False,  # a simulated one begins with its client, too
            )
            self._loop = loop = Loop(
                self._interface, session, sounder, selector, self,
                memory=Volatile(), clock=clock,
            )  # fmt: skip
            if self._stopping:  # since before there was a loop
                loop.stop()
            loop.run()
        finally:
            sounder.close()

    def _fail(self, why: str, words: Sequence[str]) -> None:
        lines = "".join(f"\n  {line}" for line in words)
        self.failure = f"upload controller {self._spec['controller']['kind']}: {why}{lines}"


class Own:
    """The controller that a client has by itself: it is only seen.

    Attributes:
        rows: its actions so far, as its client reports.
        failure: always empty: it ends with its client.
    """

    failure = ""

    def __init__(self, rows: Sequence[Asked]) -> None:
        self.rows = rows

    def stop(self) -> None:
        """It ends with its client."""

    def close(self) -> None:
        """It has ended with its client."""


def rows(asked: Sequence[Asked], seconds: Callable[[float], float]) -> Iterator[Row]:
    """Columns of the table `control`, without whose they are.

    Args:
        asked: the questions.
        seconds: an instant of `time.monotonic` as seconds of the run.
    """
    for it in asked:
        yield {
            "t_s": seconds(it.at),
            "limit_bps": None if it.limit is None else 8.0 * it.limit,
            "upload_bps": 8.0 * it.up,
            "download_bps": 8.0 * it.down,
            "phase": it.status.phase,
            "reason": it.status.reason,
            "rtt_s": _seconds(it.rtt),
            "base_rtt_s": _seconds(it.base),
            "lost": it.lost,
            "delay_s": _seconds(it.status.decided),
            "threshold_s": _seconds(it.status.threshold),
        }


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9
