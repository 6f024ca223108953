"""The program on a node: `python -m flashcrowd.testbed.agent look` or `… work`, in its folder.

There it finds `order.json`, the study, and in `parts` what earlier commands brought of its shards.
`look` says what this node is. `work` does the shards, each as `flashcrowd run --shard` does it,
keeps `state.json` up to date, and packs `parts` into `answer.zip` at the end. It ends what it
started if a file `stop` appears, or if `lease` was not touched for a while: then the driver is
gone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

from flashcrowd.base.errors import FAILED, StudyError
from flashcrowd.base.signals import how_it_ended
from flashcrowd.emulation.member import SECRET, parsed
from flashcrowd.engines import EngineError, registry
from flashcrowd.store import IncompleteResults, ResultsError, atomic
from flashcrowd.store import open as open_results
from flashcrowd.store.manifest import Manifest
from flashcrowd.store.shard import Shard

LEASE_S = 180.0
"""Seconds that a node works on after the driver's last question."""

LOOK_S = 0.5
"""How often the files and the run are looked at."""

REACH_S = 60.0
"""Seconds within which nodes that play runs with this one have to wait for them."""

END_S = 30.0
"""How long a run has to end, in seconds: it writes what is finished."""

LAST_LINES = 6

ORDER, STATE, ANSWER, PARTS = "order.json", "state.json", "answer.zip", "parts"
LEASE, STOP, LOG = "lease", "stop", "log"


@dataclass(frozen=True)
class NodeTask:
    """The task of a node.

    Attributes:
        study: name of the study's file.
        engine: what runs the study, by name.
        shards: as `flashcrowd run --shard` reads them.
        words: further options of `flashcrowd run`.
        members: nodes that play each run together with this one, as ADDRESS:PORT.
        port: at which this node waits for runs of another, in place of shards; none if 0.
        secret: what these nodes know of each other.
    """

    study: str
    engine: str
    shards: Sequence[str]
    words: Sequence[str] = ()
    members: Sequence[str] = ()
    port: int = 0
    secret: str = ""


@dataclass(frozen=True)
class State:
    """How far a node is.

    Attributes:
        ended: whether nothing runs there any more.
        finished: runs of its shards that are done, those of earlier commands too.
        failure: why it ended before all were; nothing if it did not, or was asked to.
    """

    ended: bool = False
    finished: int = 0
    failure: str = ""


def folder_of(shard: str) -> str:
    """The name of a shard's folder."""
    return shard.replace("/", "-of-")


def pack(archive: Path, folder: Path) -> None:
    """Write the files of a folder into an archive, under the folder's own paths."""
    unfinished = archive.with_name(f".{archive.name}")
    with zipfile.ZipFile(unfinished, "w") as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                packed.write(path, path.relative_to(folder))
    os.replace(unfinished, archive)


def look() -> Mapping[str, object]:
    """The properties of this node for its results; `problem` says why it cannot run the study."""
    said: dict[str, object] = {"version": version("flashcrowd"), "host": os.uname().nodename}
    try:
        from flashcrowd.study import Study
        from flashcrowd.study.runner import prepare

        campaign = prepare(Study.load(Path(_order().study)), registry.engine(_order().engine))
        said["engine"] = campaign.manifest.engine.digest
    except (EngineError, StudyError, ImportError, registry.UnknownEngine) as error:
        said["problem"] = "; ".join(line.strip() for line in str(error).splitlines())
    return said


def work() -> None:
    """Do all shards, or until it is time to end."""
    state = State()
    before = 0
    lease = _Lease()
    os.environ[SECRET] = _order().secret
    if _order().port:
        state = _wait_for_others(lease)
    else:
        state = State(failure=_unreached(_order().members, lease))
    for shard in _order().shards if not state.failure else ():
        words = [sys.executable, "-m", "flashcrowd", "run", _order().study, "--shard", shard]
        words += ["--out", f"{PARTS}/{folder_of(shard)}", "--engine", _order().engine]
        words += [word for member in _order().members for word in ("--across", member)]
        run = _started([*words, *_order().words])
        try:
            while run.poll() is None and not lease.over:
                state = replace(state, finished=before + _done())
                _write(state)
                time.sleep(LOOK_S)
        finally:
            status = _end(run)
        before += _kept(Path(PARTS) / folder_of(shard))
        state = replace(state, finished=before)
        if lease.over:
            break
        # A run that failed is one that was carried out: the shard has its row.
        if status and not (status == FAILED and _is_whole(shard)):
            lines = [line for line in _log().splitlines() if line.strip()][-LAST_LINES:]
            words = [f"flashcrowd run {how_it_ended(status)}"] if status < 0 or not lines else []
            state = replace(state, failure="; ".join([*words, *lines]))
            break
    pack(Path(ANSWER), Path(PARTS))
    _write(replace(state, ended=True))
    if lease.lapsed:
        folder = Path.cwd()
        shutil.rmtree(folder)  # the driver will not fetch it
        with suppress(OSError):
            folder.parent.rmdir()


