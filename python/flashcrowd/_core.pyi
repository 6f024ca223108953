"""The engines, compiled. Private: use `flashcrowd.run` or `flashcrowd.engines`."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, final

from flashcrowd.base.build import Build
from flashcrowd.plan import types

__all__ = [
    "CallRules",
    "Cancelled",
    "ContentServer",
    "Division",
    "DownloadRules",
    "EngineFault",
    "IdlePoll",
    "Lab",
    "LastResort",
    "OriginRules",
    "PingRules",
    "Plan",
    "PlanError",
    "RunHandle",
    "SwarmPeer",
    "SwarmRules",
    "SwarmWatch",
    "Table",
    "TorrentClient",
    "TrackerRegister",
    "TransferRules",
    "UploadController",
    "UtpFlow",
    "UtpServer",
    "UtpTransfer",
    "WebRules",
    "available_memory",
    "become_root_of_own",
    "build_info",
    "check_settings",
    "client_profiles",
    "content_memory",
    "content_policies",
    "die_with_parent",
    "divide",
    "echo_times",
    "enter_namespace",
    "ledbat_tables",
    "may_have_real_time",
    "plan_schema",
    "polls_idle",
    "request_queue_time_s",
    "run_ending",
    "run_table",
    "set_apart",
    "settings_schema",
    "simulate",
    "swarm_waits",
    "tcp_profiles",
    "try_tun",
    "upload_controllers",
    "upload_slots",
    "upload_states",
    "utp_profiles",
    "with_undelivered",
]

class PlanError(ValueError):
    """A plan that no engine can run; names the place."""

class Cancelled(Exception):
    """The run was cancelled; it has no tables."""

class EngineFault(RuntimeError):
    """A bug in the engine; names the source line."""

@final
class RunHandle:
    """Watches and cancels a run from another thread."""

    def __new__(cls, force: bool = False) -> RunHandle:
        """With `force` a run is begun even if it may need more memory than there is."""
    def cancel(self) -> None:
        """End the run soon; it raises `Cancelled`."""
    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
    @property
    def progress(self) -> float:
        """How far the run is, 0 to 1, as far as known."""

@final
class Table:
    """Rows under named columns; hand it to `pyarrow.table` or `polars.DataFrame`."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule protocol."""

@final
class UploadController:
    """An upload controller for a real client; it has no clock.

    Instants are nanoseconds of a clock that the driver chooses, limits are in bits per second, and
    None is no limit.
    """

    def __new__(
        cls,
        kind: str,
        now_ns: int,
        reflectors: int,
        limit_bps: int | None = None,
        settings: str | None = None,
    ) -> UploadController:
        """The controller `kind` at its start, for a client that has `limit_bps`.

        `settings` is a JSON object of what differs from the defaults. Raises `ValueError`.
        """
    def on_answer(self, now_ns: int, reflector: int, rtt_ns: int | None) -> None:
        """A probe was answered after `rtt_ns`, or was lost (None)."""
    def on_rates(
        self,
        now_ns: int,
        uploaded: int,
        downloaded: int,
        limit_bps: int | None = None,
        ceiling_bps: int | None = None,
        sent: int | None = None,
    ) -> None:
        """The client's counters of payload in bytes, the limit in force, and the highest allowed.

        `sent` is what its host sent, with headers and everything else, where that is known.
        """
    def on_event(self, now_ns: int, event: str) -> None:
        """Something happened: `down`, `up`, `path-changed` or `resumed`. Raises `ValueError`."""
    def probe(self, now_ns: int) -> tuple[int, int] | None:
        """The next probe that is due: its reflector, and the nanoseconds after which it is lost."""
    @property
    def deadline_ns(self) -> int | None:
        """When `probe` is to be asked again; None for never."""
    @property
    def limit_bps(self) -> int | None:
        """The limit that the client should have now."""
    @property
    def state(self) -> tuple[str, str, int | None, int | None]:
        """Its state and the reason; the delay that decided, and its threshold (nanoseconds)."""

@final
class ContentServer:
    """A content server over HTTP on a directory, in the background (Linux)."""

    def __new__(cls, settings: str) -> ContentServer:
        """Begins at once, with settings (JSON; `Settings` of the crate flashcrowd-server).

        Raises `PlanError` for a setting that cannot be, and `OSError`, with what it is about as its
        `filename`, if the directory or the address is not to be had.
        """
    @property
    def address(self) -> str:
        """Where it listens."""
    @property
    def metrics(self) -> str | None:
        """Where the metrics are; None if nowhere."""
    @property
    def reading(self) -> str:
        """How the directory is read, and by what, in words."""
    def wait(self, seconds: float) -> bool:
        """Wait at most this long; whether it has ended. Other Python threads go on."""
    def snapshot(self) -> str:
        """The server's state and counters (a JSON object)."""
    def reload(self) -> bool:
        """Begin to read the certificate and its key again, and to reopen the access log.

        Gives whether it has begun: not while the last time still waits for a disk.
        """
    def reloaded(self) -> list[str] | None:
        """The errors of the last reload, in words, once it is done; then None again.

        A file that could not be read or opened keeps its old content.
        """
    def stop(self) -> None:
        """End soon, when answers under way have ended; the second time, at once."""
    def result(self) -> str:
        """Whether all answers had ended (JSON). Only when it has ended."""

