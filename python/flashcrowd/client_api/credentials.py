"""The password of a client: from the environment, a file or a prompt; never from a command line."""

from __future__ import annotations

import getpass
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import Refused

VARIABLE = "FLASHCROWD_AUTOLIMIT_PASSWORD"
"""The environment variable that is read."""


@dataclass(frozen=True)
class Credentials:
    """A user name and its password.

    Attributes:
        user: the name; empty for none.
        password: the password, or a key of qBittorrent's interface (`qbt_...`); None for none.
    """

    user: str
    password: str | None = field(default=None, repr=False)


def find(address: Address, file: Path | None) -> Credentials:
    """The credentials: from the file, else the environment, else a prompt if there is a user.

    Raises:
        Refused: the file cannot be read, or a password is needed and there is no terminal to ask.
    """
    if file is not None:
        try:
            password = file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise Refused(f"--password-file {file}: {why}.") from None
        return Credentials(address.user, password)
    if (password := os.environ.get(VARIABLE)) is not None:
        return Credentials(address.user, password)
    if not address.user:
        return Credentials("")
    if not sys.stdin.isatty():
        raise Refused(
            f"{address.place}: no password for {address.user}; put it into the environment "
            f"variable {VARIABLE}, or into a file for --password-file."
        )
    return Credentials(
        address.user, getpass.getpass(f"Password of {address.user} for {address.place}: ")
    )
