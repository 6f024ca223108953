"""The command line."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from flashcrowd.base import systems, terminal
from flashcrowd.base.errors import FAILED, MISSING, StudyError, Unusable, limit, refused
from flashcrowd.base.extras import remedy
from flashcrowd.base.signals import asked, stopped
from flashcrowd.cli import wrong_use
from flashcrowd.cli.ending import forget, open_streams, terminable


def _version() -> str:
    from importlib.metadata import version

    return version("flashcrowd")


app = App(
    name="flashcrowd",
    help="How long will a file take to reach many people, and what would make it faster?",
    version=_version,
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)

# Named here with their help, imported when called: --help and `check` need no engine and no plots.
for _name, _help in {
    "init": "Write a first study: three questions, or a template.",
    "run": "Run a study; a second call does what is missing.",
    "merge": "Put the shards of a study together.",
    "report": "Make the report of a results folder: one HTML page, and figures.",
    "expect": "Judge what a study expects of its results; the exit status says it.",
    "compare": "Put results folders side by side: differences, equivalence, curves.",
    "pcap": "Write what hosts saw on the wire as files for Wireshark (pcapng).",
    "qlog": "Write the logs of connections as files of qlog, which qvis opens.",
    "reproduce": "Reproduce a paper, claim by claim.",
    "traps": "Hold upload controllers against the best fixed limit, trap by trap.",
    "check": "Check a study and print it with every default.",
    "plan": "Write the plan of one point of a study, as the engine reads it.",
    "doctor": "Say what this machine offers for emulation, with remedies.",
    "draw": "Draw the network of a study as SVG.",
    "list": "List what a study may name: lines, stacks, clients, queues, measures, ...",
    "explain": "Say what a key of a study means.",
    "schema": "Print the JSON Schema of study files.",
    "autolimit": "Set the upload limit of your BitTorrent client so that your line does not queue.",
    "fetch": "Fetch a file over HTTP, and go on where an earlier call stopped.",
    "peer": "Download a torrent with the rules of a simulated client, and log what it does.",
    "serve": "Serve a directory over HTTP/1.1 and HTTP/2, in the order that suits the disk.",
    "completion": "Print a script with which a shell completes commands and options.",
}.items():
    app.command(f"flashcrowd.cli.{_name}:{_name}", name=_name, help=_help)
app.command("flashcrowd.cli.utp:app", name="utp", help="Measure over real uTP connections.")

ALLOCATIONS = 100_000
"""The garbage collector looks for cycles after this number of new objects (Python's own number is
700 or 2000). Most objects of a command live to its end; repeated scans take a fifth of the time of
a large check.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits.

    The exit status is what the command gives, 2 for a mistake in a study, 1 if the output cannot
    be written, 130 after Ctrl-C, 143 after SIGTERM.
    """
    open_streams()
    # Where it may start no thread, OpenBLAS sends its own process SIGINT, as Ctrl-C does; what is
    # computed with it here needs none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(ALLOCATIONS, 50, 50)
    with terminal.guarded(), terminable():
        try:
            status = _status(arguments)
        except Exception:
            # Raised where a library was being imported, it may come out as an error of that.
            if asked() is None:
                raise
            status = _interrupted()
    sys.exit(status)


def _status(arguments: Sequence[str] | None) -> int:
    try:
        # Before its module is imported, which may need what is not here.
        name = next(iter(sys.argv[1:] if arguments is None else arguments), "")
        if name in systems.COMMANDS:
            systems.required(f"flashcrowd {name}", systems.COMMANDS[name])
        result = app(arguments, exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        return _wrong(wrong_use.told(error, app))
    except StudyError as error:
        return _wrong(error)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2
    except ImportError as error:
        line = remedy(error) or systems.lacking(error)
        if line is None:
            raise
        print(line, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        forget(sys.stdout)
        return FAILED
    except OSError as error:
        if limit(error):
            print(refused(error), file=sys.stderr)
            return FAILED
        what = "the output cannot be written" if error.filename is None else error.filename
        print(f"{what}: {error.strerror or error}", file=sys.stderr)
        if error.filename is None:
            forget(sys.stdout)
        return FAILED
    except Exception as error:
        if not limit(error):
            raise
        print(refused(error), file=sys.stderr)
        return FAILED
    return result if isinstance(result, int) and not isinstance(result, bool) else 0


def _wrong(error: StudyError) -> int:
    if any(it.value == MISSING for it in error.problems):
        from flashcrowd.study.missing import with_examples  # it knows all tables

        error.problems = with_examples(error.problems)
    terminal.console(stderr=True, soft_wrap=True).print(error)
    return 2


def _interrupted() -> int:
    print("\nInterrupted. What was finished is kept.", file=sys.stderr)
    return stopped()