@final
class LastResort:
    """Ends this process, with status 0, if it was asked to end and does not (Linux).

    It needs neither the interpreter nor a disk, whatever other threads wait for.
    """

    def __new__(cls, after_first: float, after_second: float, said: str) -> LastResort:
        """Exit `after_first` s after the first signal, and `after_second` s after each later one.

        The signals are SIGINT and SIGTERM; `said` is printed to stderr then.
        """
    def fileno(self) -> int:
        """The descriptor that signals are written to (`signal.set_wakeup_fd`)."""
    def heard(self) -> int:
        """How often they have come; a handler in Python may be called once for two."""
    def cancel(self) -> None:
        """Cancel it: the process ends in order."""

@final
class UtpTransfer:
    """A measurement with a `UtpServer`, in the background."""

    def __new__(
        cls,
        remote: str,
        config: str,
        *,
        bytes: int | None = None,
        seconds: float | None = None,
        rate: int | None = None,
        to_server: int = 1,
        to_client: int = 0,
        tcp: bool = False,
        congestion: str | None = None,
    ) -> UtpTransfer:
        """Begins at once; `remote` is an address with a port, `config` a uTP configuration (JSON).

        The client sends on `to_server` streams and the server on `to_client` streams: each stream
        `bytes` bytes, or for `seconds` s (one of the two), at most `rate` bits per second. With
        `tcp`, over the kernel's TCP with its congestion control `congestion`.

        Raises `PlanError` or `ValueError`.
        """
    def wait(self, seconds: float) -> bool:
        """Wait at most this long; whether it has ended. Other Python threads go on."""
    def streams(self) -> str:
        """The streams now (a JSON list); none before they are open."""
    def stop(self) -> None:
        """End soon, and tell the other end; the second time, at once."""
    def result(self) -> str:
        """The outcome of each stream (a JSON list), when it has ended.

        Raises `OSError` if nothing was measured.
        """

@final
class UtpServer:
    """Serves several `UtpTransfer`s at once, in the background."""

    def __new__(
        cls,
        local: str,
        config: str,
        *,
        once: bool = False,
        most_streams: int = 16,
        tcp: bool = True,
    ) -> UtpServer:
        """Begins at once; `once` ends it after one measurement.

        More than `most_streams` at once are refused; `tcp` says whether TCP is served at the same
        port.

        Raises `PlanError`, `ValueError`, or `OSError` if it cannot listen there.
        """
    @property
    def address(self) -> str:
        """Where it listens."""
    def wait(self, seconds: float) -> bool:
        """Wait at most this long; whether it has ended. Other Python threads go on."""
    def active(self) -> str:
        """Streams that are under way (a JSON list)."""
    def take_finished(self) -> str:
        """Streams that have finished since this was last called (a JSON list)."""
    def take_refusals(self) -> str | None:
        """Clients refused since the last call (JSON); None if there are none.

        `count`, and of the last one `peer` and `why`.
        """
    def stop(self) -> None:
        """End soon, and tell the other ends; the second time, at once."""
    def result(self) -> None:
        """Raises `OSError` if the socket has failed. Only when it has ended."""

def simulate(plan: Plan, seed: int, handle: RunHandle | None = None) -> dict[str, Table]:
    """Run a plan with a seed, 0 to 2**64 - 1; gives the run's tables by name.

    Other Python threads go on meanwhile. Raises `PlanError`, `Cancelled` or `EngineFault`.
    """

