"""`flashcrowd fetch`."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from flashcrowd.base.signals import stopped
from flashcrowd.cli.ending import again, kept
from flashcrowd.cli.values import from_on

if TYPE_CHECKING:
    from flashcrowd.download import Fetched
    from flashcrowd.download.several import Outcome
    from flashcrowd.download.voice import Voice
    from flashcrowd.download.wanted import Entry, Wanted


def fetch(
    *urls: Annotated[str, Parameter(name="URL", help="Where they are: http://… or https://…")],
    lists: Annotated[
        list[str],
        Parameter(
            name=["--from", "-i"],
            negative=(),
            allow_leading_hyphen=True,
            help="A list: an address a line, and its SHA-256 behind it if you know it; or a list "
            "of sha256sum. A file, an address, or - for standard input. May be repeated.",
        ),
    ] = [],  # noqa: B006
    base: Annotated[
        str | None,
        Parameter(
            help="Where the files of a list of sha256sum are, as in https://host/folder/; if not "
            "given, beside the list, if that has an address."
        ),
    ] = None,
    mirror: Annotated[
        list[str],
        Parameter(
            negative=(),
            help="Another address of the same file, asked where the first one fails. May be "
            "repeated.",
        ),
    ] = [],  # noqa: B006
    connections: Annotated[
        int,
        from_on(1, "Connections at once, to the address and its mirrors together.", 100),
    ] = 1,
    range_: Annotated[
        str,
        Parameter(
            name="--range",
            help='Bytes that each of several connections requests at a time, as "1 MiB"; equal '
            "for one equal part for each.",
        ),
    ] = "1 MiB",
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            help="Where it is to be; if not given, here, by the last part of the address.",
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        Parameter(
            name=["--directory", "-d"], help="The folder for files without -o; made if missing."
        ),
    ] = None,
    skip_existing: Annotated[
        bool,
        Parameter(
            negative=(),
            help="Leave a file of that name as it is; it is checked only if its SHA-256 is known, "
            "and one with another SHA-256 is an error, or replaced with --overwrite. Without, a "
            "file that is there is done if its SHA-256 is known and right, else an error.",
        ),
    ] = False,
    overwrite: Annotated[
        bool, Parameter(negative=(), help="Replace a file of that name, when the new one is whole.")
    ] = False,
    sha256: Annotated[
        str | None, Parameter(help="The SHA-256 that the file must have, 64 hexadecimal digits.")
    ] = None,
    header: Annotated[
        list[str],
        Parameter(
            name=["--header", "-H"],
            negative=(),
            help='A field for each request, "Name: value"; this host gets it only; repeat it.',
        ),
    ] = [],  # noqa: B006
    in_order: Annotated[
        bool,
        Parameter(negative=(), help="Do not take the bytes in the order that the server likes."),
    ] = False,
    tries: Annotated[
        int,
        from_on(1, "Requests in a row that may come to nothing."),
    ] = 8,
    timeout: Annotated[
        float,
        Parameter(
            help="Seconds without a byte after which a connection is given up.",
            validator=validators.Number(gt=0),
        ),
    ] = 60.0,
    ca: Annotated[
        Path | None,
        Parameter(help="Certificates (PEM) that are trusted instead of the system's."),
    ] = None,
    quiet: Annotated[
        bool, Parameter(name=["--quiet", "-q"], negative=(), help="Say only what went wrong.")
    ] = False,
    json: Annotated[
        bool, Parameter(negative=(), help="Print what was fetched as JSON, a line for each file.")
    ] = False,
) -> int:
    """Fetch files over HTTP, and go on where an earlier call stopped.

    What comes is in FILE.part until the file is whole and verified by the digests that the server
    offers. Give the same command again after Ctrl-C or a crash. A file that is there already is
    done if it has the SHA-256 that is given, or the digest that the server sends. A server that
    offers it sends the bytes in the order that costs its disk least (`flashcrowd serve` does).
    Several files come one after the other, and the end names those that failed.

    Exit status: 0 all files are there, 1 the server or the way to it failed, 2 the address, the
    target or this machine does not allow it, 130 after Ctrl-C, 143 after SIGTERM. Of several
    failures, 1 counts first.
    """
    from flashcrowd.download import FetchError, Unusable, several
    from flashcrowd.download import fetch as fetch_file
    from flashcrowd.download.wanted import Entry

    def one(each: Wanted, voice: Voice) -> Fetched:
        return fetch_file(
            each.url,
            each.target,
            mirrors=mirror,
            progress=voice.watch,
            tell=voice.tell,
            overwrite=overwrite,
            sha256=each.sha256,
            headers=fields,
            any_order=not in_order,
            tries=tries,
            timeout_s=timeout,
            ca=ca,
            connections=connections,
            range_bytes=range_bytes,
        )

    def list_at(url: str) -> bytes:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "list"
            fetch_file(
                url,
                path,
                progress=lambda far: _short_enough(far.length or far.done, url),
                headers=fields,
                tries=tries,
                timeout_s=timeout,
                ca=ca,
            )
            return path.read_bytes()

    try:
        range_bytes = None if range_ == "equal" else _range(range_)
        fields = dict(_field(text) for text in header)
        entries = [Entry(url, sha256) for url in _addresses(urls)]
        for name in lists:
            entries += _listed(name, base, list_at)
        if base is not None and not lists:
            raise Unusable("--base: is for the files of a list; give one with --from")
        wanted = _wanted(entries, output, directory, sha256, mirror)
        if len(wanted) == 1 and not lists and not skip_existing:
            return _only(wanted[0], one, quiet, json)
    except FetchError as error:
        print(error, file=sys.stderr)
        if error.kept and error.goes_on:
            print(kept(), file=sys.stderr)
        return error.status

    def told(outcome: several.Outcome) -> None:
        if json:
            print(json_format.dumps(_said(outcome)), flush=True)

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        return several.Several(wanted, one, say, told, quiet, skip_existing, overwrite).run()
    except KeyboardInterrupt:
        # A file that is there may be one that --overwrite was to replace.
        skip = "" if skip_existing or overwrite else " --skip-existing"
        print(f"Go on with: {again()}{skip}", file=sys.stderr)
        return stopped()


def _only(
    each: Wanted, fetch_one: Callable[[Wanted, Voice], Fetched], quiet: bool, json: bool
) -> int:
    """One file alone; gives the exit status."""
    from flashcrowd.download.several import Outcome
    from flashcrowd.download.voice import Voice

    with Voice(each.target.name, quiet) as voice:
        try:
            fetched = fetch_one(each, voice)
        except KeyboardInterrupt:
            voice.stop()
            then = "Go on" if voice.keeps else "Begin again"
            print(f"\nStopped. {voice.kept()}\n{then} with: {again()}", file=sys.stderr)
            return stopped()
    if json:
        print(json_format.dumps(_said(Outcome(each, fetched))))
    elif not quiet:
        print(voice.summary(fetched), file=sys.stderr)
    return 0


def _said(outcome: Outcome) -> dict[str, object]:
    """The outcome of a file, as JSON has it."""
    from flashcrowd.http.address import clean

    url, path = clean(outcome.wanted.url), str(outcome.wanted.target)
    said: dict[str, object] = {"format": 1, "url": url}
    if outcome.fetched is not None:
        return {**said, **asdict(outcome.fetched), "path": path}
    if outcome.error is not None:
        return {**said, "path": path, "error": str(outcome.error), "status": outcome.error.status}
    return {**said, "path": path, "skipped": True}


def _addresses(urls: Sequence[str]) -> Sequence[str]:
    """The addresses of the command line, none of which is a file here."""
    from flashcrowd.download import Unusable

    for url in urls:
        if "://" not in url and Path(url).is_file():
            raise Unusable(f"{url}: is a file here, and no address; a list goes with --from {url}")
    return urls


def _wanted(
    entries: Sequence[Entry],
    output: Path | None,
    directory: Path | None,
    sha256: str | None,
    mirrors: Sequence[str],
) -> list[Wanted]:
    """The files that are wanted.

    Raises:
        Unusable: they cannot be.
    """
    from flashcrowd.download import Unusable
    from flashcrowd.download.wanted import Wanted, plan

    if not entries:
        raise Unusable("no address; give one like https://host/path/file, or a list with --from")
    alone = {"-o": output, "--sha256": sha256, "--mirror": mirrors or None}
    if len(entries) > 1:
        for option, value in alone.items():
            if value is not None:
                raise Unusable(f"{option}: is for one file, and {len(entries)} are wanted")
    if output is not None:
        if directory is not None:
            raise Unusable("-o and -d: -o names the file with its folder; give one of both")
        return [Wanted(entries[0].url, output, entries[0].sha256)]
    wanted = plan(entries, directory or Path())
    if directory is not None:
        _make(directory)
    for folder in {it.target.parent for it in wanted} - {directory or Path()}:
        _make(folder)
    return wanted


def _make(folder: Path) -> None:
    """Make a folder that is not there, and those above it."""
    from flashcrowd.download import Unusable

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        why = str(error) if isinstance(error, ValueError) else error.strerror
        raise Unusable(f"{folder}: cannot be made ({why}); name another folder with -d") from None


def _listed(name: str, base: str | None, list_at: Callable[[str], bytes]) -> list[Entry]:
    """The entries of a list in a file, at an address, or on standard input."""
    from flashcrowd.download import Unusable
    from flashcrowd.download.wanted import MOST_LIST, read_list
    from flashcrowd.http.address import clean

    beside = name if "://" in name else ""
    if base is not None:
        beside = f"{base.rstrip('/')}/"
    shown = "standard input" if name == "-" else clean(name) if "://" in name else name
    try:
        if "://" in name:
            text = list_at(name)
        elif name == "-":
            text = sys.stdin.buffer.read(MOST_LIST + 1)
        else:
            with Path(name).open("rb") as file:
                text = file.read(MOST_LIST + 1)
        _short_enough(len(text), shown)
        return read_list(text.decode("utf-8"), shown, beside)
    except OSError as error:
        raise Unusable(f"{shown}: {error.strerror or error}; name a list of addresses") from None
    except UnicodeDecodeError:
        raise Unusable(f"{shown}: is no text in UTF-8; a list has one address a line") from None


def _short_enough(length: int, name: str) -> None:
    """Refuse a list that is too long."""
    from flashcrowd.download import Unusable
    from flashcrowd.download.wanted import MOST_LIST

    if length > MOST_LIST:
        raise Unusable(f"{name}: is longer than {MOST_LIST >> 20} MiB; split the list")


def _range(text: str) -> int:
    from flashcrowd.base.units import Size, UnitError
    from flashcrowd.download import Unusable

    try:
        if size := Size(text).bytes:
            return size
    except UnitError:
        pass
    raise Unusable(f"--range {text}: is no size like 1 MiB, nor equal")


def _field(text: str) -> tuple[str, str]:
    from flashcrowd.download import Unusable

    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise Unusable(f"--header {text}: is no field; one is like 'Name: value'")
    return name.strip(), value.strip()
