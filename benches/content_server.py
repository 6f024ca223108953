"""What the content server costs, beside nginx where it is there.

    python benches/content_server.py memory [ROUNDS] [SECONDS]
    python benches/content_server.py protocols [ROUNDS] [FILES]
    python benches/content_server.py clients [COUNT]
    python benches/content_server.py crowd [80|95|T1] [CASE...]
    python benches/content_server.py disk [CLIENTS]

`memory`: a file that is in memory, over the loopback, by the same clients (`wrk`) in turn: bytes a
processor second of the server. The server is bound to one processor, the clients to another one.

`protocols`: the same by curls, which fetch so many files each over HTTP/1.1 and HTTP/2, with TLS
and without: what TLS costs, and what frames of HTTP/2 do.

`clients`: so many clients at once, each as slow as it may be, and what memory the server and the
kernel take for them. Both ends are on this machine: what the kernel holds is told for both.

`crowd`: the headline of circus2004 at a sixteenth of its size, on a disk for trials: the study
`origin-crowd` with half the memory, by the simulation and by a real server with real clients
(`--engine loopback`), and how far they are from each other. 10T and T3 ask for 80 or 95 % of
1 Gbit/s (twice the study's load and more), about five minutes, or T1 and T3 for 80 %, twenty. The
case `nginx` is nginx with `directio` and buffers of an extent on the same disk, mounted: as root,
after `cargo build --release -p flashcrowd-server --example trial_mount --features trial-mount`.

`disk`: a crowd of plain clients (10T and T3, in order) and one that takes any order, on the disk of
this machine past the page cache, with data four times the memory: nginx with `directio`, and ours
by both of its readers.

Everything is on 127.0.0.1, and ends by itself.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa

from flashcrowd import _core
from flashcrowd.content_server.crowd import Crowd as LoopbackCrowd
from flashcrowd.content_server.ledger import Ledger
from flashcrowd.content_server.loopback import played
from flashcrowd.content_server.trial_server import contents_of, write
from flashcrowd.content_server.visit import visits_of
from flashcrowd.content_server.visitor import Visit, Visitor
from flashcrowd.engines.registry import engine
from flashcrowd.plan.parts import workload
from flashcrowd.plan.types import OriginWorkload
from flashcrowd.study import Study
from flashcrowd.study.runner import prepare

FILE = 64 << 20
CONNECTIONS = 8
CURLS = 4
SERVER_CORE, CLIENT_CORE = 0, 1

NGINX = """
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
worker_rlimit_nofile 20000;
events {{ worker_connections 9000; }}
http {{
    access_log off; sendfile {sendfile}; {extra}
    output_buffers {buffers};
    server {{ listen 127.0.0.1:{port} sndbuf=64k{listen}; root {root}; }}
}}
"""
"""Ordinary settings; the send buffers are as long as ours."""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def wait_for(port: int) -> None:
    """Wait until somebody listens."""
    for _ in range(1000):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.02)
    raise SystemExit("a server did not begin to listen")


@contextmanager
def nginx(
    root: Path, sendfile: bool, extra: str = "", buffers: str = "2 128k", listen: str = ""
) -> Iterator[tuple[int, psutil.Process]]:
    """A server of one worker; its port and its worker."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        values = {"folder": folder, "root": root, "port": port, "extra": extra, "buffers": buffers}
        values |= {"sendfile": "on" if sendfile else "off", "listen": listen}
        config = Path(folder) / "nginx.conf"
        config.write_text(NGINX.format(**values))
        if os.geteuid() == 0:
            config.write_text("user root;\n" + config.read_text())
        with subprocess.Popen(["nginx", "-p", folder, "-c", str(config)]) as process:
            try:
                wait_for(port)
                while not (workers := psutil.Process(process.pid).children()):
                    time.sleep(0.02)
                yield port, workers[0]
            finally:
                process.terminate()


