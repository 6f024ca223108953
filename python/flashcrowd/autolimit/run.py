"""A run from its first request to the restored limit."""

from __future__ import annotations

import selectors
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flashcrowd.autolimit.clock import Clock
from flashcrowd.autolimit.loop import Audience, Loop, stoppable
from flashcrowd.autolimit.memory import Damaged, Memory, folders
from flashcrowd.autolimit.probes import Reflector, Sounder
from flashcrowd.autolimit.relief import Relief
from flashcrowd.autolimit.restore import LONGEST_S, Unsure, restore, told
from flashcrowd.autolimit.session import FAVOURED, Session, Status
from flashcrowd.autolimit.voice import Unheard, Voice
from flashcrowd.client_api.client import Client, Gone, Refused

if TYPE_CHECKING:
    from flashcrowd.autolimit.history import History

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a run in good order: Ctrl-C, systemd, a terminal that was closed."""
SLOW = "Uploads are slow for the first half minute or longer, while it measures your line."


@dataclass(frozen=True)
class Wish:
    """The options of a run.

    Attributes:
        control: the controller's name.
        line: what the uplink carries, in bytes per second; None if that is not known.
        reflectors: who answers probes.
        ways: ways to probe, in the order in which they are tried.
        dry: whether to change nothing.
        seconds: for how long; None for until it is stopped.
        history: the folder into which what happens is written, if there is to be one.
    """

    control: str
    line: int | None
    reflectors: Sequence[Reflector]
    ways: Sequence[str]
    dry: bool = False
    seconds: float | None = None
    history: Path | None = None


@dataclass(frozen=True)
class _Chorus:
    """Several audiences that receive the same."""

    members: Sequence[Audience]

    def remark(self, now: int, text: str) -> None:
        for member in self.members:
            member.remark(now, text)

    def status(self, now: int, status: Status) -> None:
        for member in self.members:
            member.status(now, status)


def run(client: Client, wish: Wish, voice: Voice) -> int:
    """Control a client until a signal comes; the exit status: 0, or 1 if nothing was restored.

    Raises:
        Refused: the client cannot be used; its settings are as they were.
    """
    memory = None
    try:
        version = _met(client)
        memory = None if wish.dry else Memory(client.place, client.peer)
        return _run(client, version, memory, wish, voice)
    finally:
        client.close()
        if memory is not None:
            memory.close()


def _met(client: Client) -> str:
    try:
        return client.connect()
    except Gone as gone:
        raise Refused(
            f"{client.place}: {gone}; is {client.name} running there, with its remote interface "
            "switched on?"
        ) from None


def release(client: Client, voice: Voice) -> int:
    """Give back what a run that was killed could not; gives the exit status.

    Raises:
        Refused: the client cannot be used.
    """
    memory = None
    try:
        client.connect()
        memory = Memory(client.place, client.peer)
        if memory.had is None:
            looked = " or ".join(str(each) for each in folders())
            text = (
                f"Nothing to restore: no run that was killed has left a state file in {looked}; a "
                "run of another user, or with another STATE_DIRECTORY, has its own."
            )
            event = "nothing"
        else:
            event, text = _restored(client, memory, lambda: False)
    except Damaged as damaged:
        event, text = "not-restored", str(damaged)
    except Gone as gone:
        raise Refused(f"{client.place}: {gone}.") from None
    finally:
        client.close()
        if memory is not None:
            memory.close()
    voice.say(text, event=event, text=text)
    return 1 if event == "not-restored" else 0


def _run(
    client: Client,
    version: str,
    memory: Memory | None,
    wish: Wish,
    voice: Voice,
) -> int:
    try:
        if memory is not None and memory.had is not None:
            try:
                said = restore(client, memory)
            except Unsure as unsure:
                # It is known for ours when it comes.
                said = f"{str(unsure)[:1].upper()}{str(unsure)[1:]}."
            voice.say(f"An earlier run was cut off. {said}", event="recovered", text=said)
        reading = client.read()
    except Gone as gone:
        raise Refused(f"{client.place}: {gone}.") from None
    voice.say(
        f"{version} at {client.place} has {told(reading.setting)}"
        + (", which stays the ceiling" if reading.setting.limit else "")
        + (". Dry run: nothing is changed." if wish.dry else ". Ctrl-C ends it and restores that.")
        + (f" {SLOW}" if wish.control in FAVOURED.values() and not wish.dry else ""),
        event="start",
        client=version,
        place=client.place,
        limit=reading.setting.limit,
        control=wish.control,
        dry=wish.dry,
    )
    clock = Clock()
    with selectors.DefaultSelector() as selector:
        try:
            sounder = Sounder(selector, wish.reflectors, wish.ways)
        except OSError as error:
            raise Refused(
                f"probes: {error.strerror or error}; this machine lets nobody probe by "
                f"{' or '.join(wish.ways)}, try --probe tcp."
            ) from None
        try:
            session = Session(
                clock.now(),
                reading,
                control=wish.control,
                reflectors=len(wish.reflectors),
                rounded=client.rounded,
                line=wish.line,
                ours=[] if memory is None else memory.ours,
                given=[] if memory is None else memory.orders.doubtful(),
            )
            written = _history(wish, version, sounder.way)
            relief = Relief()
            audience = _Chorus([voice, relief, *([] if written is None else [written])])
            loop = Loop(
                client, session, sounder, selector, audience,
                memory=memory, clock=clock, seconds=wish.seconds,
            )  # fmt: skip
            relief.stop = loop.stop
            end = _End(client, memory, session, loop)
            with stoppable(end.ask, SIGNALS):
                try:
                    why = _until_stopped(loop)
                except BaseException:
                    # A fault of ours is no reason to leave the client with a limit of ours.
                    end.come(voice, None)
                    raise
                if relief.words:
                    voice.say(relief.words, event="needless", text=relief.words)
                status = end.come(voice, why)
            if written is not None:
                written.flush()
            if written is not None and written.failed:
                voice.say(f"The history is not whole: {written.failed}", event="no-history")
            elif written is not None:
                voice.say(
                    f"History: {wish.history}; its page: flashcrowd report {wish.history}",
                    event="history",
                    folder=str(wish.history),
                )
            return status
        finally:
            sounder.close()


def _history(wish: Wish, version: str, way: str) -> History | None:
    if wish.history is None:
        return None
    # Imported here: a run without a history needs no tables.
    from flashcrowd.autolimit.history import History

    line = None if wish.line is None else f"up {wish.line * 8 / 1e6:g} Mbit/s"
    return History(wish.history, client=version, control=wish.control, line=line, probes=way)


def _until_stopped(loop: Loop) -> Refused | None:
    try:
        loop.run()
    except Refused as refused:
        return refused
    except Unheard:
        return Refused("nobody reads any more what is said here")
    return None


class _End:
    """The end of a run: restores the user's limit, or reports that it could not."""

    def __init__(self, client: Client, memory: Memory | None, session: Session, loop: Loop) -> None:
        self._client, self._memory, self._session, self._loop = client, memory, session, loop
        self._asked = 0

    def ask(self) -> None:
        """A signal: the first one ends the run, the next one also the restoring."""
        self._asked += 1
        self._loop.stop()
        if self._asked > 1:
            self._client.abort()

    def come(self, voice: Voice, why: Refused | None) -> int:
        """Gives back what the user had; the exit status.

        The report comes last: its reader may be gone.
        """
        owner, memory = self._session.owner, self._memory
        end = None
        if memory is not None:
            event, text = _restored(self._client, memory, lambda: self._asked > 1, owner.stale)
            if owner.user.limit != owner.began.limit:
                text += f" It was changed meanwhile; at the start it was {told(owner.began)}."
            if owner.disputed:
                event = "not-restored"
                text += " Something else changes it again and again, so that it may not be yours."
            end = event, text
        if why is not None:
            voice.say(str(why), event="refused", text=str(why))
        if end is not None:
            voice.say(end[1], event=end[0], text=end[1])
        return 0 if why is None and (end is None or end[0] == "restored") else 1


def _restored(
    client: Client,
    memory: Memory,
    stopped: Callable[[], bool],
    stale: Sequence[int | None] = (),
) -> tuple[str, str]:
    """The result of giving it back: an event, and a line for people."""
    late = threading.Timer(LONGEST_S, client.abort)
    late.start()
    try:
        return "restored", restore(client, memory, stopped=stopped, stale=stale)
    except Damaged as damaged:
        return "not-restored", str(damaged)
    except (Gone, Refused) as error:
        return "not-restored", (
            f"Could not restore what the client had: {str(error).rstrip('.')}. "
            f"When it is back, do it with: flashcrowd autolimit --restore {client.place}"
        )
    finally:
        late.cancel()
