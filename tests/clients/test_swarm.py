import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.clients import testbed
from tests.engines.plans import made

from flashcrowd.clients import ClientFailed, HostSandbox, Swarm, opentracker
from flashcrowd.clients import swarm as module
from flashcrowd.clients.host_sandbox import entered
from flashcrowd.clients.libtorrent import Libtorrent
from flashcrowd.store.schema import ENGINE_TABLES

pytest.importorskip("libtorrent", reason="pip install libtorrent")

SEED = {"name": "seed", "role": "seed"}
AT_ONCE = {"spread": "0 s"}


def test_three_leechers_have_the_file_and_the_tables_say_when(tmp_path: Path):
    plan = testbed.plan(
        {**SEED, "upload": "2 MB/s"},
        {"name": "crowd", "hosts": 3, "upload": "2 MB/s", "arrivals": {"spread": "0.5 s"}},
        measures={"have": True, "pieces": "1 s", "series": {"completed": "0.5 s"}},
    )
    swarm = testbed.play(plan, testbed.loopback(5), tmp_path / "run")
    rows = testbed.rows(swarm)
    downloads = rows["downloads"]
    assert [row["host"] for row in downloads] == ["crowd-1", "crowd-2", "crowd-3"]
    assert sorted(row["peer"] for row in downloads) == [1, 2, 3]
    for row in downloads:
        assert 0 <= row["arrived_s"] < row["completed_s"] < 60
        assert row["duration_s"] == pytest.approx(row["completed_s"] - row["arrived_s"])
        assert row["downloaded_bytes"] >= 2_000_000
        assert row["pieces"] == 31
    seed, crowd = rows["populations"]
    assert (seed["role"], seed["peers"], seed["completed"]) == ("seed", 1, 0)
    assert (crowd["role"], crowd["peers"], crowd["completed"]) == ("leecher", 3, 3)
    # What one sends another receives.
    sent = seed["uploaded_bytes"] + crowd["uploaded_bytes"]
    assert sent == pytest.approx(crowd["downloaded_bytes"], rel=0.05)
    assert len(rows["have"]) == 3 * 31
    assert not (tmp_path / "run").exists()


def test_the_columns_are_those_of_the_tables(tmp_path: Path):
    plan = testbed.plan(
        SEED,
        {"name": "crowd", "arrivals": AT_ONCE},
        measures={"have": True, "pieces": "100 ms"},
        size="20 MB",
    )
    rows = testbed.rows(testbed.play(plan, testbed.loopback(3), tmp_path / "run"))
    for name in ("downloads", "populations", "pieces", "have"):
        columns = [column.name for column in ENGINE_TABLES[name].columns]
        assert rows[name], name
        assert all(list(row) == columns for row in rows[name])


def test_a_limit_holds_on_addresses_that_look_local(tmp_path: Path):
    plan = testbed.plan(
        {**SEED, "upload": "500 kB/s"}, {"name": "crowd", "arrivals": AT_ONCE}, size="1 MB"
    )
    (row,) = testbed.rows(testbed.play(plan, testbed.loopback(3), tmp_path / "run"))["downloads"]
    # The limiter may begin with what it had saved up.
    assert row["duration_s"] > 1.0


def test_who_has_the_file_leaves_and_is_replaced(tmp_path: Path):
    plan = testbed.plan(
        SEED,
        {"name": "crowd", "arrivals": AT_ONCE, "departure": "at-once", "replace": True},
        swarm={"stop_after": 3},
    )
    rows = testbed.rows(testbed.play(plan, testbed.loopback(3), tmp_path / "run"))["downloads"]
    done = [row for row in rows if row["completed_s"] is not None]
    assert len(done) == 3
    assert {row["host"] for row in rows} == {"crowd-1"}
    for one, other in zip(done, rows[1:], strict=False):
        assert one["completed_s"] <= one["left_s"] <= other["arrived_s"]


def test_a_wrong_file_fails_the_swarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    right = module.Swarm._verify

    def damage(self: module.Swarm) -> None:
        client = self.peers[1].client
        assert client is not None
        with client.job.content.open("r+b") as file:
            file.seek(1_000_000)
            file.write(b"not what the torrent says")
        right(self)

    monkeypatch.setattr(module.Swarm, "_verify", damage)
    plan = testbed.plan(SEED, {"name": "crowd", "arrivals": AT_ONCE})
    with pytest.raises(ClientFailed, match=r"libtorrent on h1: .*1 of 31 pieces are wrong"):
        testbed.play(plan, testbed.loopback(3), tmp_path / "run")


