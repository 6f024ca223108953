"""What tshark, which knows nothing of the simulator, reads in captures."""

import os
import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import flashcrowd
from flashcrowd import pcap
from flashcrowd.engines.simulation import Simulator
from flashcrowd.store import Results
from flashcrowd.study import Study
from flashcrowd.study.seeds import seed_of

TSHARK = shutil.which("tshark")
if TSHARK is None:
    pytest.skip("tshark is not installed: apt-get install tshark", allow_module_level=True)

CHECKS = ("ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE")
OPTIONS = [word for check in CHECKS for word in ("-o", check)]
OPTIONS += ["-o", "tcp.reassemble_out_of_order:TRUE"]
OPTIONS += ["--enable-heuristic", "bt_utp_udp", "--enable-heuristic", "rtp_udp"]
WARNING, ERROR = 6291456, 8388608
"""Severities of what tshark's experts say."""
ORDINARY = {
    "Previous segment(s) not captured (common at capture start)",
    "This frame is a (suspected) out-of-order segment",
    "D-SACK Sequence",
    "Connection reset (RST)",
    "ACKed segment that wasn't captured (common at capture start)",
}
"""What they warn of in every capture of a path that loses packets: it is in the packets."""


def tshark(file: Path, *words: str) -> list[str]:
    """The lines that it prints."""
    made = subprocess.run(
        [str(TSHARK), "-n", "-r", str(file), *OPTIONS, *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={**os.environ, "HOME": str(file.parent)},
    )
    return made.stdout.splitlines()


def fields(file: Path, only: str, *names: str) -> list[list[str]]:
    """The values of some fields of each packet that a filter lets through."""
    words = [word for name in names for word in ("-e", name)]
    return [line.split("\t") for line in tshark(file, "-Y", only, "-T", "fields", *words)]


def without_complaint(file: Path) -> None:
    """Nothing is malformed, every checksum is right, no expert sees an error."""
    bad = "ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0"
    assert tshark(file, "-Y", f"_ws.malformed || icmp.checksum.status == 0 || {bad}") == []
    wrong = fields(
        file,
        f"_ws.expert.severity >= {WARNING}",
        "frame.number", "_ws.expert.severity", "_ws.expert.message",
    )  # fmt: skip
    said: Counter[str] = Counter()
    for _, severities, messages in wrong:
        assert str(ERROR) not in severities.split(","), messages
        for severity, message in zip(severities.split(","), messages.split(","), strict=True):
            if severity == str(WARNING):
                said[message] += 1
    assert set(said) <= ORDINARY, said


def study(**parts: Any) -> dict[str, Any]:
    groups = {"server": {"hosts": 1}, "home": {"hosts": 3, "access": "ADSL 1/8"}}
    capture = {"hosts": ["server", "home-1"], "snap": "full"}
    network = {"rtt": "40 ms", "groups": groups, **parts.pop("network", {})}
    measures = {"capture": {**capture, **parts.pop("capture", {})}}
    return {
        "format": 1, "title": "captured", "seed": 3, "network": network, "measures": measures,
        **parts,
    }  # fmt: skip


FETCH = {"kind": "transfer", "from": "server", "to": "home-1", "size": "1 MB"}


def captured(document: dict[str, Any], tmp_path: Path) -> tuple[Results, dict[str, Path]]:
    """The results of a study with one run, and the file of each host."""
    results = flashcrowd.run(Study.from_dict(document), out=tmp_path / "results")
    files = pcap.write(results, tmp_path / "files")
    return results, {file.path.stem: file.path for file in files}


@pytest.mark.parametrize("seed", [3, 4])
def test_retransmissions_and_round_trips_are_those_that_we_count(tmp_path: Path, seed: int):
    document = study(network={"loss": "1 %"}, workloads={"fetch": FETCH}, capture={"snap": "160 B"})
    results, files = captured({**document, "seed": seed}, tmp_path)
    without_complaint(files["server-1"])
    (flow,) = results.transfers.to_pylist()
    assert flow["retransmits"] > 5
    # Where SACK has it repair several holes within a round trip, it calls the later ones out of
    # order, as a capture in the middle of a path would have to.
    again = "ip.src == 10.0.0.1 && (tcp.analysis.retransmission || tcp.analysis.out_of_order)"
    assert len(fields(files["server-1"], again, "frame.number")) == flow["retransmits"]
    samples = fields(files["server-1"], "ip.src == 10.0.0.2", "tcp.analysis.ack_rtt")
    least = min(float(sample) for (sample,) in samples if sample)
    assert least == pytest.approx(flow["min_rtt_s"], abs=1e-6)


def test_the_mean_round_trip_is_that_of_a_flow_that_loses_nothing(tmp_path: Path):
    results, files = captured(study(workloads={"fetch": FETCH}), tmp_path)
    without_complaint(files["server-1"])
    (flow,) = results.transfers.to_pylist()
    rows = fields(
        files["server-1"], "tcp.analysis.ack_rtt && ip.src == 10.0.0.2",
        "frame.time_epoch", "tcp.analysis.ack_rtt",
    )  # fmt: skip
    samples = [(float(at), float(rtt)) for at, rtt in rows]
    # Each sample holds until the next, as in the table.
    held = [(later - at, rtt) for (at, rtt), (later, _) in pairwise(samples)]
    mean = sum(span * rtt for span, rtt in held) / sum(span for span, _ in held)
    assert mean == pytest.approx(flow["mean_rtt_s"], rel=0.02)
    assert flow["retransmits"] == 0


def test_sequence_numbers_wrap_and_nobody_minds(tmp_path: Path):
    # Of streams of 20 MB one of 215 passes 2^32. The number of a SYN depends on the seed alone.
    short = study(workloads={"fetch": {**FETCH, "size": "1 kB"}})
    plan = Study.from_dict(short).points()[0].plan().parsed
    engine = Simulator()
    for seed in range(5000):
        seen = engine.run(plan, seed_of(seed, 0), engine.handle())["captures"]
        if int.from_bytes(seen["packet"][0].as_py()[24:28]) > 2**32 - 19_000_000:
            break
    else:
        pytest.fail("no stream begins near the end")
    fetch = {**FETCH, "size": "20 MB", "to": "far"}
    document = study(workloads={"fetch": fetch}, capture={"hosts": "server", "snap": "80 B"})
    document["network"]["groups"]["far"] = {"hosts": 1}
    _, files = captured({**document, "seed": seed}, tmp_path)
    without_complaint(files["server-1"])
    raw = [
        int(number) for (number,) in fields(files["server-1"], "ip.src == 10.0.0.1", "tcp.seq_raw")
    ]
    assert max(raw) > 2**32 - 10_000
    assert min(raw) < 10_000
    assert tshark(files["server-1"], "-Y", "tcp.analysis.retransmission") == []


SWARM = {
    "kind": "swarm",
    "size": "1 MB",
    "populations": {
        "seed": {"role": "seed", "group": "server", "upload": "200 KiB/s"},
        "homes": {"group": "home", "upload": "50 KiB/s"},
    },
}


@pytest.mark.parametrize("transport", ["linux-6", "libutp", "libtorrent"])
def test_a_swarm_speaks_bit_torrent(tmp_path: Path, transport: str):
    populations = {
        name: {**population, "transport": transport}
        for name, population in SWARM["populations"].items()
    }
    swarm = {**SWARM, "populations": populations}
    results, files = captured(study(workloads={"swarm": swarm}), tmp_path)
    file = files["home-1"]
    without_complaint(file)
    inside = "bt-utp" if transport.startswith("lib") else "tcp"
    assert all(inside in row[0] for row in fields(file, "bittorrent", "frame.protocols"))
    kinds: Counter[str] = Counter()
    for (types,) in fields(file, "bittorrent.msg.type", "bittorrent.msg.type"):
        kinds.update(types.split(","))
    # UNCHOKE, INTERESTED, HAVE, BITFIELD, REQUEST.
    assert {"1", "2", "4", "5", "6"} <= kinds.keys()
    hello = fields(file, "bittorrent.info_hash", "bittorrent.info_hash", "bittorrent.peer_id")
    assert {bytes.fromhex(row[0]) for row in hello} == {b"flashcrowd 000000000"}
    assert len({row[1] for row in hello}) >= 3
    # Every block that came, twice if the end game asked twice, or went; some were under way.
    mine = next(row for row in results.downloads.to_pylist() if row["host"] == "home-1")
    blocks = (mine["downloaded_bytes"] + mine["uploaded_bytes"]) / 16_384
    assert blocks - 3 <= kinds["7"] <= blocks + 3


def test_pings_pages_and_calls_are_what_they_are(tmp_path: Path):
    workloads = {
        "ping": {"kind": "ping", "from": "home-1", "to": "server", "stop": "3 s"},
        "call": {"kind": "call", "from": "home-1", "to": "server", "stop": "3 s"},
        "web": {"kind": "web", "from": "home-1", "to": "server", "stop": "25 s"},
    }
    document = study(workloads=workloads, stop={"horizon": "30 s"})
    results, files = captured(document, tmp_path)
    file = files["home-1"]
    without_complaint(file)
    times = fields(file, "icmp.type == 0", "icmp.resptime")
    ours = [row["rtt_s"] for row in results.pings.to_pylist()]
    assert [float(time) / 1000 for (time,) in times] == pytest.approx(ours, abs=1e-6)
    heard = fields(file, "rtp && ip.dst == 10.0.0.2", "rtp.seq")
    calls = [row for row in results.calls.to_pylist() if row["to"] == "home-1"]
    assert len(heard) == sum(row["sent"] - row["lost"] for row in calls) > 100
    assert sorted({int(number) for (number,) in heard}) == [int(number) for (number,) in heard]
    pages = [row for row in results.pages.to_pylist() if row["end_s"] is not None]
    answers = fields(file, "http.response", "http.response.code")
    assert len(answers) >= len(pages) > 0
    assert {code for (code,) in answers} == {"200"}


def test_names_and_comments_are_in_the_file(tmp_path: Path):
    _, files = captured(study(workloads={"fetch": FETCH}), tmp_path)
    made = subprocess.run(
        [str(TSHARK), "-N", "n", "-r", str(files["home-1"]), "-c", "1"],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert "server-1" in made.stdout
    assert "home-1" in made.stdout
    ((comment, name, direction),) = fields(
        files["home-1"], "frame.number == 1",
        "frame.comment", "frame.interface_name", "frame.packet_flags_direction",
    )  # fmt: skip
    assert (comment, name, direction) == ("", "home-1", "0x00000001")
