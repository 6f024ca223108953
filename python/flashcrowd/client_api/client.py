"""The interface of a BitTorrent client for autolimit, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class Refused(Exception):
    """The client, or what answers in its place, cannot be used as asked; trying again is no help.

    The message is one line that names the place and the remedy.
    """


class Gone(Exception):
    """No usable answer this time: refused, too late, cut off, garbage, a server's error."""


@dataclass(frozen=True)
class Setting:
    """The upload limit of a client for ordinary times, not the one of its alternative speeds.

    Attributes:
        limit: bytes per second; None for no limit, 0 for no upload at all.
        kept: the client's own words for it, with which it is restored.
    """

    limit: int | None
    kept: Mapping[str, object]


@dataclass(frozen=True)
class Reading:
    """The counters and settings of a client at one instant.

    Attributes:
        uploaded: payload bytes since the client was started.
        downloaded: the same for downloads.
        setting: its upload limit.
        alternative: whether its alternative speeds ("turtle") are in force instead, switched on by
            hand or by a schedule.
    """

    uploaded: int
    downloaded: int
    setting: Setting
    alternative: bool


@dataclass(frozen=True)
class OwnLimits:
    """Torrents that do not go by the client's limit alone.

    Attributes:
        limited: how many have an upload limit of their own.
        exempt: how many do not follow the client's limit at all.
    """

    limited: int = 0
    exempt: int = 0


class Client(Protocol):
    """A client that is running. Every method may raise `Gone` or `Refused`."""

    name: str
    """The client's name in messages."""
    place: str
    """Where it is, without credentials."""

    def connect(self) -> str:
        """Log in, and see that it is what it should be; gives its name with its version."""
        ...

    def read(self) -> Reading:
        """Counters and settings."""
        ...

    @property
    def peer(self) -> str | None:
        """The host that its place leads to: `localhost` for this machine, else an address."""
        ...

    def setting(self, kept: Mapping[str, object]) -> Setting:
        """The setting of an earlier process's `Setting.kept`; `Gone` if it has none."""
        ...

    def rounded(self, limit: int) -> int:
        """A limit in bytes per second as the client rounds it.

        Never 0, and never above `limit` unless that is below the client's least.
        """
        ...

    def write(self, limit: int) -> None:
        """Set the upload limit, in bytes per second as `rounded` gave it."""
        ...

    def restore(self, kept: Mapping[str, object]) -> None:
        """Set what `Setting.kept` says."""
        ...

    def own_limits(self) -> OwnLimits:
        """Torrents with limits of their own."""
        ...

    def abort(self) -> None:
        """From another thread: break off what is under way."""
        ...

    def close(self) -> None:
        """Leave it."""
        ...


MOST = 2**31 - 1024
"""The highest limit that is written: clients keep it in 32 bits with sign."""