def test_each_in_a_namespace_of_its_own(tmp_path: Path):
    with testbed.bridged(4) as places:
        plan = testbed.plan(SEED, {"name": "crowd", "hosts": 2, "arrivals": AT_ONCE})
        swarm = testbed.play(plan, places, tmp_path / "run")
    assert testbed.completed(swarm) == 2


def test_opentracker_may_be_the_tracker(tmp_path: Path):
    testbed.needs_opentracker()
    crowd = {"name": "crowd", "hosts": 2, "arrivals": AT_ONCE}
    plan = testbed.plan(SEED, crowd, tracker={"program": "opentracker"})
    swarm = testbed.play(plan, testbed.loopback(4), tmp_path / "run")
    assert testbed.completed(swarm) == 2
    rows = testbed.rows(swarm)["programs"]
    listed = {row["setting"] for row in rows if row["program"] == "opentracker"}
    assert "tracker.reshuffle" in listed


def test_over_utp(tmp_path: Path):
    plan = testbed.plan(
        {**SEED, "transport": "libutp"},
        {"name": "crowd", "hosts": 2, "arrivals": AT_ONCE, "transport": "libutp"},
    )
    with testbed.bridged(4) as places:
        before = [_tcp_opened(place) for place in places[:3]]
        swarm = testbed.play(plan, places, tmp_path / "run")
        opened = [_tcp_opened(place) - it for place, it in zip(places[:3], before, strict=True)]
    assert testbed.completed(swarm) == 2
    # Announces alone: it starts, has the file or a part of it, and stops.
    assert all(0 < each <= 4 for each in opened)


def test_without_a_word_libtorrent_is_over_utp_and_who_has_none_over_tcp(tmp_path: Path):
    """The seed comes last: so it is the one that opens, to a libtorrent and to an aria2."""
    testbed.needs("libtorrent", "aria2")
    crowd = {"profile": "libtorrent", "transport": "profile", "arrivals": AT_ONCE}
    late = {"kind": "times", "at": ["6 s"]}
    plan = testbed.plan(
        {"name": "crowd", **crowd},
        {"name": "old", "program": "aria2", **crowd},
        {**SEED, "transport": "profile", "profile": "libtorrent", "arrivals": late},
    )
    opens = [it["transport"] for it in plan["workloads"][0]["populations"]]
    assert opens == [{"utp": 0}, None, {"utp": 0}]
    with testbed.bridged(4) as places:
        swarm = testbed.play(plan, places, tmp_path / "run")
        opened = [_tcp_opened(place) for place in places[:3]]
    assert testbed.completed(swarm) == 2
    announces = 4  # it starts, has the file or a part of it, and stops
    assert opened[0] <= announces
    # One more, to the aria2.
    assert 2 <= opened[2] <= announces + 1


def _tcp_opened(place: HostSandbox) -> int:
    with entered(place.netns):
        lines = Path("/proc/thread-self/net/snmp").read_text().splitlines()
    names, values = (line.split() for line in lines if line.startswith("Tcp:"))
    return int(values[names.index("ActiveOpens")])


def test_who_uploads_nothing_uploads_nothing(tmp_path: Path):
    plan = testbed.plan(
        {**SEED, "upload": "1 MB/s"},
        {"name": "crowd", "hosts": 3, "arrivals": AT_ONCE, "upload": "0 B/s"},
        size="1 MB",
    )
    swarm = testbed.play(plan, testbed.loopback(5), tmp_path / "run")
    seed, crowd = testbed.rows(swarm)["populations"]
    assert crowd["uploaded_bytes"] == 0
    assert seed["uploaded_bytes"] >= 3_000_000


def test_a_limit_changes_in_place_and_a_swarm_stops(tmp_path: Path):
    plan = testbed.plan(
        {**SEED, "upload": "50 kB/s"}, {"name": "crowd", "arrivals": AT_ONCE}, size="20 MB"
    )
    swarm = Swarm(made(plan), 0, 1, testbed.loopback(3), tmp_path / "run")

    def down() -> int:
        return swarm.peers[1].progress.down

    with contextlib.closing(swarm):
        swarm.prepare()
        swarm.begin(time.monotonic())
        testbed.until(swarm, lambda: down() > 50_000)
        before = down()
        testbed.go_on(swarm, 3.0)
        slow = down()
        assert slow - before < 400_000
        swarm.set_upload(0, 8 * 2_000_000)
        # With the limit of before it would take a minute.
        testbed.until(swarm, lambda: down() - slow > 3_000_000, most_s=30.0)
        stopped = swarm.now
        swarm.stop()
        assert swarm.is_done
        swarm.finish()
    (row,) = testbed.rows(swarm)["downloads"]
    assert row["completed_s"] is None
    assert row["left_s"] == pytest.approx(stopped, abs=1.0)
    assert swarm.left_behind == (0, 0)


