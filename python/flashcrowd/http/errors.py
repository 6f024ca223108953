"""How a download ends without a file."""

from __future__ import annotations


class FetchError(Exception):
    """A file cannot be fetched: one line with the remedy.

    Attributes:
        status: exit status of the command: 2 if what was asked for cannot be done, 1 if the server
            or the way to it failed.
        kept: bytes that are kept for the next call.
        goes_on: whether the same call may go on with them.
    """

    status = 1
    kept = 0
    goes_on = True

    @property
    def cause(self) -> str:
        """The error, without the remedy, which no other address needs."""
        return str(self).partition("; ")[0]


class Wrong(FetchError):
    """The server has other bytes than those that are wanted: the next call would get the same."""

    goes_on = False


class Unusable(FetchError):
    """The address, the target, or this machine: another try of the same would end the same."""

    status = 2
    goes_on = False


class Local(Unusable):
    """The target or this machine: no other address of the file would do better."""


class Broken(Exception):
    """One exchange with the server failed, or brought only a part; another may do better."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.wait_s = wait_s
        """The wait that the server asks for (Retry-After), in seconds."""


class Cut(Broken):
    """The connection ended before what it carries."""

    def __init__(self) -> None:
        super().__init__("the connection broke off")