@final
class Plan:
    """A plan, parsed once. Those who need it share it, and its parts: they must not be changed.

    Two plans with the same text are equal.
    """

    def __new__(cls, text: str, like: Plan | None = None) -> Plan:
        """From JSON. What has the same text as in the plan `like` is not read again.

        Other Python threads go on meanwhile. Raises `PlanError`.
        """
    def with_(
        self,
        *,
        network: types.Network = ...,
        workloads: Sequence[types.Workload] = ...,
        timeline: Sequence[types.Change] = ...,
        measures: types.Measures = ...,
        stop: types.Stop = ...,
    ) -> Plan:
        """The plan with other parts. Raises `PlanError`."""
    def to_json(self) -> str:
        """The plan as JSON, in one line if it was given in one."""
    def __getnewargs__(self) -> tuple[str]:
        """As `pickle` asks."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def check(self) -> None:
        """Raise `PlanError` if it contradicts itself: whatever a run would refuse."""
    def need(self) -> tuple[int, int, float, int, float]:
        """What a run is expected to need.

        Events, packets, seconds (of one core), bytes (of memory), and the seconds of the run's own
        time at its end. Raises `PlanError` if the plan contradicts itself.
        """
    def work(self) -> dict[str, float]:
        """How often a run is expected to do what, by kinds of work.

        The seconds and bytes of `need` are counted from it. Raises `PlanError` if the plan
        contradicts itself.
        """
    def visits(self, seed: int, workload: int) -> list[tuple[int, int, int, int, int | None]]:
        """The clients of the content server that is the workload of this number, in a run.

        Of each its population, its host, its file, and the nanoseconds at which it comes and at
        which it leaves at the latest (None for never). Raises `PlanError` if it is no origin.
        """
    @property
    def format(self) -> int:
        """Version of its format."""
    @property
    def title(self) -> str:
        """Its title."""
    @property
    def network(self) -> types.Network:
        """Hosts, links and what is between them."""
    @property
    def stacks(self) -> list[types.Settings]:
        """TCP stacks, by number."""
    @property
    def utps(self) -> list[types.Settings]:
        """Configurations of uTP, by number."""
    @property
    def profiles(self) -> list[types.Settings]:
        """Client profiles, by number."""
    @property
    def workloads(self) -> list[types.Workload]:
        """What uses the network."""
    @property
    def timeline(self) -> list[types.Change]:
        """Changes at given instants."""
    @property
    def measures(self) -> types.Measures:
        """What is recorded besides the summary tables."""
    @property
    def stop(self) -> types.Stop:
        """When a run ends that does not end by itself."""

def settings_schema() -> str:
    """The JSON Schema of what can be configured: `tables` by name, with references to `$defs`."""

def check_settings(table: str, table_json: str) -> tuple[str, str] | None:
    """What contradicts itself in such a table of a plan: its path, and what is allowed there."""

def plan_schema() -> str:
    """The JSON Schema of plans, derived from the types that read them."""

def available_memory() -> int | None:
    """Bytes of memory that a run may still have; None where the system does not say."""

def tcp_profiles() -> str:
    """TCP stacks: a JSON object from name to the resolved stack, as a plan takes it."""

def utp_profiles() -> str:
    """UTP configurations: a JSON object from name to the resolved one, as a plan takes it."""

@final
class UtpFlow:
    """A flow over uTP between two sockets of this process, in whatever network namespaces.

    Every byte that arrives is compared with what was sent.
    """

    def __new__(cls, config: str) -> UtpFlow:
        """With a uTP configuration (JSON). Raises `PlanError`."""
    def listen(self, local: str) -> None:
        """Have the receiving end listen at an address with a port.

        In the network namespace of the calling thread. Raises `ValueError` or `OSError`.
        """
    def prepare(self, local: str) -> None:
        """Make the socket of the sending end, in the network namespace of the calling thread.

        Raises `ValueError` or `OSError`.
        """
    def start(self, *, bytes: int | None = None, rate: int | None = None, seed: int = 0) -> None:
        """Connect both, and send `bytes` bytes, or until `stop` is called.

        The application produces at most `rate` bits per second; `seed` is that of the content.
        Raises `ValueError` without both ends.
        """
    def limit(self, rate: int | None) -> None:
        """The application's limit from now on, in bits per second."""
    def stop(self) -> None:
        """End at once."""
    def report(self) -> str | None:
        """Its state (a JSON object); None before it starts."""

@final
class TorrentClient:
    """The pure peer of `swarm` as a client of one torrent on real sockets, in a thread (Linux)."""

    def __new__(cls, settings: str) -> TorrentClient:
        """Listen, in the network namespace of the calling thread; look at what is on the disk.

        The settings are JSON: `torrent`, `folder`, `profile`, `bind`, `upload_bps`, `seed`,
        `trusted` (what is on the disk is whole), `records` (whether events are kept). Raises
        `PlanError`, `ValueError` for no torrent, or `OSError`.
        """
    @property
    def address(self) -> str:
        """Where it listens."""
    @property
    def pieces(self) -> int:
        """How many pieces the torrent has."""
    @property
    def size(self) -> int:
        """How many bytes it has."""
    @property
    def has_tracker(self) -> bool:
        """Whether it names a tracker."""
    def join(self) -> None:
        """Enter the swarm, once what is on the disk has been looked at."""
    def limit(self, bps: int | None) -> None:
        """Another upload limit, in bits per second."""
    def leave(self, *, told: bool = True) -> None:
        """Leave the swarm, and end when the tracker knows.

        It ends at once if `told` is false, and at the second call.
        """
    def progress(self) -> str:
        """Its state (a JSON object)."""
    def has(self) -> bytes:
        """The pieces that it has, as in a BITFIELD."""
    def take_events(self) -> str:
        """Events since the last call (a JSON list)."""
    def send_gaps(self) -> list[tuple[int, int]]:
        """A histogram of gaps between sends of blocks on one connection: milliseconds, count."""
    def wait(self, seconds: float) -> bool:
        """Wait at most this long; whether it has ended."""
    def result(self) -> str:
        """Whether it is `complete`, and its `pieces` (JSON), when it has ended.

        Raises `OSError` if a file could not be read or written.
        """

