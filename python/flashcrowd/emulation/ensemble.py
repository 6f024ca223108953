"""A run that several nodes play: a lab on each, and this, which sees them all.

The first node is this machine. The others are reached over TCP, where `member.py` gives each run a
lab. All say how far they are; the run ends where the network as a whole is done.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager

from flashcrowd import _core
from flashcrowd._core import Plan
from flashcrowd.base.errors import Cancelled, EngineError
from flashcrowd.base.messages import (
    BadMessage,
    Channel,
    Failed,
    M,
    Message,
    Tables,
    decoded,
    encoded,
)
from flashcrowd.base.rows import Rows
from flashcrowd.emulation import joined, self_test
from flashcrowd.emulation.card import card, differing
from flashcrowd.emulation.idle_poll import polling
from flashcrowd.emulation.lab import MEET_S
from flashcrowd.emulation.launch import LAB, LabHandle, end_of, last_lines, started
from flashcrowd.emulation.member import SECRET, BadAddress, line, parsed
from flashcrowd.emulation.messages import (
    Begin,
    Card,
    End,
    Missing,
    Nodes,
    Programs,
    Ready,
    ShareOrder,
    Standing,
    Tuned,
)
from flashcrowd.emulation.node_assignment import SILENCE_S
from flashcrowd.emulation.requirements import programs
from flashcrowd.emulation.scratch import scratch
from flashcrowd.emulation.standing import Judge
from flashcrowd.emulation.tracker_host import with_tracker_host

Said = Ready | Tuned | Standing | Tables | Failed

LEAST_S = 0.001
"""A network is cut where packets have at least this delay before them."""
LEAD_S = 0.5
"""From the agreement on the begin of a run to that begin."""
END_S = 0.25
"""Seconds before its end at which all nodes learn of it."""
CLOSE_S = 180.0
"""Seconds that a node may take from there until its tables have come."""
_CONNECT_S = 10.0
_CARD_S = 60.0
_BEAT_S = 1.0
_LOOK_S = 0.1
_LAB = f"the process of the run ({LAB})"
_LOST = "the connection ended: its member was ended, or the network between is gone"


def divided(plan: Plan, nodes: int) -> tuple[str, float]:
    """The node of each part of a plan, and the least delay of packets between nodes.

    Raises:
        EngineError: it cannot be divided; the message says why.
    """
    try:
        return _core.divide(plan, nodes, LEAST_S)
    except _core.PlanError as error:
        raise EngineError(
            f"{error}; give the paths between hosts, and to the tracker, a delay, or run it on "
            "fewer nodes"
        ) from None


def in_labs(
    plan: Plan, seed: int, handle: LabHandle, members: Sequence[str], probe: bool = False
) -> Rows:
    """One run's tables, as `launch.in_lab` gives them, by this node and others.

    Args:
        plan: the plan.
        seed: the run's.
        handle: watches and cancels it.
        members: where the other nodes wait for runs, as ADDRESS:PORT.
        probe: no run, but the self-test of the plan's network.

    Raises:
        Cancelled: the handle was used.
        EngineError: the run failed; the message says why, and which node says so.
    """
    plan = with_tracker_host(plan)
    division, hand_s = divided(plan, 1 + len(members))
    with ExitStack() as stack:
        asked = programs(plan)
        others = [stack.enter_context(_connected(member, asked)) for member in members]
        own = {other.getsockname()[0] for other in others}
        if len(own) != 1:
            raise EngineError(
                f"this machine reaches other nodes from different addresses ({sorted(own)}): "
                "give all nodes addresses of one network"
            )
        run = secrets.randbits(63)
        folder = stack.enter_context(scratch())
        errors = stack.enter_context(tempfile.TemporaryFile())
        stack.enter_context(polling())
        lab = stack.enter_context(started(LAB, errors))
        assert lab.stdin is not None
        assert lab.stdout is not None
        ends = lab.stdout.fileno(), lab.stdin.fileno()
        nodes = [_Node("this machine", *ends, own.pop(), lambda: f"{_LAB} {end_of(lab)}")]
        for member, other in zip(members, others, strict=True):
            ends = other.fileno(), other.fileno()
            nodes.append(_Node(member, *ends, other.getpeername()[0], lambda: _LOST))
        for number, node in enumerate(nodes):
            order = ShareOrder(
                plan.to_json(),
                seed,
                probe,
                folder=None if number else str(folder),
                division=division,
                run=run,
                node=number,
                address=node.address,
            )
            node.say(order)
        played = self_test.probe_plan(plan, json.loads(division)["hosts"]) if probe else plan
        ensemble = _Ensemble(nodes, handle, Judge(played, len(nodes)), probe)
        try:
            ensemble.meet(hand_s)
            parts = ensemble.play()
        except EngineError as error:
            raise EngineError("\n  ".join([str(error), *last_lines(errors)])) from None
        if probe:
            return {name: [row for part in parts for row in part[name]] for name in parts[0]}
        return joined.tables(plan, parts)


def alike(members: Sequence[str], programs: Iterable[str]) -> None:
    """See that other nodes wait for runs, and are what this machine is.

    Args:
        members: where they wait, as ADDRESS:PORT.
        programs: those whose versions have to be the same, by name.

    Raises:
        EngineError: one does not, or is not.
    """
    asked = set(programs)
    for member in members:
        with _connected(member, asked):
            pass


@contextmanager
def _connected(member: str, programs: Set[str]) -> Iterator[socket.socket]:
    """A node that has a lab for us, and the same version of these programs.

    Raises:
        EngineError: there is none, or it is not the same as this one.
    """
    secret = os.environ.get(SECRET, "")
    if not secret:
        raise EngineError(f"{SECRET} is not set: give it the value that it has on the other nodes")
    try:
        address = parsed(member)
    except BadAddress as error:
        raise EngineError(f"node {error}") from None
    try:
        with socket.create_connection(address, _CONNECT_S) as connection:
            connection.sendall(f"{secret}\n".encode() + encoded(Programs(sorted(programs))))
            connection.settimeout(_CARD_S)
            said = decoded(line(connection), Card, Failed)
            if isinstance(said, Failed):
                raise EngineError(f"node {member}: {said.why}; see {SECRET}")
            if wrong := differing(card(programs), said.versions):
                raise EngineError(
                    f"node {member} is not the same as this machine ({wrong}): install the same, "
                    "as results of different ones are not mixed"
                )
            connection.settimeout(None)
            yield connection
    except (OSError, ValueError, BadMessage) as error:
        raise EngineError(
            f"node {member} does not answer ({error}): run `python -m flashcrowd.emulation.member "
            "ADDRESS:PORT` there"
        ) from None


class _Node(Channel[Said]):
    """A lab, here or elsewhere."""

    def __init__(
        self, name: str, back: int, to: int, address: str, gone: Callable[[], str]
    ) -> None:
        super().__init__(back, to, Ready, Tuned, Standing, Tables, Failed)
        self.name, self.address = name, address
        self._gone = gone
        self.heard = time.monotonic()
        self.done = False
        """Whether it has given its tables, after which it ends."""

    def say(self, message: Message) -> None:
        """Say something.

        Raises:
            EngineError: it is gone.
        """
        with self._here():
            super().say(message)

    def hear(self, longest_s: float = 0.0) -> list[Said]:
        """The messages that it has sent.

        Raises:
            EngineError: it is gone, or has failed.
        """
        with self._here():
            found = super().hear(longest_s)
        self.heard = time.monotonic()
        for said in found:
            if isinstance(said, Failed):
                raise EngineError(f"{self.name}: {said.why.strip()}")
        return found

    @contextmanager
    def _here(self) -> Iterator[None]:
        """One that was reset, with something unread there, has ended, too."""
        try:
            yield
        except (EOFError, ConnectionError):
            raise EngineError(f"{self.name}: {self._gone()}") from None
        except (OSError, BadMessage) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise EngineError(f"{self.name}: {why}") from None


class _Ensemble:
    """The labs of one run."""

    def __init__(
        self, nodes: Sequence[_Node], handle: LabHandle, judge: Judge, probe: bool
    ) -> None:
        self._nodes, self._handle = nodes, handle
        self._judge, self._probe = judge, probe
        self._begin_ns = 0

    def meet(self, hand_s: float) -> None:
        """Have all nodes find each other, compare their clocks and begin.

        Raises:
            EngineError: one is too far away for how the network is cut.
        """
        where = [
            f"[{node.address}]:{ready.port}"
            if ":" in node.address
            else f"{node.address}:{ready.port}"
            for node, ready in zip(self._nodes, self._answers(Ready), strict=True)
        ]
        for node in self._nodes:
            node.say(Nodes(where))
        tuned = [(0, 0, 0), *(it.clock for it in self._answers(Tuned)[1:])]
        for node, found in zip(self._nodes, tuned, strict=True):
            if found is None:
                raise EngineError(
                    f"{node.name}: its datagrams (UDP) do not arrive here, or ours do not there: "
                    "see that no firewall is between"
                )
        # Of two other nodes the way is at most that over this one.
        far = sorted(round_trip / 2 + wrong for _, wrong, round_trip in tuned)[-2:]
        needed_s = sum(far) / 1e9
        if needed_s > hand_s:
            raise EngineError(
                f"nodes are {1e3 * needed_s:.3g} ms from each other, with what their clocks may "
                f"be wrong; where the network is cut packets have {1e3 * hand_s:.3g} ms: give the "
                "paths more delay, or take nodes that are nearer"
            )
        self._begin_ns = time.monotonic_ns() + round(LEAD_S * 1e9)
        for node, (offset_ns, _, _) in zip(self._nodes, tuned, strict=True):
            node.say(Begin(self._begin_ns - offset_ns))

    def play(self) -> list[Rows]:
        """Attend to the run until it is over; the tables of each node."""
        judge, ended = self._judge, False
        beat = time.monotonic()
        for node in self._nodes:
            node.heard = beat + LEAD_S
        tables: dict[int, Rows] = {}
        while len(tables) < len(self._nodes):
            for number, said in self._messages():
                if isinstance(said, Tables):
                    tables[number] = said.tables
                    self._nodes[number].done = True
                elif isinstance(said, Standing):
                    over = judge.hear(number, said)
                    if over is not None and not ended:
                        ended = True
                        now_s = (time.monotonic_ns() - self._begin_ns) / 1e9
                        for node in self._nodes:
                            node.say(End(now_s + END_S, *over))
            if not self._probe:
                self._handle.progress = max(self._handle.progress, judge.part)
            now = time.monotonic()
            longest = CLOSE_S if ended else SILENCE_S
            for number, node in enumerate(self._nodes):
                if number not in tables and now - node.heard > longest:
                    raise EngineError(f"{node.name}: it said nothing for {longest:g} s")
            if not ended and now - beat >= _BEAT_S:
                beat = now
                for number, node in enumerate(self._nodes):
                    node.say(Missing(judge.missing(number)))
        return [tables[number] for number in range(len(self._nodes))]

    def _answers(self, kind: type[M]) -> list[M]:
        """The answers of all nodes about something, by node."""
        found: dict[int, M] = {}
        end = time.monotonic() + MEET_S
        while len(found) < len(self._nodes):
            for number, said in self._messages():
                if isinstance(said, kind):
                    found[number] = said
            if time.monotonic() > end:
                late = [it.name for number, it in enumerate(self._nodes) if number not in found]
                raise EngineError(f"{late[0]}: not ready within {MEET_S:g} s")
        return [found[number] for number in range(len(self._nodes))]

    def _messages(self) -> Iterator[tuple[int, Said]]:
        """The messages of nodes within a moment, and their senders."""
        if self._handle.cancelled:
            raise Cancelled
        with selectors.DefaultSelector() as selector:
            for number, node in enumerate(self._nodes):
                if not node.done:
                    selector.register(node, selectors.EVENT_READ, number)
            ready = [key.data for key, _ in selector.select(_LOOK_S)]
        for number in ready:
            for said in self._nodes[number].hear():
                yield number, said
