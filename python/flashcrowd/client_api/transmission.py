"""Transmission, through its RPC (tried with 3.00)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import MOST, Gone, OwnLimits, Reading, Refused, Setting
from flashcrowd.client_api.credentials import Credentials
from flashcrowd.client_api.http import Answer, Http
from flashcrowd.client_api.values import flag, mapping, plain, whole

PATH = "/transmission/rpc"
LEAST_RPC = 15
"""Transmission 2.80 (2013); older ones were not looked at."""
_TOKEN = "x-transmission-session-id"
_KB = 1000
"""Transmission's kB is 1000 bytes (`units.speed-bytes` of its session)."""
_SPEED, _LIMITED, _ALTERNATIVE = "speed-limit-up", "speed-limit-up-enabled", "alt-speed-enabled"


class Transmission:
    """A Transmission daemon or desktop client with remote access switched on."""

    name = "Transmission"

    def __init__(self, address: Address, credentials: Credentials) -> None:
        self.place = address.place
        self._user = credentials.user
        self._path = address.path or PATH
        self._http = Http(address.host, address.port, address.tls)
        self._headers = {"Content-Type": "application/json"}
        if credentials.user or credentials.password:
            pair = f"{credentials.user}:{credentials.password or ''}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"

    def connect(self) -> str:
        """See that it is a Transmission that is new enough; gives its name with its version."""
        try:
            said = self._call("session-get")
        except Gone as gone:
            if gone.__cause__ is None and not str(gone).startswith("status"):
                raise Refused(
                    f"{self.place}: what answers there is not Transmission ({gone}); "
                    "check host and port."
                ) from None
            raise
        try:
            version = whole(said, "rpc-version")
            whole(said, _SPEED)
            flag(said, _LIMITED)
            flag(said, _ALTERNATIVE)
        except Gone as gone:
            raise Refused(
                f"{self.place}: its answers are not Transmission's ({gone}); check host and port."
            ) from None
        if version < LEAST_RPC:
            raise Refused(
                f"{self.place}: this Transmission is too old (RPC version {version}); "
                "autolimit needs Transmission 2.80 or later."
            )
        return f"Transmission {plain(str(said.get('version', '')).partition(' ')[0])}".strip()

    def read(self) -> Reading:
        """Counters and settings."""
        session = self._call("session-get", fields=[_SPEED, _LIMITED, _ALTERNATIVE])
        now = mapping(self._call("session-stats").get("current-stats"), "current-stats")
        return Reading(
            whole(now, "uploadedBytes"),
            whole(now, "downloadedBytes"),
            self.setting(session),
            flag(session, _ALTERNATIVE),
        )

    @property
    def peer(self) -> str | None:
        """The host that the connection reaches."""
        return self._http.peer

    def setting(self, kept: Mapping[str, object]) -> Setting:
        """The limit, and whether it is one."""
        speed, limited = whole(kept, _SPEED), flag(kept, _LIMITED)
        return Setting(speed * _KB if limited else None, {_SPEED: speed, _LIMITED: limited})

    def rounded(self, limit: int) -> int:
        """Whole kB, at least 1: a limit of 0 is no upload at all."""
        return max(min(limit, MOST) // _KB, 1) * _KB

    def write(self, limit: int) -> None:
        """Set the limit; the alternative speeds have settings of their own."""
        self._call("session-set", **{_SPEED: self.rounded(limit) // _KB, _LIMITED: True})

    def restore(self, kept: Mapping[str, object]) -> None:
        """Set what the user had."""
        self._call("session-set", **{name: kept[name] for name in (_SPEED, _LIMITED)})

    def own_limits(self) -> OwnLimits:
        """Torrents with `uploadLimited`, and those that do not honour the session's limits."""
        fields = ["uploadLimited", "honorsSessionLimits"]
        torrents = self._call("torrent-get", fields=fields).get("torrents")
        if not isinstance(torrents, list):
            raise Gone("garbage: torrents is no list")
        found = [torrent for torrent in torrents if isinstance(torrent, dict)]
        return OwnLimits(
            sum(torrent.get("uploadLimited") is True for torrent in found),
            sum(torrent.get("honorsSessionLimits") is False for torrent in found),
        )

    def abort(self) -> None:
        """Break off what is under way."""
        self._http.abort()

    def close(self) -> None:
        """Leave it."""
        self._http.close()

    def _call(self, method: str, **arguments: Any) -> dict[str, object]:
        message = json.dumps({"method": method, "arguments": arguments})
        answer = self._post(message)
        if answer.status == 409 and (token := answer.headers.get(_TOKEN)):
            # The guard against forged requests: the token comes with the refusal, and changes.
            self._headers["X-Transmission-Session-Id"] = token
            answer = self._post(message)
        self._judge(answer)
        said = mapping(answer.json(), "the answer")
        if said.get("result") != "success":
            raise Gone(f"garbage: {method} ended with {str(said.get('result'))[:60]!r}")
        return mapping(said.get("arguments"), "arguments")

    def _post(self, message: str) -> Answer:
        return self._http.ask("POST", self._path, message, self._headers)

    def _judge(self, answer: Answer) -> None:
        status = answer.status
        if answer.succeeded:
            return
        if answer.failed:
            raise Gone(f"status {status}")
        if status == 401:
            if self._user:
                why = f"it refused the password of {self._user}; give the right one"
            else:
                why = (
                    "it asks for a login, and the address has no user; write "
                    "transmission://USER@HOST:PORT"
                )
            raise Refused(f"{self.place}: {why}.")
        if status == 403 and "whitelist" in answer.text.lower():
            raise Refused(
                f"{self.place}: it does not take requests from this machine; add its address to "
                "rpc-whitelist in Transmission's settings."
            )
        if status == 421:
            raise Refused(
                f"{self.place}: it does not take this host name; use its address, or add the name "
                "to rpc-host-whitelist in Transmission's settings."
            )
        raise Refused(
            f"{self.place}: what answers there is not Transmission's RPC (status {status}); "
            "check host, port and path, and that remote access is switched on."
        )
