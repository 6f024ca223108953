"""libtorrent, as a library: a session of the same program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashcrowd.client_api.client import MOST, OwnLimits, Reading, Setting

_LIMIT = "upload_rate_limit"
LEAST = 1024
"""Below this many bytes per second libtorrent sends less than a block in half a minute."""


class Libtorrent:
    """A session of libtorrent (tried with 2.1.1). It never fails to answer."""

    name = "libtorrent"
    place = "libtorrent"
    peer = None

    def __init__(self, session: Any) -> None:
        self._session = session
        self._totals: dict[Any, tuple[int, int]] = {}

    def connect(self) -> str:
        """The name alone: a module's version need not be that of the session."""
        return self.name

    def read(self) -> Reading:
        """Counters of all torrents; those of torrents that were removed stay counted."""
        for handle in self._session.get_torrents():
            if handle.is_valid():
                status = handle.status()
                self._totals[status.info_hashes] = (
                    status.total_payload_upload,
                    status.total_payload_download,
                )
        setting = self.setting(self._session.get_settings())
        up, down = (sum(total[way] for total in self._totals.values()) for way in (0, 1))
        return Reading(up, down, setting, False)

    def setting(self, kept: Mapping[str, Any]) -> Setting:
        """The limit; 0 and below is none."""
        limit = max(int(kept[_LIMIT]), 0)
        return Setting(limit or None, {_LIMIT: limit})

    def rounded(self, limit: int) -> int:
        """Bytes, but enough that something moves; 0 would be no limit."""
        return max(min(limit, MOST), LEAST)

    def write(self, limit: int) -> None:
        """Set the limit."""
        self._session.apply_settings({_LIMIT: self.rounded(limit)})

    def restore(self, kept: Mapping[str, object]) -> None:
        """Set what it had."""
        self._session.apply_settings({_LIMIT: kept[_LIMIT]})

    def own_limits(self) -> OwnLimits:
        """Torrents with an upload limit of their own."""
        handles = [handle for handle in self._session.get_torrents() if handle.is_valid()]
        return OwnLimits(sum(handle.upload_limit() > 0 for handle in handles))

    def abort(self) -> None:
        """Nothing is ever under way for long."""

    def close(self) -> None:
        """The caller owns the session."""
