"""Deluge 2, through the remote procedure calls of its daemon (tried with 2.0.3)."""

from __future__ import annotations

import math
import ssl
from collections.abc import Mapping
from typing import Any

from flashcrowd.base.extras import remedy
from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import MOST, Gone, OwnLimits, Reading, Refused, Setting
from flashcrowd.client_api.credentials import Credentials
from flashcrowd.client_api.deluge_rpc import DelugeRpc, Rejected, Request
from flashcrowd.client_api.values import mapping, plain, whole

_KIB = 1024
"""Limits are KiB/s; parts of one are taken, but a value has 24 bits on the wire."""
_LIMIT = "max_upload_speed"
_UP, _DOWN = "net.sent_payload_bytes", "net.recv_payload_bytes"
"""Counters of libtorrent since the daemon began; the daemon asks for them twice a second."""
_SCHEDULER = "Scheduler"
"""The plugin that sets other limits, or pauses all, by the hour."""
_NORMAL = 5
"""The level of an account from which on it may ask and set (`authmanager.py`)."""
_LOGIN = {"BadLoginError", "AuthenticationRequired"}


class Deluge:
    """A daemon of Deluge 2; the desktop client has one in its thin client mode.

    Raises:
        Refused: `deluge-client` is not installed.
    """

    name = "Deluge"

    def __init__(self, address: Address, credentials: Credentials) -> None:
        self.place = address.place
        self._user, self._password = credentials.user, credentials.password or ""
        try:
            self._rpc = DelugeRpc(address.host, address.port)
        except ModuleNotFoundError as error:
            if (line := remedy(error)) is None:
                raise
            raise Refused(f"{self.place}: {line}") from None

    def connect(self) -> str:
        """Log in, and see that it is a Deluge; gives its name with its version."""
        try:
            version = self._call(Request("daemon.info"))[0]
            if not isinstance(version, str) or not version[:1].isdigit():
                raise Gone(f"garbage: version {str(version)[:40]!r}")
            self.read()
        except Gone as gone:
            if isinstance(gone.__cause__, ssl.SSLError) or gone.__cause__ is None:
                raise Refused(
                    f"{self.place}: what answers there is not the daemon of Deluge 2 ({gone}); "
                    "check host and port."
                ) from None
            if isinstance(gone.__cause__, TimeoutError) and self._rpc.met:
                # It takes our messages for the beginnings of its own, which have no header.
                raise Refused(
                    f"{self.place}: it takes connections and answers nothing, as Deluge 1 does; "
                    "autolimit needs Deluge 2."
                ) from None
            raise
        return f"Deluge {plain(version)}"

    def read(self) -> Reading:
        """Counters and settings."""
        config, counted, plugins = self._call(
            Request("core.get_config_values", [[_LIMIT]]),
            Request("core.get_session_status", [[_UP, _DOWN]]),
            Request("core.get_enabled_plugins"),
        )
        setting = self.setting(mapping(config, "the configuration"))
        counted = mapping(counted, "the session's status")
        if not isinstance(plugins, tuple | list):
            raise Gone("garbage: the plugins are no list")
        # Its slow hours have a limit of their own; ours is the one for the others.
        state = "Green"
        if _SCHEDULER in plugins:
            state = self._call(Request("scheduler.get_state"))[0]
        return Reading(whole(counted, _UP), whole(counted, _DOWN), setting, state != "Green")

    @property
    def peer(self) -> str | None:
        """The host that the connection reaches."""
        return self._rpc.peer

    def setting(self, kept: Mapping[str, object]) -> Setting:
        """The limit; below 0 is none."""
        value = _speed(kept)
        limit = min(int(value * _KIB), MOST)
        return Setting(limit if limit > 0 else None, {_LIMIT: value})

    def rounded(self, limit: int) -> int:
        """Whole KiB, at least 1: a limit of 0 is none."""
        return max(min(limit, MOST) // _KIB, 1) * _KIB

    def write(self, limit: int) -> None:
        """Set the limit."""
        self.restore({_LIMIT: self.rounded(limit) // _KIB})

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Set what the user had."""
        self._call(Request("core.set_config", [{_LIMIT: float(kept[_LIMIT])}]))

    def own_limits(self) -> OwnLimits:
        """Torrents with an upload limit of their own."""
        torrents = self._call(Request("core.get_torrents_status", [{}, [_LIMIT]]))[0]
        found = [each for each in mapping(torrents, "torrents").values() if isinstance(each, dict)]
        limits = [each.get(_LIMIT) for each in found]
        return OwnLimits(sum(isinstance(limit, int | float) and limit > 0 for limit in limits))

    def abort(self) -> None:
        """Break off what is under way."""
        self._rpc.abort()

    def close(self) -> None:
        """Leave it."""
        self._rpc.close()

    def _call(self, *requests: Request) -> list[Any]:
        """Answers; a daemon that was started again, or left us, is asked once more."""
        for again in (True, False):
            kept = self._rpc.connected
            try:
                if not kept:
                    self._login()
                return self._rpc.ask(*requests)
            except Gone as gone:
                if kept and again and not isinstance(gone.__cause__, TimeoutError):
                    continue
                raise
            except Rejected as rejected:
                if rejected.kind == "NotAuthorizedError":
                    raise self._low() from None
                raise Gone(f"an error, {plain(rejected.kind)}") from None
        raise AssertionError("the second time it returns or raises")

    def _login(self) -> None:
        """Log in on a new connection."""
        # Without a version the daemon takes its peer for Deluge 1.
        named = {"client_version": "2.0.3"}
        try:
            level = self._rpc.ask(Request("daemon.login", [self._user, self._password], named))[0]
        except Rejected as rejected:
            self._rpc.close()
            if rejected.kind not in _LOGIN:
                raise
            if self._user:
                why = f"it refused the password of {self._user}, or knows nobody of this name"
            else:
                why = "it asks for a login, and the address has no user; write deluge://USER@HOST:PORT"
            raise Refused(
                f"{self.place}: {why}; users and passwords stand in the file auth beside Deluge's "
                "settings."
            ) from None
        if not isinstance(level, int):
            self._rpc.close()
            raise Gone("garbage: a login that is neither allowed nor refused")
        if level < _NORMAL:
            self._rpc.close()
            raise self._low()

    def _low(self) -> Refused:
        return Refused(
            f"{self.place}: {self._user} may not change settings; give this user level {_NORMAL} "
            "or more in the file auth beside Deluge's settings."
        )


def _speed(config: Mapping[str, object]) -> float:
    """The limit as Deluge has it: KiB/s, below 0 for none.

    Raises:
        Gone: it is no number.
    """
    value = config.get(_LIMIT)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Gone(f"garbage: {_LIMIT} is no number")
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise Gone(f"garbage: {_LIMIT} is out of bounds")
    return value