def ledbat_tables() -> str:
    """Controllers of the LEDBAT family: a JSON object from name to the table that it ships with."""

def upload_controllers() -> str:
    """The upload controllers: a JSON list of objects with `name`, `about` and `parameters`."""

def upload_states() -> list[tuple[str, str, str]]:
    """The states of the controllers of `flashcrowd autolimit`: phase, reason, what it means."""

def upload_slots(rule: str, limit_bps: int | None) -> int:
    """Uploads at a time by a profile's `choker.slots` (JSON) and an upload limit, None for none.

    The optimistic ones are among them. Raises `PlanError`.
    """

def request_queue_time_s(rule: str) -> float | None:
    """Seconds of the download rate that the outstanding requests are worth.

    By a profile's `requests.backlog` (JSON); None if their number is fixed. Raises `PlanError`.
    """

def content_memory(cache_bytes: int, extent_bytes: int, reads: int) -> int:
    """The least memory with which a server's machine has this many bytes for its cache (Linux)."""

def content_policies() -> list[str]:
    """Names of the policies of a content server, in the order in which they are shown (Linux)."""

def client_profiles() -> str:
    """BitTorrent clients: a JSON object from name to the resolved profile."""

def build_info() -> Build:
    """What this build is.

    `version`, `profile` (`release` or `debug`), `commit` (None if built outside of a repository,
    with a `+` if sources differed from it), `engine`, `emulation` and `server` (digests of the
    sources that decide results of the simulation, of the emulation and of the content server) and
    `rustc`.
    """

@final
class Lab:
    """An emulated network (Linux). Everything of it is gone with this process."""

    def __new__(
        cls,
        plan: Plan,
        seed: int,
        settings_json: str,
        attachment: str | None = None,
        share: tuple[str, int] | None = None,
        processor: int | None = None,
    ) -> Lab:
        """The hosts of a plan, each in a namespace.

        Their settings are a JSON list of `address`, `mtu`, `largest_segment`, `initial_window`,
        `quick_ack`, `controller` (null for the machine's) and `sysctls`. They are attached by
        `"tun"` or `"veth"`; without a word by TUN where it is allowed. With a `share`, what
        `divide` gave and the number of a node, that node's hosts alone. With the number of a
        `processor` the emulator's thread stays there, and hosts receive on the others, if there are
        any. Raises `PlanError` or `OSError`.
        """
    def join(self, fd: int, run: int, nodes: list[str]) -> None:
        """Say how the other nodes are reached, for a share.

        By a UDP socket's file descriptor, with the number of the run, and where all nodes are
        reached, as `ADDRESS:PORT`. Raises `OSError`.
        """
    def tune(self, over: float) -> tuple[int, int, int] | None:
        """Compare clocks with the first node for `over` s; all nodes call it at the same time.

        Gives what to add to this machine's monotonic clock for the first node's, by how much that
        may be wrong, and the least round trip, in nanoseconds; None at the first node, or if it did
        not answer. Raises `OSError`.
        """
    def start_at(self, begin_ns: int) -> None:
        """Start the network; the run begins at this instant of the monotonic clock."""
    def namespaces(self) -> list[int]:
        """The file descriptors of the namespaces of hosts, in the order of the plan.

        Of a share, of its hosts.
        """
    def start(self, lead: float) -> int:
        """Start the network; the run begins after `lead` seconds.

        Gives that instant of the monotonic clock in nanoseconds.
        """
    def has_ended(self) -> bool:
        """Whether the network has ended, by itself or after `stop`."""
    def stop(self) -> tuple[str, list[_Columns], Table, Table]:
        """End the network.

        Gives what it did (JSON), the tables `links`, `series`, `queues` and `payloads` as columns,
        the table `captures`, and what is to become the table `packets`, with a column `port` for
        the flow.
        """

@final
class IdlePoll:
    """Keeps the processors of this process awake until it is stopped.

    Not where it may use less than all of their time.

    Raises:
        OSError: the system gives no thread.
    """

    def __new__(cls) -> IdlePoll: ...
    def stop(self) -> None:
        """End."""

