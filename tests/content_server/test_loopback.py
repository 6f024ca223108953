"""The engine `loopback`: a real server and real clients play a plan of the simulation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flashcrowd._core import Plan
from flashcrowd.content_server.chunks import Chunks, Wrong
from flashcrowd.content_server.visitor import Line
from flashcrowd.engines import PlanRejected
from flashcrowd.engines.registry import engine
from flashcrowd.study import Study
from flashcrowd.study.runner import prepare

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server needs Linux")

SCENARIO = """
format = 1
title = "A small crowd"
seed = 1

[network]
rtt = "1 ms"
stack = "linux-6"

[network.groups.server]
access = { up = "1 Gbit/s", down = "1 Gbit/s" }

[network.groups.slow]
hosts = 3
access = { up = "20 Mbit/s", down = "20 Mbit/s" }

[network.groups.fast]
hosts = 3
access = { up = "60 Mbit/s", down = "60 Mbit/s" }

[workloads.origin]
kind = "origin"
host = "server"
files = "1 MiB"
memory = "512 KiB"
extent = "64 KiB"
block = "16 KiB"
disk = { positioning = "312.5 us", rate = "40 MB/s" }

[workloads.origin.populations.slow]
group = "slow"
arrivals = { gap = "50 ms" }

[workloads.origin.populations.fast]
group = "fast"
arrivals = { gap = "50 ms" }
in_order = true

[measures.series]
disk-rate = "100 ms"
"""


def plan_of(folder: Path, text: str = SCENARIO) -> tuple[Plan, int]:
    path = folder / "study.toml"
    path.write_text(text)
    campaign = prepare(Study.load(path), engine("simulation"))
    return campaign.plans[0], campaign.manifest.runs[0].seed


def test_the_same_clients_come_to_the_real_server(tmp_path: Path) -> None:
    plan, seed = plan_of(tmp_path)
    tables = {}
    for name in ("simulation", "loopback"):
        player = engine(name)
        player.check(plan)
        tables[name] = player.run(plan, seed, player.handle())
        if name == "loopback":
            (pace,) = player.finish().get("pace", [])
            assert pace["reads"] > 0
            assert pace["busy_s"] > 0
            assert player.finish() == {"pace": []}, "what was handed over is another session's"
    real, simulated = (tables[name]["downloads"] for name in ("loopback", "simulation"))
    # How late lines were played on a busy machine is no matter here, but every byte is right.
    assert tables["loopback"]["run"]["outcome"][0].as_py() in ("completed", "invalid")
    assert real.schema.names == simulated.schema.names
    for column in ("population", "host", "peer", "downloaded_bytes", "pieces"):
        assert real[column].to_pylist() == simulated[column].to_pylist()
    for row, twin in zip(real.to_pylist(), simulated.to_pylist(), strict=True):
        assert row["arrived_s"] >= twin["arrived_s"]
        # A line carries no more than its rate, whoever is late.
        rate = 20e6 if row["population"] == "slow" else 60e6
        assert row["duration_s"] >= ((1 << 20) * 8 - 0.02 * rate) / rate
    (origin,) = tables["loopback"]["origins"].to_pylist()
    (twin,) = tables["simulation"]["origins"].to_pylist()
    assert origin.keys() == twin.keys()
    assert origin["sent_bytes"] == twin["sent_bytes"] == 6 << 20
    assert origin["read_bytes"] >= 1 << 20
    assert tables["loopback"]["series"].num_rows > 0


def test_what_a_loopback_has_not_is_refused(tmp_path: Path) -> None:
    text = SCENARIO.replace('rtt = "1 ms"', 'rtt = "80 ms"').replace("disk-rate", "queue-delay")
    plan, _ = plan_of(tmp_path, text)
    with pytest.raises(PlanRejected) as refused:
        engine("loopback").check(plan)
    assert "a delay of 40 ms" in str(refused.value)
    assert "queue-delay is not known here" in str(refused.value)


def test_a_line_carries_its_rate_and_forgets_what_is_too_old() -> None:
    # 1,448,000 B/s of payload; instants are sums of powers of two.
    line = Line(12_000_000, 10.0)
    assert line.room(10 + 1 / 128) == 11_312
    line.take(11_312)
    assert line.room(10 + 2 / 128) == 11_313
    # 20 ms at most, and what is beyond is counted until something was read.
    assert line.room(10 + 2 / 128 + 1 / 8) == 28_960
    assert line.forgotten == pytest.approx(181_000 - 28_960)
    line.take(1000)
    assert (line.room(10 + 2 / 128 + 1 / 8), line.forgotten) == (27_960, 0.0)


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_chunks_come_in_any_pieces(step: int) -> None:
    body = b"5\r\nhello\r\n1;x=y\r\n,\r\n10\r\n" + b"0123456789abcdef" + b"\r\n0\r\n\r\n"
    chunks = Chunks()
    got = b""
    for at in range(0, len(body), step):
        assert not chunks.finished
        got += b"".join(map(bytes, chunks.feed(memoryview(body[at : at + step]))))
    assert chunks.finished
    assert got == b"hello,0123456789abcdef"


@pytest.mark.parametrize("body", [b"x\r\n", b"1\r\nab\r\n", b"0" * 300])
def test_what_are_no_chunks_is_said(body: bytes) -> None:
    with pytest.raises(Wrong):
        list(Chunks().feed(memoryview(body)))
