"""qBittorrent, through its Web API, version 2 (tried with 4.5.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import MOST, Gone, OwnLimits, Reading, Refused, Setting
from flashcrowd.client_api.credentials import Credentials
from flashcrowd.client_api.http import Answer, Http
from flashcrowd.client_api.values import mapping, plain, whole

_KEY = "qbt_"
"""Keys of the Web API (qBittorrent 5.2) begin so; they need no login."""
_KIB = 1024
"""Limits are kept in whole KiB/s, rounded down; what is below becomes 1 KiB/s."""
_NOBODY = "it asks for a login, and the address has no user; write qbittorrent://USER@HOST:PORT"
_LIMIT = "up_limit"
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class QBittorrent:
    """A qBittorrent with its Web UI switched on."""

    name = "qBittorrent"

    def __init__(self, address: Address, credentials: Credentials) -> None:
        self.place = address.place
        self._user, self._password = credentials.user, credentials.password
        self._path = f"{address.path}/api/v2/"
        self._http = Http(address.host, address.port, address.tls)
        self._cookie = ""

    def connect(self) -> str:
        """Log in, and see that it is a qBittorrent; gives its name with its version."""
        try:
            if self._password is not None and not self._has_key:
                self._login()
            version = self._ask("GET", "app/version").strip()
            api = self._ask("GET", "app/webapiVersion").strip()
            if not version.startswith("v") or not api.startswith("2.") or len(version) > 40:
                raise Gone(f"version {version[:40]!r}, interface {api[:40]!r}")
            self.read()
        except Gone as gone:
            if _is_no_answer(gone):
                raise
            raise Refused(
                f"{self.place}: what answers there is not qBittorrent ({gone}); check host "
                "and port."
            ) from None
        return f"qBittorrent {plain(version[1:])}"

    def read(self) -> Reading:
        """Counters and settings; between two readings of the mode, so that they belong together."""
        for _ in range(3):
            before = self._alternative()
            said = mapping(self._json("transfer/info"), "transfer/info")
            # With alternative speeds on, that limit is not the one for ordinary times.
            limit = self._preference() if before else whole(said, "up_rate_limit")
            if self._alternative() == before:
                break
        else:
            raise Gone("garbage: its alternative speeds go on and off")
        return Reading(
            whole(said, "up_info_data"),
            whole(said, "dl_info_data"),
            self.setting({_LIMIT: limit}),
            before,
        )

    @property
    def peer(self) -> str | None:
        """The host that the connection reaches."""
        return self._http.peer

    def setting(self, kept: Mapping[str, object]) -> Setting:
        """The limit; 0 is none."""
        limit = whole(kept, _LIMIT)
        return Setting(limit or None, {_LIMIT: limit})

    def rounded(self, limit: int) -> int:
        """Whole KiB, at least 1: a limit of 0 is none."""
        return max(min(limit, MOST) // _KIB, 1) * _KIB

    def write(self, limit: int) -> None:
        """Set the limit, through the preferences.

        `transfer/setUploadLimit` would set that of the alternative speeds if a schedule switched
        them on meanwhile.
        """
        self.restore({_LIMIT: self.rounded(limit)})

    def restore(self, kept: Mapping[str, object]) -> None:
        """Set what the user had."""
        self._ask("POST", "app/setPreferences", json=json.dumps({_LIMIT: kept[_LIMIT]}))

    def own_limits(self) -> OwnLimits:
        """Torrents with an upload limit of their own."""
        torrents = self._json("torrents/info")
        if not isinstance(torrents, list):
            raise Gone("garbage: torrents/info is no list")
        limits = [torrent.get("up_limit") for torrent in torrents if isinstance(torrent, dict)]
        return OwnLimits(sum(isinstance(limit, int) and limit > 0 for limit in limits))

    def abort(self) -> None:
        """Break off what is under way."""
        self._http.abort()

    def close(self) -> None:
        """Leave it."""
        self._http.close()

    @property
    def _has_key(self) -> bool:
        return self._password is not None and self._password.startswith(_KEY)

    def _alternative(self) -> bool:
        mode = self._ask("GET", "transfer/speedLimitsMode").strip()
        if mode not in ("0", "1"):
            raise Gone(f"garbage: speedLimitsMode is {mode[:20]!r}")
        return mode == "1"

    def _preference(self) -> int:
        return whole(mapping(self._json("app/preferences"), "app/preferences"), _LIMIT)

    def _login(self) -> None:
        """Log in, once: after five wrong passwords qBittorrent shuts this address out."""
        form = {"username": self._user, "password": self._password or ""}
        answer = self._http.ask("POST", f"{self._path}auth/login", urlencode(form), _FORM)
        status, said = answer.status, answer.text.strip()
        if answer.failed:
            raise Gone(f"status {status}")
        if status == 403:
            raise Refused(
                f"{self.place}: qBittorrent has shut out this address after too many wrong "
                "passwords; wait an hour or start it again."
            )
        # Other servers ask for a user in this way; qBittorrent does not.
        if "www-authenticate" in answer.headers:
            raise self._other(answer)
        if status == 401 or (answer.succeeded and said == "Fails."):
            if not self._user:
                raise Refused(f"{self.place}: {_NOBODY}.")
            raise Refused(
                f"{self.place}: it refused the password of {self._user}; see Options, Web UI, "
                "Authentication in qBittorrent."
            )
        if not answer.succeeded or said not in ("Ok.", ""):
            raise self._other(answer)
        # SID, or QBT_SID_port since 5.2.
        self._cookie = answer.headers.get("set-cookie", "").partition(";")[0]

    def _json(self, path: str) -> Any:
        try:
            return json.loads(self._ask("GET", path))
        except (ValueError, RecursionError):
            raise Gone(f"garbage: {path} is no JSON") from None

    def _ask(self, method: str, path: str, **form: str) -> str:
        answer = self._send(method, path, form)
        if answer.status == 403 and self._cookie:
            # The login has run out after an hour without requests, or with a restart.
            self._login()
            answer = self._send(method, path, form)
        status = answer.status
        if answer.succeeded:
            return answer.text
        if status >= 500:
            raise Gone(f"status {status}")
        if status in (401, 403):
            if self._has_key:
                why = "it refused the key; make a new one in Options, Web UI"
            elif self._password is None:
                why = _NOBODY
            else:
                why = "it refused this login or this host name; see Options, Web UI in qBittorrent"
            raise Refused(f"{self.place}: {why}.")
        raise self._other(answer)

    def _send(self, method: str, path: str, form: Mapping[str, str]) -> Answer:
        headers = dict(_FORM) if form else {}
        if self._has_key:
            headers["Authorization"] = f"Bearer {self._password}"
        elif self._cookie:
            headers["Cookie"] = self._cookie
        return self._http.ask(method, self._path + path, urlencode(form) if form else None, headers)

    def _other(self, answer: Answer) -> Refused:
        return Refused(
            f"{self.place}: what answers there is not the Web API of qBittorrent 4.1 or later "
            f"(status {answer.status}); check host, port and path, and that the Web UI is "
            "switched on."
        )


def _is_no_answer(gone: Gone) -> bool:
    """Whether nothing came, rather than something else than is expected."""
    return gone.__cause__ is not None or str(gone).startswith("status 5")
