"""What a build is: the code that decides results."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Build(TypedDict):
    """A build of the extension, and of the engine that was asked.

    Attributes:
        version: the package's.
        profile: `release` or `debug`.
        commit: with a `+` if sources differed from it; None outside of a repository.
        engine: digest of what decides the results of the engine that was asked; of the simulation
            if none was.
        emulation: digest of the compiled part of the emulation.
        server: digest of the content server.
        rustc: the compiler's version.
        programs: versions of real clients by name; None of one that is not there.
    """

    version: str
    profile: str
    commit: str | None
    engine: str
    emulation: str
    server: str
    rustc: str | None
    programs: NotRequired[dict[str, str | None]]