def enter_namespace(fd: int) -> None:
    """Move the calling thread into the network namespace of a file descriptor."""

def become_root_of_own() -> None:
    """Move this process, which may have one thread, into its own user namespace, as its root."""

def set_apart() -> None:
    """Move this process, which may have one thread, to where no network is.

    Its next child is the first of a namespace of processes, which all end with it.
    """

def die_with_parent() -> None:
    """Be killed when the thread that started this process ends."""

def may_have_real_time() -> bool:
    """Whether this system lets a thread run before all others; tried, and taken back."""

def polls_idle() -> bool:
    """Whether `IdlePoll` keeps processors awake here."""

def try_tun() -> None:
    """Try to open the device that makes interfaces. Raises `OSError`."""

def divide(plan: Plan, nodes: int, min: float) -> tuple[str, float]:
    """Divide a plan among nodes.

    A packet from one node to another has at least `min` s of delay. Gives the division (JSON: the
    node of each of `hosts` and `links`), and the shortest such delay in seconds. Raises `PlanError`
    where that cannot be.
    """

def echo_times(
    plan: Plan, seed: int, requests: list[tuple[int, int, int, int]]
) -> list[int | None]:
    """How long answers to echo requests take over a plan's network, in nanoseconds.

    With nothing else on it; None for what the model loses. A request is `(t_ns, from, to, bytes)`,
    in the order of time. Raises `PlanError`.
    """

_Columns = tuple[str, list[tuple[str, list[float | int | str | None]]]]
"""A table: its name, and its columns by name."""

@final
class TransferRules:
    """The flows of all transfers of a run, each by its place. Instants are seconds of the run."""

    def __new__(cls, plan: Plan, seed: int, own: Collection[int] | None = None) -> TransferRules:
        """Of a plan and a seed; the flows from `own` hosts alone, if given."""
    def flows(self, workload: int) -> list[tuple[int, int, float]]:
        """Of each flow of a workload its place, its number there, and when it starts."""
    def start(self, at_s: float, flow: int) -> None:
        """A flow has started then."""
    def receive(self, flow: int, received: int) -> None:
        """`received` bytes have arrived for a flow in all."""
    def observe(
        self,
        now_s: float,
        flow: int,
        *,
        segments: int,
        retransmits: int,
        timeouts: int | None,
        cwnd_bytes: int | None,
        srtt_s: float | None,
        min_rtt_s: float | None,
        own_delay_s: float | None,
    ) -> None:
        """The state of a flow's sending end; None for values that its transport does not report."""
    def end(self, at_s: float, flow: int, stopped: bool) -> None:
        """A flow is over: stopped, or all is there, or its connection has ended it."""
    def due_s(self) -> float:
        """When the table's window begins or ends, or a series is sampled; infinite if never."""
    def counts_due(self, now_s: float) -> bool:
        """Whether what is due by then needs the bytes of flows as they are at present."""
    def look(self, now_s: float) -> None:
        """Takes down what was due by then."""
    def counts(self) -> tuple[int, int]:
        """Flows that can end, and how many of them have."""
    def unfinished(self) -> list[str]:
        """A line for each flow with a size that has not ended."""
    def undelivered(self, now_s: float) -> list[str]:
        """Lines for each transfer whose flows lost their connection, or brought nothing."""
    def progress(self, now_s: float) -> float:
        """How far the flow is that is furthest behind, of those that can end."""
    def payload_bytes(self) -> int:
        """Payload bytes that arrived."""
    def tables(self, now_s: float) -> list[_Columns]:
        """The tables `transfers` and `series`, as columns."""

@final
class PingRules:
    """The pings of a run. Instants are seconds of the run."""

    def __new__(cls, plan: Plan) -> PingRules:
        """Those of a plan."""
    def next_due(self, workload: int) -> float:
        """When the next request is due, unless `send` finds that it is over."""
    def send(self, now_s: float, workload: int) -> int | None:
        """The request that is due is sent; its number, None once the ping is over."""
    def answer(self, at_s: float, workload: int, number: int) -> None:
        """A request is answered; its first answer counts."""
    def stop(self, workload: int) -> None:
        """The timeline stops a workload."""
    def echoes(self, workload: int) -> list[tuple[float, float | None]]:
        """Of each request when it was sent, and how long its answer took."""
    def undelivered(self, now_s: float) -> list[str]:
        """A line for each ping of which not one request was answered."""
    def tables(self) -> list[_Columns]:
        """The table `pings`, as columns."""

