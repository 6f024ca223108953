"""What must be equal between two executions of one study."""

from __future__ import annotations

from pathlib import Path


def tables(folder: Path) -> dict[str, bytes]:
    """Name to bytes of all final tables but the one that tells what they cost."""
    files = sorted((folder / "tables").glob("*.parquet"))
    return {file.name: file.read_bytes() for file in files if file.name != "timings.parquet"}
