"""Logs of connections as files of qlog, which its tools open."""

from __future__ import annotations

from flashcrowd.qlog.files import write

__all__ = ["write"]
