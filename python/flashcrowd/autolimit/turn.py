"""One turn of talk with a client: an order if there is one, then what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flashcrowd.autolimit.memory import Memory
from flashcrowd.client_api.client import Client, Gone, OwnLimits, Reading


@dataclass(frozen=True)
class LimitChange:
    """An order to the client: a limit.

    Attributes:
        limit: the limit, bytes per second as the client rounds it; None for what the user has.
        seen: the limit that was in force when this was decided.
        user: the client's own words for what the user has.
        written: limits that may be in force because of us, this one among them.
    """

    limit: int | None
    seen: int | None
    user: Mapping[str, object]
    written: tuple[int, ...]


@dataclass(frozen=True)
class Said:
    """The result of a turn.

    Attributes:
        reading: the counters and settings, after the order.
        done: whether the order was carried out.
        own: torrents with limits of their own, if they were asked for.
    """

    reading: Reading
    done: bool = False
    own: OwnLimits | None = None


def turn(client: Client, memory: Memory | None, order: LimitChange | None, torrents: bool) -> Said:
    """Talk to the client.

    An order is dropped if the limit was changed since it was decided, or if alternative speeds came
    into force: that change has priority.

    Raises:
        Gone: no answer; the order may or may not have arrived.
        Refused: the client refuses.
        OSError: the state file cannot be written; the order was not carried out.
    """
    done = False
    if order is not None and memory is not None:
        before = _read(client, memory)
        if before.setting.limit != order.seen or before.alternative:
            return Said(before)
        try:
            if order.limit is None:
                memory.orders.write(client.setting(order.user).limit)
                client.restore(order.user)
            else:
                memory.keep(order.user, order.written)
                memory.orders.write(order.limit)
                client.write(order.limit)
        except Gone:
            memory.hold()
            raise
        memory.orders.answered()
        done = True
    reading = _read(client, memory)
    return Said(reading, done, client.own_limits() if torrents else None)


def _read(client: Client, memory: Memory | None) -> Reading:
    reading = client.read()
    if memory is not None:
        memory.orders.saw(reading.setting.limit)
    return reading
