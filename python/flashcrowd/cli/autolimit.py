"""`flashcrowd autolimit`."""

from __future__ import annotations

import json as json_format
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators

from flashcrowd import _core
from flashcrowd.autolimit.line import uplink
from flashcrowd.autolimit.probes import PUBLIC, WAYS, parse
from flashcrowd.autolimit.run import Wish, release, run
from flashcrowd.autolimit.session import FAVOURED
from flashcrowd.autolimit.voice import Voice
from flashcrowd.base.errors import did_you_mean, one_of
from flashcrowd.client_api.address import Address
from flashcrowd.client_api.client import Refused
from flashcrowd.client_api.clients import reach
from flashcrowd.client_api.credentials import find

_LONGEST_S = 10 * 365 * 86_400
"""A longer time is as good as no end."""


def autolimit(
    client: Annotated[
        str,
        Parameter(
            name="CLIENT",
            help="Where it is: qbittorrent://USER@HOST:8080, transmission://HOST:9091 or "
            "deluge://USER@HOST:58846. No password: it is asked for.",
        ),
    ],
    /,
    *,
    line: Annotated[
        str | None,
        Parameter(
            help='The rate of the line, if you know it: "up 1 Mbit/s", with the download '
            '"1/8 Mbit/s", or a line of `flashcrowd list lines`; a ceiling.'
        ),
    ] = None,
    favour: Annotated[
        Literal["delay", "upload"] | None,
        Parameter(
            help="delay: for calls and games, most of the uplink stays free. upload: as much as "
            "your downloads allow. delay if not given.",
        ),
    ] = None,
    control: Annotated[
        str | None, Parameter(help="Another upload controller than these two, by its name.")
    ] = None,
    dry_run: Annotated[bool, Parameter(negative=(), help="Say what it would do only.")] = False,
    restore: Annotated[
        bool,
        Parameter(negative=(), help="Give back what a run that was killed could not, and end."),
    ] = False,
    password_file: Annotated[
        Path | None, Parameter(help="A file with the password, and nothing else in it.")
    ] = None,
    reflector: Annotated[
        list[str],
        Parameter(
            negative=(),
            help="HOST or HOST:PORT that answers probes, instead of public resolvers; repeat it.",
        ),
    ] = [],  # noqa: B006
    probe: Annotated[
        str | None, Parameter(help="How to probe: icmp, tcp or udp; what works if not given.")
    ] = None,
    history: Annotated[
        Path | None,
        Parameter(help="A folder for what happens, of which `flashcrowd report` makes a page."),
    ] = None,
    seconds: Annotated[
        float | None,
        Parameter(
            help="For how long; until Ctrl-C if not given.",
            validator=validators.Number(gt=0, lte=_LONGEST_S),
        ),
    ] = None,
    json: Annotated[
        bool, Parameter(negative=(), help="One JSON object a line, as things happen.")
    ] = False,
) -> int:
    """Set the upload limit of your BitTorrent client so that your line does not queue.

    Ctrl-C ends it, and the client has again what it had. A password comes from a prompt, from the
    environment variable FLASHCROWD_AUTOLIMIT_PASSWORD, or from --password-file. `flashcrowd
    explain holding` explains the words of the status line.

    Exit status: 0 ended and restored, 1 not restored, 2 the client cannot be used, or wrong use.
    """
    voice = Voice(json, dry_run)
    try:
        address = Address.parse(client)
        known = [each["name"] for each in json_format.loads(_core.upload_controllers())]
        if control is not None and favour is not None:
            raise Refused(f"--control {control}: --favour {favour} names another; give one.")
        control = control or FAVOURED[favour or "delay"]
        if control not in known:
            hint = did_you_mean(control, known)
            raise Refused(f"--control {control}: {hint or one_of(known, 20)}")
        if probe is not None and probe not in WAYS:
            raise Refused(f"--probe {probe}: {one_of(WAYS)}.")
        wish = Wish(
            control=control,
            line=uplink(line) if line is not None else None,
            reflectors=[parse(text) for text in reflector] or PUBLIC,
            ways=[probe] if probe else list(WAYS),
            dry=dry_run,
            seconds=seconds,
            history=history,
        )
        reached = reach(address, find(address, password_file))
        if restore:
            return release(reached, voice)
        return run(reached, wish, voice)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 2