@pytest.mark.parametrize("program", ["libtorrent", "transmission"])
@pytest.mark.parametrize("profile", ["modern", "libtorrent"])
def test_a_swarm_whose_seed_uploads_nothing_stalls(tmp_path: Path, program: str, profile: str):
    """The profile `libtorrent` has pieces that who is choked may request (BEP 6)."""
    testbed.needs(program)
    ours = {"program": program, "profile": profile}
    plan = testbed.plan(
        {**SEED, **ours, "upload": "0 B/s"},
        {"name": "crowd", "hosts": 2, "arrivals": AT_ONCE, "profile": profile},
        stop={"stall": "2 s"},
    )
    swarm = testbed.play(plan, testbed.loopback(4), tmp_path / "run")
    assert swarm.outcome == "swarm swarm: no block arrived for 2 s, 0 of 2 leechers complete"
    assert [row["uploaded_bytes"] for row in testbed.rows(swarm)["populations"]] == [0, 0]


def test_a_client_that_was_late_leaves_when_its_session_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    right = Libtorrent.is_ready
    ready_at = time.monotonic() + 3.0

    def is_ready(self: Libtorrent) -> bool:
        return right(self) and (self.job.seed or time.monotonic() >= ready_at)

    monkeypatch.setattr(Libtorrent, "is_ready", is_ready)
    monkeypatch.setattr(module, "LEAD_S", 0.0)
    plan = testbed.plan({**SEED, "upload": "500 kB/s"}, {"name": "crowd"}, size="20 MB")
    session = {"kind": "sessions", "at_ns": [100_000_000], "leave_ns": [200_000_000]}
    plan["workloads"][0]["populations"][1]["arrivals"] = session
    swarm = testbed.play(plan, testbed.loopback(3), tmp_path / "run", most_s=20.0)
    (row,) = testbed.rows(swarm)["downloads"]
    assert row["arrived_s"] > 1
    assert row["completed_s"] is None
    assert row["left_s"] == pytest.approx(row["arrived_s"], abs=0.5)


def test_nothing_is_left_when_the_process_that_plays_is_killed(tmp_path: Path):
    testbed.needs("aria2")
    testbed.loopback(1)  # or skip
    code = f"""
import time
from pathlib import Path
from tests.clients import testbed
from flashcrowd.clients import Swarm
late = {{"arrivals": {{"start": "100 s"}}}}
seed = {{"name": "seed", "role": "seed", "program": "aria2"}}
plan = testbed.plan(seed, late, tracker={{"program": {TRACKER!r}}})
swarm = Swarm(testbed.made(plan), 0, 1, testbed.loopback(3), Path({str(tmp_path / "run")!r}))
swarm.prepare()
print(*testbed.pids(swarm), flush=True)
time.sleep(600)
"""
    root = Path(__file__).parents[2]
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(root), *sys.path]))},
    )
    with child:
        assert child.stdout is not None
        pids = [int(word) for word in child.stdout.readline().split()]
        assert pids
        assert all(_runs(pid) for pid in pids)
        child.kill()
    deadline = time.monotonic() + 10
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


TRACKER = "opentracker" if opentracker.why_not() is None else "flashcrowd"


def _runs(pid: int) -> bool:
    """Whether a process is there, and not one that has ended and waits to be asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_place_whose_loopback_is_down_is_refused(tmp_path: Path):
    with testbed.bridged(3) as places:
        host = testbed.Namespace()
        try:
            asleep = HostSandbox("asleep", "198.18.0.9", host.path)
            plan = testbed.plan(SEED, {"name": "crowd"})
            with (
                contextlib.closing(
                    Swarm(made(plan), 0, 1, [*places[:2], asleep], tmp_path / "r")
                ) as swarm,
                pytest.raises(ClientFailed, match="the loopback interface of asleep is down"),
            ):
                swarm.prepare()
        finally:
            host.close()
