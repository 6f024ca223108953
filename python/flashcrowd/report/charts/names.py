"""How captions call things: a workload is often named after its kind."""

from __future__ import annotations


def called(kind: str, name: str) -> str:
    """``swarm crowd``; but ``the swarm``, not ``swarm swarm``."""
    return f"the {kind}" if name == kind else f"{kind} {name}"
