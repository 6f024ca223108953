"""A study on nodes: each does shards of it, as a person could by hand, and they are merged here."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
import tempfile
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.store import IncompleteResults
from flashcrowd.store import open as open_results
from flashcrowd.store.digests import MANIFEST
from flashcrowd.store.merge import merge
from flashcrowd.store.results import Results
from flashcrowd.store.shard import Shard
from flashcrowd.study import Study
from flashcrowd.study.pool import Watch
from flashcrowd.study.progress import Lines, say, shown
from flashcrowd.study.repeats import Until
from flashcrowd.study.runner import folder_name
from flashcrowd.testbed import agent
from flashcrowd.testbed.agent import ANSWER, LEASE, ORDER, PARTS, STATE, STOP, NodeTask, folder_of
from flashcrowd.testbed.nodes import NAME, Answers, Nodes
from flashcrowd.testbed.options import Options

POLL_S = 5.0
"""How often nodes are asked how far they are, in seconds."""

LOST_S = 120.0
"""A node that cannot be reached for this long is lost."""

STOP_S = 60.0
"""How long nodes have to end when they are asked to, in seconds."""


class Stopped(KeyboardInterrupt):
    """Ctrl-C was pressed, and the nodes have ended; the message says what is kept."""


@dataclass(frozen=True)
class Deployment:
    """The task on nodes.

    Attributes:
        study: the study.
        engine: what runs it, by name.
        out: the results folder.
        words: further options of `flashcrowd run` on each node.
        progress: show how far it is, if there is a terminal.
        lines: the output where there is no terminal.
        poll_s: how often nodes are asked how far they are, in seconds.
        tell: receives what is lost or left over.
    """

    study: Study
    engine: str
    out: Path
    words: Sequence[str] = ()
    progress: bool = False
    lines: Lines | None = None
    poll_s: float = POLL_S
    tell: Callable[[str], None] = say

    @property
    def parts(self) -> Path:
        """Where the folders of shards are until all are there."""
        return self.out.with_name(f"{self.out.name}-{PARTS}")

    @property
    def runs(self) -> int:
        """Runs in all."""
        return len(self.study.points()) * self.study.least_repeats

    def before(self) -> Results | None:
        """The runs that the results folder has already.

        Raises:
            ClusterError: something else than this study's results, or a part of them.
        """
        if isinstance(self.study.repeats, Until):
            raise ClusterError(
                "--on enoslib: repeats are a number then, as with --repeats 20: who repeats until "
                "the mean is known looks at all runs"
            )
        if not (self.out / MANIFEST).exists():
            return None
        try:
            found = open_results(self.out)
        except IncompleteResults:
            found = None
        if found is not None:
            card = found.manifest
            same = (card.fingerprint, card.engine.name, len(card.runs))
            if same == (self.study.fingerprint(), self.engine, self.runs):
                return found
        raise ClusterError(
            f"{self.out} has other results, or only a part of these: give another folder with --out"
        )

    def execute(self, nodes: Nodes, options: Options) -> Results:
        """Have the nodes do what is left, and put it together.

        Raises:
            ClusterError: a node cannot take part, or failed; what was finished is kept.
            Stopped: Ctrl-C was pressed.
            ResultsError: what came back cannot be put together.
        """
        across = options.across
        if across > 1 and self.engine != "emulation":
            raise ClusterError("across: a simulation is never divided; run it with across = 1")
        if len(nodes.names) < across:
            raise ClusterError(
                f"across: {across} nodes play a run, and there are {len(nodes.names)}"
            )
        teams = [
            nodes.names[first : first + across]
            for first in range(0, len(nodes.names) - across + 1, across)
        ]
        shares = self._shares([team[0] for team in teams])
        helpers = {team[0]: team[1:] for team in teams if team[0] in shares}
        folder = f"{options.folder}/flashcrowd-{uuid.uuid4().hex[:12]}/{NAME}"
        with _Execution(self, nodes, options, shares, helpers, folder).there() as execution:
            execution.look()
            execution.work()
        results = merge(self.out, sorted(self.parts.iterdir()), self.tell)
        shutil.rmtree(self.parts)
        return results

    def _shares(self, names: Sequence[str]) -> Mapping[str, Sequence[Shard]]:
        """The shards of each node; as many as there were before, where an earlier command began."""
        begun = {
            int(match[2])
            for path in (self.parts.iterdir() if self.parts.exists() else ())
            if (match := re.fullmatch(r"([0-9]+)-of-([0-9]+)", path.name))
        }
        if len(begun) > 1:
            raise ClusterError(f"{self.parts} has shards of different studies: remove it")
        of = begun.pop() if begun else min(len(names), self.runs)
        shards = [Shard(number, of) for number in range(1, of + 1)]
        dealt = {name: shards[place :: len(names)] for place, name in enumerate(names)}
        return {name: shares for name, shares in dealt.items() if shares}


@dataclass
class _Execution:
    """One call of `Deployment.execute`."""

    deployment: Deployment
    nodes: Nodes
    options: Options
    shares: Mapping[str, Sequence[Shard]]
    helpers: Mapping[str, Sequence[str]]
    folder: str
    secret: str = field(default_factory=lambda: uuid.uuid4().hex)
    made: list[str] = field(default_factory=list)
    working: set[str] = field(default_factory=set)
    finished: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [*self.shares, *(name for team in self.helpers.values() for name in team)]

    @contextmanager
    def there(self) -> Iterator[_Execution]:
        """Folders of work with all that the nodes need, until the block ends."""
        try:
            with tempfile.TemporaryDirectory(prefix="flashcrowd-") as scratch:
                self._send(Path(scratch))
            yield self
        finally:
            gone = [name for name in self.made if name not in self.working]
            parent = self.folder.removesuffix(f"/{NAME}")
            words = f"rm -rf {self._there}; rmdir {shlex.quote(parent)} 2> /dev/null; true"
            for name, said in self.nodes.run(words, gone).items():
                if said is None or said.status:
                    left = self.folder.replace(NAME, name)
                    self.deployment.tell(f"node {name}: {left} is left there")

    def look(self) -> None:
        """See that all nodes can do their shards, and would do them alike.

        Raises:
            ClusterError: one cannot, or does not.
        """
        program = f"{self.options.python} -m flashcrowd.testbed.agent look"
        engines: dict[str, str] = {}
        own = version("flashcrowd")
        for name, said in self._run(f"cd {self._there} && {program}").items():
            if said.status:
                raise ClusterError(
                    f"node {name}: flashcrowd does not run with {self.options.python} "
                    f"({said.line}): see `python` and `prepare` under [node]"
                )
            there = json.loads(said.out.splitlines()[-1])
            if there["version"] != own:
                raise ClusterError(
                    f"node {name} has flashcrowd {there['version']}, this machine has {own}: "
                    "install the same"
                )
            if there.get("problem"):
                raise ClusterError(f"node {name}: {there['problem']}")
            engines[name] = there["engine"]
        first = self.names[0]
        for name, engine in engines.items():
            if engine != engines[first]:
                raise ClusterError(
                    f"nodes {first} and {name} are not the same ({engines[first]} and {engine}): "
                    "results of other builds, kernels or clients are not mixed"
                )

    def work(self) -> None:
        """Have them work, and fetch what they did, also of those that were stopped.

        Raises:
            ClusterError: a node failed, or was lost.
            Stopped: Ctrl-C was pressed.
        """
        deployment = self.deployment
        program = f"{self.options.python} -m flashcrowd.testbed.agent work"
        self._run(
            f"cd {self._there} && touch {LEASE} && "
            f"(setsid {program} < /dev/null > agent.log 2>&1 &)"
        )
        self.working = set(self.names)
        failures: list[str] = []
        title, total = deployment.study.title, deployment.runs
        try:
            with shown(title, 0, total, deployment.progress, deployment.lines) as watch:
                # A node without a shard of its own ends only on request.
                failures = self._attend(watch, {*self.shares}, float("inf"))
        except KeyboardInterrupt:
            self._stop()
            raise Stopped(
                f"{sum(self.finished.values())} of {total} runs are finished and kept in "
                f"{deployment.parts}."
            ) from None
        if self.working or failures:
            self._stop()
        if failures:
            raise ClusterError(f"{failures[0]}; what was finished is kept in {deployment.parts}")

    def _attend(self, watch: Watch | None, nodes: set[str], end_s: float) -> list[str]:
        """Ask until all of these have ended, or one has failed, or it is late; why they failed."""
        heard = dict.fromkeys(self.working, time.monotonic())
        end = time.monotonic() + end_s
        while self.working & nodes and time.monotonic() < end:
            time.sleep(self.deployment.poll_s)
            failures, ended = [], []
            words = f"cd {self._there} && touch {LEASE} && cat {STATE} 2> /dev/null || true"
            for name, said in self.nodes.run(words, sorted(self.working)).items():
                now = time.monotonic()
                if said is None or said.status:
                    if now - heard[name] > LOST_S:
                        failures.append(f"node {name} cannot be reached any more")
                        self.working.discard(name)
                    continue
                heard[name] = now
                state = agent.State(**json.loads(said.out or "{}"))
                self.finished[name] = state.finished
                if state.ended:
                    ended.append(name)
                if state.failure:
                    failures.append(f"node {name}: {state.failure}")
            self._collect(ended)
            if watch is not None:
                done = sum(self.finished.values())
                watch(done, float(done), len(self.working))
            if failures:
                return failures
        return []

    def _collect(self, names: Sequence[str]) -> None:
        """Bring what nodes that have ended did."""
        with tempfile.TemporaryDirectory(prefix="flashcrowd-") as scratch:
            source, target = f"{self.folder}/{ANSWER}", f"{scratch}/{NAME}.zip"
            for name, said in self.nodes.fetch(source, target, names).items():
                self.working.discard(name)
                if said is None or said.status:
                    why = "it cannot be reached" if said is None else said.line
                    self.working.add(name)
                    raise ClusterError(f"node {name}: its results cannot be fetched: {why}")
                self._unpack(Path(scratch) / f"{name}.zip", self.shares.get(name, ()))

    def _unpack(self, archive: Path, shards: Sequence[Shard]) -> None:
        """Put folders of shards in the place of what was there of them."""
        parts = self.deployment.parts
        parts.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=parts.parent) as scratch:
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(scratch)
            for shard in shards:
                new, old = Path(scratch) / folder_of(str(shard)), parts / folder_of(str(shard))
                if new.exists():
                    if old.exists():
                        old.rename(Path(scratch) / "before")
                        shutil.rmtree(Path(scratch) / "before")
                    new.rename(old)

    def _stop(self) -> None:
        """End what is under way, and fetch what is finished."""
        self.nodes.run(f"touch {self._there}/{STOP}", sorted(self.working))
        self._attend(None, {*self.working}, STOP_S)
        for name in sorted(self.working):
            self.deployment.tell(
                f"node {name} does not answer: what runs there ends by itself within "
                f"{agent.LEASE_S / 60:.0f} min"
            )

    def _send(self, scratch: Path) -> None:
        """Make the folders of work, and carry out what prepares them."""
        made = self.nodes.run(f"mkdir -p {self._there} && chmod 700 {self._there}", self.names)
        self.made = [name for name, said in made.items() if said is not None and not said.status]
        for name, said in self._all(made, "").items():
            if said.status:
                raise ClusterError(f"node {name}: {self.options.folder}: {said.line}")
        for file in self.options.files:
            self._all(self.nodes.send(str(file), f"{self.folder}/{file.name}", self.names), "send")
        for command in self.options.prepare:
            for name, said in self._run(f"cd {self._there} && {command}").items():
                if said.status:
                    raise ClusterError(f"node {name}: {command}: {said.line}")
        study = f"{folder_name(self.deployment.study)}.toml"
        for name, order in self._orders(study).items():
            self._pack(scratch / name, order)
            agent.pack(scratch / f"{name}.zip", scratch / name)
        target = f"{self.folder}/order.zip"
        self._all(self.nodes.send(f"{scratch}/{NAME}.zip", target, self.names), "send")
        unpack = f"{self.options.python} -m zipfile -e order.zip ."
        for name, said in self._run(f"cd {self._there} && {unpack}").items():
            if said.status:
                raise ClusterError(
                    f"node {name}: there is no Python that works at {self.options.python} "
                    f"({said.line}): see `python` and `prepare` under [node]"
                )

    def _orders(self, study: str) -> dict[str, NodeTask]:
        """The task of each node."""
        orders = {}
        engine, words = self.deployment.engine, self.deployment.words
        for name, shards in self.shares.items():
            # Different ports, as nodes may be on one machine.
            ports = dict(zip(self.helpers[name], itertools.count(self.options.port), strict=False))
            members = [f"{self.nodes.addresses[it]}:{port}" for it, port in ports.items()]
            secret = self.secret if members else ""
            here = [str(it) for it in shards]
            orders[name] = NodeTask(study, engine, here, words, members, secret=secret)
            for helper, port in ports.items():
                orders[helper] = NodeTask(study, engine, [], port=port, secret=secret)
        return orders

    def _pack(self, folder: Path, order: NodeTask) -> None:
        parts = folder / PARTS
        parts.mkdir(parents=True)
        (folder / ORDER).write_text(json.dumps(asdict(order)), encoding="utf-8")
        (folder / order.study).write_text(self.deployment.study.to_toml(), encoding="utf-8")
        for shard in order.shards:
            before = self.deployment.parts / folder_of(shard)
            if before.exists():
                shutil.copytree(before, parts / before.name, symlinks=True)

    @property
    def _there(self) -> str:
        """The folder of work in a command of the shell."""
        return shlex.quote(self.folder)

    def _run(self, command: str) -> dict[str, Any]:
        return self._all(self.nodes.run(command, self.names), "")

    def _all(self, answers: Answers, what: str) -> dict[str, Any]:
        """The answers of all nodes.

        Raises:
            ClusterError: one cannot be reached, or the copying of files failed.
        """
        found = {}
        for name, said in answers.items():
            if said is None:
                raise ClusterError(
                    f"node {name} cannot be reached: see that `ssh` from here to there works "
                    "without a question"
                )
            if what and said.status:
                raise ClusterError(f"node {name}: files cannot be copied: {said.line}")
            found[name] = said
        return found
