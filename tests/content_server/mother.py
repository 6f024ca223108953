"""Commands in processes that are killed. The first has all modules, so that each begins at once.

Takes lines of JSON: `{"words": [...], "form": "...", "log": "..."}` begins a command, and is
answered by the number of its process; `{"wait": NUMBER}` by how it ended, `{"look": NUMBER}` by
whether it has.
"""

import json
import os
import signal
import sys

from flashcrowd.cli import fetch, main, serve
from flashcrowd.content_server import running
from flashcrowd.download import asking, download, part, patience, voice

MODULES = fetch, serve, running, voice  # imported when first used, were it not for this
NOTE_S = 0.02
"""Time between two notes of what is there: short, so that something is there after a kill."""
LOOK = os.WEXITED | os.WNOHANG | os.WNOWAIT
FIRST_S = 0.05
"""The first wait of a client whose server has gone."""


def attend() -> None:
    children = set[int]()
    try:
        for line in sys.stdin:
            said = json.loads(line)
            if "wait" in said:
                children.discard(said["wait"])
                answer = os.waitstatus_to_exitcode(os.waitpid(said["wait"], 0)[1])
            elif "look" in said:
                answer = int(os.waitid(os.P_PID, said["look"], LOOK) is not None)
            else:
                answer = os.fork()
                if not answer:
                    begin(**said)
                children.add(answer)
            print(answer, flush=True)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)


def begin(words: list[str], form: str, log: str) -> None:
    """A command in this process, to its end."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(file, number)
    part.NOTE_S, patience.FIRST_S = NOTE_S, FIRST_S
    asking.FIRST = download.FIRST = asking.Form[form]
    status = 1
    try:
        main(words)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    attend()
