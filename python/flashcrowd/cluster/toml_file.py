"""Files of options, as `--on` names them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from flashcrowd.cluster.errors import ClusterError


def table_of(file: Path) -> dict[str, Any]:
    """What a TOML file says.

    Raises:
        ClusterError: it cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ClusterError(f"{file}: cannot be read: {reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise ClusterError(f"{file}: is no TOML: {error}") from error