@final
class CallRules:
    """The calls of a run. Instants are seconds of the run."""

    def __new__(cls, plan: Plan) -> CallRules:
        """Those of a plan."""
    def next_due(self, workload: int) -> float:
        """When the next packets are due, unless `send` finds that it is over."""
    def send(self, workload: int) -> int | None:
        """Both hosts send the packet that is due; its number, None once the call is over."""
    def arrive(self, workload: int, direction: int, number: int, delay_s: float) -> None:
        """A packet arrives: at the host `to` (direction 0) or `from` (1)."""
    def stop(self, workload: int) -> None:
        """The timeline stops a workload."""
    def undelivered(self, now_s: float) -> list[str]:
        """A line for each direction in which not one packet arrived."""
    def tables(self) -> list[_Columns]:
        """The table `calls`, as columns."""

@final
class WebRules:
    """The users of all web workloads of a run, each by their place. Instants are seconds."""

    def __new__(cls, plan: Plan, seed: int) -> WebRules:
        """Those of a plan, in a run with a seed."""
    def users(self, workload: int) -> list[tuple[int, float]]:
        """The users of a workload, and when each asks for the first page."""
    def ask(self, now_s: float, user: int) -> list[int] | None:
        """A user asks for the next page; the bytes that each of its connections brings.

        None once the user has stopped.
        """
    def receive(self, now_s: float, user: int, bytes: int) -> None:
        """Bytes of the page under way arrive."""
    def complete(self, now_s: float, user: int) -> float | None:
        """The page under way is there; when the next one is due, None once the user has stopped."""
    def lose(self, now_s: float, user: int) -> float | None:
        """The page under way lost a connection too early, and is given up; gives the same."""
    def stop(self, user: int) -> bool:
        """A user stops; whether a page is under way, which is given up."""
    def payload_bytes(self) -> int:
        """Bytes of pages that have arrived."""
    def undelivered(self, now_s: float) -> list[str]:
        """A line for each workload whose pages lost connections, or brought nothing."""
    def tables(self) -> list[_Columns]:
        """The table `pages`, as columns."""

@final
class DownloadRules:
    """The downloads of a run, each by its place. Instants are seconds of the run."""

    def __new__(cls, plan: Plan, seed: int) -> DownloadRules:
        """Those of a plan, in a run with a seed."""
    def download(self, workload: int) -> tuple[int, float] | None:
        """The place of the download of a workload, and when it starts."""
    def begin(self, now_s: float, place: int) -> None:
        """A download starts."""
    def observe(
        self,
        place: int,
        server: int,
        connections: int,
        lost: int,
        ranges: int,
        bytes: int,
        instants_s: tuple[float | None, float | None, float | None],
    ) -> None:
        """Bytes that a server, by its place in the list of them, has brought so far.

        The instants are those of the first request, of the first byte and of the last one.
        """
    def end(self, now_s: float, place: int, how: str) -> bool:
        """A download is over: "whole", "stopped" or "lost". Whether that is new."""
    def is_done(self) -> bool:
        """Whether all have ended."""
    def progress(self) -> float:
        """How far the one is that is furthest behind."""
    def unfinished(self) -> list[str]:
        """A line for each that has not ended."""
    def undelivered(self, now_s: float) -> list[str]:
        """A line for each that lost its last connection, or of which no byte arrived."""
    def payload_bytes(self) -> int:
        """Bytes of files that have arrived."""
    def tables(self) -> list[_Columns]:
        """The tables `fetches` and `fetch_servers`, as columns."""

@final
class OriginRules:
    """The content servers of a run, each by its place, and their clients by number.

    Instants are seconds of the run.
    """

    SERIES: list[str]
    """The time series of a content server."""

    def __new__(cls, plan: Plan, seed: int) -> OriginRules:
        """Those of a plan, in a run with a seed."""
    def place(self, workload: int) -> int:
        """The place of the content server that is this workload. Raises `ValueError`."""
    def come(self, now_s: float, place: int, number: int) -> bool:
        """A client comes; false if it goes at once, as the server was stopped."""
    def receive(
        self, now_s: float, place: int, number: int, pieces: Sequence[tuple[int, int]]
    ) -> None:
        """Bytes of its file have come at a client, each piece with its begin and its end.

        None comes twice, and of a block they come in order. The client goes when it has all.
        """
    def leave(self, now_s: float, place: int, number: int) -> None:
        """A client leaves without its file, if it is here."""
    def lose(self, now_s: float, place: int, number: int) -> None:
        """A client loses its connection, and leaves."""
    def stop(self, now_s: float, place: int) -> None:
        """The timeline stops a server: its clients leave, and others go as soon as they come."""
    def due_s(self, place: int) -> float:
        """When a server is to be asked what it has done; infinite if all that counts is known."""
    def look(self, now_s: float, place: int, snapshot: str) -> None:
        """Takes down what was due, as a server says it (JSON)."""
    def close(self, now_s: float, place: int, snapshot: str) -> None:
        """The run is over: what the server does from here on is no part of it."""
    def is_done(self) -> bool:
        """Whether all clients have come and gone."""
    def stalled(self, now_s: float) -> str | None:
        """Why a server gets no further, if one does not."""
    def progress(self) -> float:
        """Which part of what all clients want has arrived."""
    def unfinished(self) -> list[str]:
        """A line for each server whose clients have not all ended."""
    def undelivered(self, now_s: float, outcome: str) -> list[str]:
        """A line for each server whose clients lack something.

        `outcome` is how the run ended, as far as is known.
        """
    def payload_bytes(self) -> int:
        """Bytes of blocks that have arrived."""
    def tables(self, place: int) -> list[_Columns]:
        """The tables `downloads`, `origins` and `series` about a server, after `close`."""

