"""`flashcrowd fetch`."""

from __future__ import annotations

import json as json_format
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from flashcrowd.cli.ending import again, stopped


def fetch(
    url: Annotated[str, Parameter(name="URL", help="Where it is: http://… or https://…")],
    /,
    *,
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            help="Where it is to be; if not given, here, by the last part of the address.",
        ),
    ] = None,
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
        Parameter(
            help="Requests in a row that may come to nothing.", validator=validators.Number(gte=1)
        ),
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
    quiet: Annotated[bool, Parameter(negative=(), help="Say only what went wrong.")] = False,
    json: Annotated[
        bool, Parameter(negative=(), help="Print what was fetched as JSON at the end.")
    ] = False,
) -> int:
    """Fetch a file over HTTP, and go on where an earlier call stopped.

    What comes is in FILE.part until the file is whole and verified by the digests that the server
    offers. Give the same command again after Ctrl-C or a crash. A server that offers it sends the
    bytes in the order that costs its disk least (`flashcrowd serve` does).

    Exit status: 0 the file is there, 1 the server or the way to it failed, 2 the address, the
    target or this machine does not allow it, 130 after Ctrl-C.
    """
    from flashcrowd.download import FetchError, Unusable, name_of
    from flashcrowd.download import fetch as fetch_file
    from flashcrowd.download.address import clean
    from flashcrowd.download.voice import Voice

    try:
        target = Path(name_of(url)) if output is None else output
        fields = dict(_field(text) for text in header)
        with Voice(target.name, quiet) as voice:
            try:
                fetched = fetch_file(
                    url,
                    target,
                    progress=voice.watch,
                    tell=voice.tell,
                    overwrite=overwrite,
                    sha256=sha256,
                    headers=fields,
                    any_order=not in_order,
                    tries=tries,
                    timeout_s=timeout,
                    ca=ca,
                )
            except KeyboardInterrupt:
                voice.stop()
                print(f"\nStopped. {voice.kept()}\nGo on with: {again()}", file=sys.stderr)
                return stopped()
    except FetchError as error:
        print(error, file=sys.stderr)
        if error.kept and not isinstance(error, Unusable):
            print(f"What came is kept. Go on with: {again()}", file=sys.stderr)
        return error.status
    if json:
        said = {"format": 1, "url": clean(url), **asdict(fetched), "path": str(fetched.path)}
        print(json_format.dumps(said))
    elif not quiet:
        print(voice.summary(fetched), file=sys.stderr)
    return 0


def _field(text: str) -> tuple[str, str]:
    from flashcrowd.download import Unusable

    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise Unusable(f"--header {text}: is no field; one is like 'Name: value'")
    return name.strip(), value.strip()