def _wait_for_others(lease: _Lease) -> State:
    """Play this node's share of another node's runs; how it ended."""
    place = f"0.0.0.0:{_order().port}"
    member = _started([sys.executable, "-m", "flashcrowd.emulation.member", place])
    try:
        while member.poll() is None and not lease.over:
            _write(State())
            time.sleep(LOOK_S)
        if lease.over:
            return State()
        ended = f"the member {how_it_ended(member.wait())}"
        return State(failure="; ".join([ended, *_log().split("\n")[-LAST_LINES:]]).strip("; "))
    finally:
        _end(member)


def _unreached(members: Sequence[str], lease: _Lease) -> str:
    """Which of these do not wait for runs in time, in words; nothing if all do, or it is over."""
    end = time.monotonic() + REACH_S
    for member in members:
        while not lease.over:
            try:
                socket.create_connection(parsed(member), LOOK_S).close()
                break
            except OSError as error:
                if time.monotonic() > end:
                    port = parsed(member)[1]
                    return (
                        f"{member} does not answer ({error}): see that nodes reach each other at "
                        f"TCP port {port}, `port` under [node]"
                    )
                time.sleep(LOOK_S)
    return ""


def _started(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """A program that writes into the log."""
    with Path(LOG).open("wb") as log:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def _order() -> NodeTask:
    return NodeTask(**json.loads(Path(ORDER).read_text(encoding="utf-8")))


class _Lease:
    """Whether the driver still asks. It uses the monotonic clock: fresh nodes' clocks get set."""

    def __init__(self) -> None:
        self._seen = 0
        self._seen_at = time.monotonic()

    @property
    def lapsed(self) -> bool:
        """Whether the lease has expired."""
        touched = Path(LEASE).stat().st_mtime_ns
        if touched != self._seen:
            self._seen, self._seen_at = touched, time.monotonic()
        return time.monotonic() - self._seen_at > LEASE_S

    @property
    def over(self) -> bool:
        """Whether it is time to end."""
        return Path(STOP).exists() or self.lapsed


def _end(run: subprocess.Popen[bytes]) -> int:
    """End a run if it has not ended, in time or by force; its exit status."""
    if run.poll() is None:
        run.send_signal(signal.SIGTERM)
        try:
            run.wait(END_S)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
    return run.wait()


def _log() -> str:
    return Path(LOG).read_text(encoding="utf-8", errors="replace")


def _done() -> int:
    """Runs of the shard under way that are finished, by what the command says of them."""
    said = re.findall(r"^([0-9]+) of [0-9]+ runs ", _log(), re.MULTILINE)
    begun = re.search(r" runs?, ([0-9]+) of them done before", _log())
    return int(said[-1]) if said else int(begun[1]) if begun else 0


def _kept(folder: Path) -> int:
    """Runs that a folder has, once its writers have ended."""
    try:
        return len(open_results(folder).manifest.runs)
    except IncompleteResults as error:
        return error.done
    except ResultsError:
        return 0


def _is_whole(shard: str) -> bool:
    """Whether all runs of a shard are kept."""
    folder = Path(PARTS) / folder_of(shard)
    try:
        wanted = Shard.parse(shard).of_runs(Manifest.read(folder).runs)
    except ResultsError:
        return False
    return _kept(folder) == len(wanted)


def _write(state: State) -> None:
    atomic.write_bytes(Path(STATE), json.dumps(asdict(state)).encode())


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    else:
        print(json.dumps(look()))