@final
class Division:
    """The missing bytes of a file, which several connections divide."""

    def __new__(
        cls,
        missing: Sequence[tuple[int, int]],
        connections: int,
        range_bytes: int | None,
        least_split_bytes: int | None,
    ) -> Division:
        """Nothing was asked for of what is missing, ascending runs.

        Without a range, connections get equal parts; without a least split, no rest is halved.
        """
    def ask(self, connection: int) -> tuple[int, int] | None:
        """The next range for an idle connection; None if nothing is left."""
    def receive(self, connection: int, bytes: int) -> tuple[int, bool]:
        """Bytes of its range came: how many were missing, and whether all of the range has come."""
    def lose(self, connection: int) -> None:
        """A connection brings nothing any more: what is left of its range is for any."""
    def is_whole(self) -> bool:
        """Whether every byte has come."""

@final
class SwarmPeer:
    """One peer of a swarm. Instants are seconds of the run, None for what has not happened."""

    @property
    def number(self) -> int: ...
    @property
    def population(self) -> int: ...
    @property
    def host(self) -> int: ...
    @property
    def is_leecher(self) -> bool: ...
    @property
    def member(self) -> int | None: ...
    @property
    def arrived_s(self) -> float | None: ...
    @property
    def completed_s(self) -> float | None: ...
    @property
    def left_s(self) -> float | None: ...

@final
class SwarmRules:
    """The swarms of a run, as far as programs play them. Instants are seconds of the run.

    Arrivals and departures, how far each swarm is, when it is over, and the rows of its tables.
    """

    SERIES: list[str]
    """The time series of a whole swarm, of which each node that plays it knows a part."""

    def __new__(cls, plan: Plan, seed: int, own: Collection[int] | None = None) -> SwarmRules:
        """Of a plan and a seed; of `own` hosts alone, if given."""
    def peers(self, workload: int) -> list[SwarmPeer]:
        """The peers of this workload: planned ones, then those that followed others."""
    def peer(self, number: int) -> SwarmPeer:
        """The peer of this number."""
    def arrivals(self, workload: int) -> list[tuple[int, float]]:
        """When peers of a swarm come that have not come yet, as far as it is known."""
    def due(self, now_s: float, workload: int) -> list[tuple[str, int]]:
        """What is due by now, in order: `("arrive", peer)` or `("leave", peer)`.

        Pieces are counted by themselves.
        """
    def next_due(self, workload: int) -> float | None:
        """When something is due in a swarm next; None if nothing is."""
    def arrive(self, now_s: float, number: int) -> bool:
        """The client of a peer has joined. False if the swarm was stopped."""
    def observe(
        self,
        now_s: float,
        number: int,
        *,
        down: int,
        up: int,
        wasted: int | None,
        pieces: int,
        neighbours: int,
        interested: int | None,
        unchoking: int | None,
    ) -> None:
        """The state of a peer's client; None for values that its program does not report.

        Bytes of blocks received and sent, those that it had already, whole pieces, neighbours, and
        how many of them interest it and do not choke it.
        """
    def has_piece(self, at_s: float, number: int, piece: int) -> None:
        """A leecher completed a piece."""
    def complete(self, at_s: float, number: int) -> None:
        """A leecher has the file."""
    def leave(self, now_s: float, number: int, departs: bool) -> int | None:
        """A peer has left; gives the number of the leecher that follows it.

        None if its population does not replace, or it was not its own departure.
        """
    def stop(self, workload: int) -> list[int]:
        """The timeline stops a swarm: arrivals end, and these peers leave."""
    def set_upload(self, workload: int, population: int, upload_bps: int | None) -> list[int]:
        """The upload limit of a population changes (bit/s); the peers that get it."""
    def controlled(self, number: int, upload_bps: int | None) -> None:
        """The controller of a peer's client set its limit, in bit/s, None for no limit."""
    def wanted_elsewhere(self, now_s: float, workload: int, wanted: bool) -> None:
        """Whether an online peer that another node plays lacks pieces."""
    def stall(self, now_s: float, workload: int, held: bytes | None, whole: bool) -> str | None:
        """Why a swarm can go on no longer, if so; `held` and `whole` as for `part`."""
    def part(self, workload: int, held: bytes | None, whole: bool) -> str:
        """How far a swarm is (JSON), for `SwarmWatch`.

        `held` are the pieces that online peers here have, as a bitfield; None if one has not
        reported. `whole`: one peer has all.
        """
    def is_done(self, workload: int) -> bool:
        """Whether a swarm has nothing more to wait for."""
    def unfinished(self) -> list[str]:
        """A line for each swarm that is not done."""
    def stopped(self) -> str | None:
        """What the timeline stopped before it was complete, if it did."""
    def undelivered(self, now_s: float, outcome: str) -> list[str]:
        """A line for each swarm of which no block reached any leecher, though it should have."""
    def progress(self, workload: int) -> float:
        """Share of what leechers of a swarm want that has arrived."""
    def estimate(self, workload: int, population: int, rtt_s: float, sends: int) -> None:
        """A connection of a population has this estimate of its round-trip time at such sends."""
    def samples_due_s(self) -> float:
        """When a series is sampled next; infinite if none is."""
    def sample(self, now_s: float) -> None:
        """Records the values of the series that are due by then, in all swarms."""
    def tables(self, now_s: float, timeouts: Mapping[int, int]) -> list[_Columns]:
        """The tables `downloads`, `populations`, `pieces`, `have`, `series` and `rtts`, as columns.

        `timeouts` are the retransmission timeouts of each peer, by its number.
        """
    def content(self, workload: int) -> int:
        """Bits that decide the content of a swarm's file."""
    def control_start(self, number: int) -> float:
        """How long after the arrival of a peer's client its controller is started, in seconds."""