@contextmanager
def ours(root: Path, *options: str) -> Iterator[tuple[int, psutil.Process]]:
    """Our server; its port and its process."""
    port = free_port()
    command = [sys.executable, "-m", "flashcrowd", "serve", str(root), "--interval", "0"]
    command += ["--listen", f"127.0.0.1:{port}", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(port)
            yield port, psutil.Process(process.pid)
        finally:
            process.terminate()
            assert process.stderr is not None
            print("   ", process.stderr.read().strip().splitlines()[-1])


def used(process: psutil.Process) -> float:
    """Processor seconds of all its threads."""
    times = process.cpu_times()
    return float(times.user + times.system)


def bind(process: psutil.Process) -> None:
    """Keep all threads of a server on its processor."""
    for thread in process.threads():
        psutil.Process(thread.id).cpu_affinity([SERVER_CORE])


def pull(port: int, seconds: int, any_order: bool) -> int:
    """Bytes that `wrk` reads of the file in so many seconds."""
    command = ["taskset", "-c", str(CLIENT_CORE), "wrk", "-t1", f"-c{CONNECTIONS}"]
    command += [f"-d{seconds}s", "--timeout", "30s"]
    if any_order:
        command += ["-H", "Prefer: part-order=any", "-H", "Range: bytes=0-65535,65536-"]
    command.append(f"http://127.0.0.1:{port}/file")
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"requests in [\d.]+\w+, ([\d.]+)(\w+) read", out)
    if found is None:
        raise SystemExit(out)
    return int(float(found[1]) * 1024 ** "BKMGT".index(found[2][0]))


def memory(rounds: int = 5, seconds: int = 4) -> None:
    """Bytes a processor second, in turn."""
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (root / "file").write_bytes(random.Random(1).randbytes(FILE))
        server = stack.enter_context(ours(root, "--memory", "256MiB", "--no-digests"))
        rows: list[tuple[str, tuple[int, psutil.Process], bool]] = [
            ("flashcrowd, whole", server, False),
            ("flashcrowd, any order", server, True),
        ]
        if shutil.which("nginx"):
            off = stack.enter_context(nginx(root, sendfile=False))
            on = stack.enter_context(nginx(root, sendfile=True))
            rows += [("nginx, sendfile off", off, False), ("nginx, sendfile on", on, False)]
        else:
            print("nginx is not there: ours alone")
        found: dict[str, list[float]] = {name: [] for name, _, _ in rows}
        for _, (_, process), _ in rows:
            bind(process)
        for turn in range(rounds + 1):
            for name, (port, process), any_order in rows:
                before = used(process)
                # The first turn brings the file into memory.
                count = pull(port, seconds if turn else 1, any_order)
                if turn:
                    found[name].append(count / 1e9 / max(used(process) - before, 1e-9))
    table(found)


def table(found: Mapping[str, Sequence[float]]) -> None:
    """What came of all turns, a line each."""
    print(f"{'GB a processor second':28}  median   least    most")
    for name, values in found.items():
        median = statistics.median(values)
        print(f"{name:28} {median:7.2f} {min(values):7.2f} {max(values):7.2f}")


def certificate(folder: Path) -> tuple[str, str]:
    """A certificate that nobody has signed, and its key: of P-256, as most have."""
    crt, key = folder / "crt", folder / "key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", str(key), "-out", str(crt), "-subj", "/CN=localhost"]
    subprocess.run(command, capture_output=True, check=True)
    return str(crt), str(key)


def curls(url: str, options: Sequence[str], version: str, files: int) -> int:
    """Bytes that curls get, each so many files one after the other on one connection."""
    command = ["taskset", "-c", str(CLIENT_CORE), "curl", "-sSfk", *options, "-o", os.devnull]
    # Each number makes a transfer of its own; a fragment is not sent.
    command += ["-w", "%{http_version} %{size_download}\n", f"{url}#[1-{files}]"]
    with ExitStack() as stack:
        started = [
            stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            for _ in range(CURLS)
        ]
        said = [line.split() for it in started for line in it.communicate()[0].splitlines()]
    if any(it.returncode for it in started) or {spoken for spoken, _ in said} != {version}:
        raise SystemExit(f"curl {' '.join(options)} {url}: {said}")
    return sum(int(size) for _, size in said)


