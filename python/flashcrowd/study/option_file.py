"""Files of options, as `--on` names them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from flashcrowd.base import toml_text
from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.scenario.text_file import text_of, unread


def table_of(file: Path) -> dict[str, object]:
    """The table of a TOML file.

    Raises:
        ClusterError: it cannot be read, or is no TOML.
    """
    try:
        return toml_text.loads(text_of(file, regular=True))
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterError(f"{file}: cannot be read: {unread(error)}") from error
    except (toml_text.TooDeep, toml_text.TooLong) as error:
        raise ClusterError(
            f"{file}: is no TOML of options: {toml_text.unfit(error, '').allowed}"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ClusterError(f"{file}: is no TOML: {error}") from error