@final
class SwarmWatch:
    """Sees a swarm that several nodes play, each a part."""

    def __new__(cls, plan: Plan, workload: int) -> SwarmWatch:
        """Of this workload of a plan. Raises `PlanError` or `ValueError`."""
    def stall(self, now_s: float, parts: Sequence[str]) -> str | None:
        """Why the swarm can go on no longer, if so, by the parts of all nodes (JSON)."""
    def is_done(self, parts: Sequence[str]) -> bool:
        """Whether there is nothing more to wait for."""
    def unfinished(self, parts: Sequence[str]) -> str:
        """A line for a swarm that is not done."""
    def undelivered(self, now_s: float, parts: Sequence[str]) -> str | None:
        """A line if no block reached any leecher, though it should have."""
    def stopped(self, parts: Sequence[str]) -> str | None:
        """That the timeline stopped it before it was complete, if it did."""

def swarm_waits(part: str) -> bool:
    """Whether a peer lacks pieces in a part of a swarm (JSON)."""

@final
class TrackerRegister:
    """The tracker of a swarm: its peers, and which peers an answer names."""

    def __new__(cls, plan: Plan, workload: int, seed: int) -> TrackerRegister:
        """Of the swarm that is this workload of a plan, in a run with this seed.

        Raises `PlanError` or `ValueError`.
        """
    def counts(self) -> tuple[int, int]:
        """Seeds and leechers that it knows."""
    def announce(
        self, now_s: float, peer: int, *, stopped: bool, seed: bool, wanted: int | None
    ) -> list[int]:
        """A peer announces itself; gives other peers.

        `now_s` are seconds since some instant, `wanted` is the number that it asks for, if any.
        """

class _Ending(Protocol):
    """All workloads of a run, as they are asked whether it is over."""

    def failed(self) -> str | None: ...
    def stalled(self, now_s: float) -> str | None: ...
    def is_finite(self) -> bool: ...
    def is_done(self) -> bool: ...
    def stopped(self) -> str | None: ...
    def unfinished(self) -> list[str]: ...

def run_ending(
    workloads: _Ending, now_s: float, horizon_s: float, *, ended: bool
) -> tuple[str, str] | None:
    """Outcome and reason of a run that is over; `ended` if something has ended since last time."""

def run_table(
    outcome: str,
    reason: str,
    end_s: float = 0.0,
    *,
    packets: tuple[int, int, int, int] | None = None,
    payload_bytes: int = 0,
    retransmitted_packets: int = 0,
) -> _Columns:
    """The table `run`, as columns, of a run that programs played.

    Its `packets`, if it counts any, were sent, delivered, lost and dropped.
    """

def with_undelivered(outcome: str, reason: str, lines: Sequence[str]) -> tuple[str, str]:
    """Outcome and reason with what was not delivered, a line each; a run that failed stays so."""