def protocols(rounds: int = 5, files: int = 8) -> None:
    """Bytes a processor second over each protocol, in turn."""
    first, second = (["--http1.1"], "1.1"), (["--http2"], "2")
    prior = (["--http2-prior-knowledge"], "2")
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        crt, key = certificate(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        (root / "file").write_bytes(random.Random(1).randbytes(FILE))
        memory = ["--memory", "256MiB", "--no-digests"]
        plain = stack.enter_context(ours(root, *memory))
        tls = stack.enter_context(ours(root, *memory, "--tls-cert", crt, "--tls-key", key))
        rows = [
            ("HTTP/1.1", "http", plain, first),
            ("HTTP/2, prior knowledge", "http", plain, prior),
            ("TLS, HTTP/1.1", "https", tls, first),
            ("TLS, HTTP/2", "https", tls, second),
        ]
        if shutil.which("nginx"):
            extra = f"ssl_certificate {crt}; ssl_certificate_key {key}; ssl_protocols TLSv1.3;"
            bare = stack.enter_context(nginx(root, True))
            other = stack.enter_context(nginx(root, True, extra, listen=" ssl http2"))
            rows += [
                ("nginx, HTTP/1.1", "http", bare, first),
                ("nginx, TLS, HTTP/1.1", "https", other, first),
                ("nginx, TLS, HTTP/2", "https", other, second),
            ]
        found: dict[str, list[float]] = {name: [] for name, *_ in rows}
        for _, _, (_, process), _ in rows:
            bind(process)
        for turn in range(rounds + 1):
            for name, scheme, (port, process), (options, version) in rows:
                before = used(process)
                url = f"{scheme}://127.0.0.1:{port}/file"
                # The first turn brings the file into memory.
                number = files if turn else 1
                # By prior knowledge curl 7.88 asks once a connection: its second try fails before
                # it is sent, at nginx as well.
                each = 1 if options == prior[0] else number
                repeats = range(number // each)
                count = sum(curls(url, options, version, each) for _ in repeats)
                if turn:
                    found[name].append(count / 1e9 / max(used(process) - before, 1e-9))
    table(found)


def get(port: int, any_order: bool, receive: int) -> socket.socket:
    """A connection on which the file was asked for, with so small a receive buffer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    connection.settimeout(10)
    connection.connect(("127.0.0.1", port))
    order = "Prefer: part-order=any\r\nRange: bytes=0-65535,65536-\r\n" if any_order else ""
    connection.sendall(f"GET /file HTTP/1.1\r\nHost: x\r\n{order}\r\n".encode())
    connection.setblocking(False)
    return connection


def kernel_bytes(filter_: str) -> int:
    """What the kernel holds for sockets: queues in both directions, and what it has put aside."""
    out = subprocess.run(["ss", "-tmnH", filter_], capture_output=True, text=True, check=True)
    rows = re.findall(r"skmem:\(r(\d+),rb\d+,t(\d+),tb\d+,f(\d+),w(\d+)", out.stdout)
    return sum(int(r) + int(f) + max(int(t), int(w)) for r, t, f, w in rows)


def clients(count: int = 5000, seconds: float = 15.0) -> None:
    """So many clients who read 10 kB/s each, every second one in the server's order."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (root / "file").write_bytes(random.Random(1).randbytes(FILE))
        options = ["--memory", "128MiB", "--per-address", "20000", "--connections", "20000"]
        port, process = stack.enter_context(ours(root, "--no-digests", *options))
        pull(port, 1, any_order=False)
        before, mapped = used(process), process.memory_info().rss
        connections = [get(port, bool(it % 2), 4096) for it in range(count)]
        for connection in connections:
            stack.callback(connection.close)
        end = time.monotonic() + seconds
        received = [0] * count
        while time.monotonic() < end:
            turn = time.monotonic()
            for index, connection in enumerate(connections):
                try:
                    received[index] += len(connection.recv(5000))
                except BlockingIOError:
                    continue
            time.sleep(max(0.0, turn + 0.5 - time.monotonic()))
        rss = process.memory_info().rss - mapped
        sending = kernel_bytes(f"sport = :{port}")
        theirs = kernel_bytes(f"dport = :{port}")
        spent = used(process) - before
    served = sum(it > 0 for it in received)
    print(f"{served} of {count} clients were served, {sum(received) / seconds / 1e6:.1f} MB/s")
    print(f"server, beside the cache: {rss / 1e6:.0f} MB, {rss / count / 1e3:.1f} kB a client")
    print(f"kernel, the server's ends: {sending / 1e6:.0f} MB, {sending / count / 1e3:.1f} kB each")
    print(f"kernel, the clients' ends: {theirs / 1e6:.0f} MB")
    print(f"together beside the cache: {(rss + sending) / 2**20:.0f} MiB (bar 1024)")
    print(f"processor: {spent / seconds:.2f} of one")


LINES = {"T1": 1.544e6, "T10": 10e6, "T3": 44.736e6}
CONTENT = 32 << 20
"""The length of the study's file."""


@dataclass(frozen=True)
class Crowd:
    """Slow lines and T3 before the study's server, each asking for half of the load."""

    slow: str
    load: float
    """Share of 1 Gbit/s, in bytes of files: packets' headers take 3.6 % more."""
    window_s: tuple[int, int]
    """What counts. Before it the slow ones come for most of the time that a download takes."""

    def study(self, more: Mapping[str, object]) -> Study:
        """The study `origin-crowd` with this crowd."""
        path = Path(__file__).parents[1] / "studies" / "origin-crowd.toml"
        document = tomllib.loads(path.read_text())
        origin = document["workloads"]["origin"]
        names = {"T10": self.slow, "T3": "T3"}
        origin["populations"] = {names[it]: has for it, has in origin["populations"].items()}
        gap_s = 2 * CONTENT * 8 / (self.load * 1e9)
        begin, end = self.window_s
        values: dict[str, object] = {
            "workloads.origin.memory": "4 MiB",
            "stop.horizon": f"{end + 1} s",
        }
        values |= {"measures.windows.origins.from": f"{begin} s"}
        values |= {"measures.windows.origins.to": f"{end} s"}
        for group, name in (("slow", self.slow), ("fast", "T3")):
            values[f"network.groups.{group}.hosts"] = int((end + 1) / gap_s)
            values[f"network.groups.{group}.access.down"] = f"{LINES[name] / 1e6} Mbit/s"
            values[f"network.groups.{group}.access.up"] = f"{LINES[name] / 1e6} Mbit/s"
            values[f"workloads.origin.populations.{name}.arrivals.gap"] = f"{gap_s:.3f} s"
        return Study.from_dict(document, set={**values, **more}, place=str(path))


CROWDS = {
    "80": Crowd("T10", 0.8, (20, 60)),
    "95": Crowd("T10", 0.95, (20, 60)),
    "T1": Crowd("T1", 0.8, (150, 190)),
}
"""With data eight times the memory. A server in order sends 40 % of 1 Gbit/s from this disk, so no
ratio to it is more than 2 at a load of 80 %, and as the crowd still grows in the window, less."""


BARE = {"workloads.origin.memory": "512 KiB"}
"""In order with hardly any memory: what a server without a cache of its own does."""
TRIAL_MOUNT = Path(__file__).parents[1] / "target" / "release" / "examples" / "trial_mount"
"""See `crates/server/examples/trial_mount.rs`."""


class Mounted:
    """A file on a disk for trials, as a file system, which a server reads from.

    Args:
        path: the file.
        folder: an empty one, in which it appears.
        disk: the medium, as a plan has it.
    """

    def __init__(self, path: Path, folder: Path, disk: Mapping[str, Any]) -> None:
        command = [TRIAL_MOUNT, path, folder, json.dumps(disk)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.report()

    def report(self) -> dict[str, Any]:
        """What was read so far, and how the disk has kept its pace."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """Take it away."""
        self._process.communicate()


class NginxServer:
    """What a crowd and its ledger ask a content server for, of nginx on such a disk.

    Args:
        port: where it listens on the loopback.
        disk: what it reads from.
    """

    def __init__(self, port: int, disk: Mounted) -> None:
        self.address = f"127.0.0.1:{port}"
        self.visitors: Sequence[Visitor] = []
        self._disk = disk

    def snapshot(self) -> str:
        """As a content server's, but for what nginx does not tell."""
        report = self._disk.report()
        reads = report["trial_disk"]["reads"]
        unknown: dict[str, float] = dict.fromkeys(
            ("hits", "reads_ahead", "evictions", "residence_s"), 0
        )
        unknown |= dict.fromkeys(("queued_reads", "waiting"), math.nan)
        # Bytes that have been read, which are fewer than those sent by what sockets hold.
        served = sum(it.answer.received for it in self.visitors)
        return json.dumps(
            {"served_bytes": served, "blocks": reads, "reads": reads, **unknown, **report}
        )


def nginx_crowd(plan: _core.Plan, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A crowd of a plan before nginx with `directio`, in order; the tables and the pace."""
    origin = workload(plan, 0, OriginWorkload)
    visits = [replace(it, in_order=True) for it in visits_of(plan, seed, 0)]
    contents = contents_of(origin, seed)
    extent = origin["settings"]["extent_bytes"]
    with ExitStack() as stack:
        folder, place = (Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2))
        write(contents, folder)
        # As the process of a run on the loopback; what it starts inherits it.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        stack.callback(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        disk = Mounted(folder / "0", place, origin["disk"])
        stack.callback(disk.close)
        extra = "directio 512; aio threads;"
        port, _ = stack.enter_context(nginx(place, False, extra, f"1 {extent}"))
        server: Any = NginxServer(port, disk)
        rules = _core.OriginRules(plan, seed)
        ledger = Ledger(server, 0, rules)
        guests = LoopbackCrowd(server, visits, contents, ledger, rules, rules.place(0))
        server.visitors = guests.visitors
        horizon_s = plan.stop["horizon_ns"] / 1e9
        found = played(guests, ledger, rules, horizon_s, lambda progress: None)
    tables = {name: pa.Table.from_pylist(rows) for name, rows in found.tables.items()}
    return tables, {**found.pace}


def crowd(*words: str) -> None:
    """The same crowd, simulated and real, and before nginx on the same disk."""
    chosen = CROWDS[words[0] if words and words[0] in CROWDS else "80"]
    cases = words[1:] if words and words[0] in CROWDS else words
    engines = {name: engine(name) for name in ("simulation", "loopback")}
    bare, full = (prepare(chosen.study(values), engines["loopback"]) for values in (BARE, {}))
    seed = full.manifest.runs[0].seed
    plans = {"no cache": bare.plans[0]}
    plans |= dict(zip(_core.content_policies(), full.plans, strict=True))
    print(
        f"case        by         {chosen.slow:>5} s   T3 s  network  disk MB/s  busy  miss   "
        f"completed  (lines alone: {line_s(chosen.slow):.2f} and {line_s('T3'):.2f} s)"
    )
    found: dict[tuple[str, str], tuple[float, float]] = {}
    if TRIAL_MOUNT.exists() and shutil.which("nginx"):
        plans["nginx"] = bare.plans[0]
    for case in cases or plans:
        if case == "nginx":
            real, pace = nginx_crowd(plans[case], seed)
            row, found[case, "loopback"] = told(real, (chosen.slow, "T3"))
            print(f"{case:11} {'directio':10} {row}  {kept_pace(real, pace)}", flush=True)
            continue
        for by, player in engines.items():
            tables = player.run(plans[case], seed, player.handle())
            row, found[case, by] = told(tables, (chosen.slow, "T3"))
            pace = (
                kept_pace(tables, player.finish().get("pace", [])[-1]) if by == "loopback" else ""
            )
            print(f"{case:11} {by:10} {row}  {pace}", flush=True)
    bases = ("no cache", "in-order", "nginx")
    for (case, by), (network, fast) in found.items():
        for base in bases:
            if (base, by) in found and case not in bases:
                ratio = network / found[base, by][0]
                print(f"{case}, {by}: network {ratio:.2f} x that of {base} (bar 2)", end=", ")
                print(f"T3 {fast / line_s('T3'):.3f} x its line's time (bar 1.1)")


def line_s(population: str) -> float:
    """Seconds that a line alone takes for the file, headers of packets included."""
    return CONTENT * 8 / LINES[population] * 1500 / 1448


def told(
    tables: Mapping[str, Any], populations: tuple[str, str]
) -> tuple[str, tuple[float, float]]:
    """What came of a crowd; network throughput in MB/s, and the mean time of the fast."""
    (server,) = tables["origins"].to_pylist()
    downloads = tables["downloads"].to_pylist()
    means = []
    for population in populations:
        rows = [it["duration_s"] for it in downloads if it["population"] == population]
        took = [it for it in rows if it is not None]
        means.append(statistics.mean(took) if took else math.nan)
    network = server["network_bps"] / 8e6
    busy = server["disk_busy_s"] / (server["to_s"] - server["from_s"])
    row = (
        f"{means[0]:7.2f} {means[1]:6.2f} {network:8.1f} {server['disk_bps'] / 8e6:10.1f} "
        f"{busy:5.0%} {server['miss_ratio']:5.0%}  {server['completed']:3} of {len(downloads)}"
    )
    return row, (network, means[1])


def kept_pace(tables: Mapping[str, Any], pace: Mapping[str, Any]) -> str:
    """How well a run on the loopback kept its pace."""
    (run,) = tables["run"].to_pylist()
    return (
        f"{run['outcome']} {run['reason']}: disk late by {pace['lateness_max_s'] * 1e3:.0f} ms at "
        f"most (99 %: {pace['lateness_p99_s'] * 1e3:.1f}), lines lost {pace['lines_lost']:.2%}, "
        f"stolen {pace['stolen']:.1%}, {pace['processor_s'] / pace['wall_s']:.2f} processors"
    )


READERS = ("io_uring", "threads")
"""Ways to read the disk, of `flashcrowd serve --reader`."""


def disk(count: int = 32, seconds: float = 30.0) -> None:
    """Clients come every quarter of a second, by turns at 10T and T3; read either way."""
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="."))).resolve()
        content = random.Random(1).randbytes(FILE)
        (root / "file").write_bytes(content)
        with open(root / "file", "rb") as file:
            os.fsync(file.fileno())
        memory = ["--memory", f"{FILE // 4}", "--no-digests"]
        cases: list[tuple[str, tuple[int, psutil.Process], bool]] = []
        if shutil.which("nginx"):
            extra, buffers = "directio 512; aio threads;", "1 1m"
            server = stack.enter_context(nginx(root, False, extra, buffers))
            cases.append(("nginx directio", server, True))
        for policy, reader in itertools.product(("in-order", "relevance"), READERS):
            server = stack.enter_context(
                ours(root, "--policy", policy, "--reader", reader, *memory)
            )
            cases.append((f"{policy}, {reader}", server, policy == "in-order"))
        print("server                 network  disk MB/s   T3 s (of those that have it), processor")
        for name, (port, process), in_order in cases:
            before, io = used(process), process.io_counters().read_bytes
            stays = come(port, content, count, seconds, in_order)
            read = process.io_counters().read_bytes - io
            took = [
                left_s - it.visit.at_s
                for it, left_s in stays
                if it.answer.complete and it.visit.population == "T3"
            ]
            sent = sum(it.answer.received for it, _ in stays)
            print(
                f"{name:21} {sent / seconds / 1e6:8.1f} {read / seconds / 1e6:10.1f} "
                f"{statistics.mean(took) if took else math.nan:6.2f} ({len(took)}; the line alone "
                f"{line_s('T3') * FILE / CONTENT:.2f}), {used(process) - before:.1f} s"
            )


def come(
    port: int, content: bytes, count: int, seconds: float, in_order: bool
) -> list[tuple[Visitor, float]]:
    """Clients until the time is over, each with the second in which it left."""
    here: list[Visitor] = []
    gone: list[tuple[Visitor, float]] = []
    buffer = memoryview(bytearray(1 << 18))
    begin = time.monotonic()
    while (now := time.monotonic() - begin) < seconds:
        while (number := len(here) + len(gone)) < min(count, now * 4):
            population = ("T10", "T3")[number % 2]
            visit = Visit(number, population, 0, "", 0, now, None, LINES[population], in_order)
            address = ("127.0.0.1", port)
            here.append(Visitor(visit, address, "/file", content, now, lambda pieces: None))
        for visitor in list(here):
            at = time.monotonic() - begin
            if not visitor.turn(at, buffer):
                visitor.close()
                here.remove(visitor)
                gone.append((visitor, at))
        time.sleep(0.004)
    for visitor in here:
        visitor.close()
    return [*gone, *((visitor, seconds) for visitor in here)]


def main() -> None:
    """Run what was asked for."""
    what, *numbers = sys.argv[1:] or ["memory"]
    known: dict[str, Callable[..., None]] = {
        "memory": memory,
        "protocols": protocols,
        "clients": clients,
        "disk": disk,
    }
    if what == "crowd":
        return crowd(*numbers)
    if what not in known:
        raise SystemExit(__doc__)
    known[what](*(float(it) if "." in it else int(it) for it in numbers))


if __name__ == "__main__":
    main()
