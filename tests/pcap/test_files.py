"""pcapng files: their bytes, and which of them are written."""

import json
import re
import shutil
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flashcrowd
from flashcrowd import _core, cli, pcap
from flashcrowd.base.errors import StudyError
from flashcrowd.engines import PlanRejected
from flashcrowd.engines.simulation import Simulator
from flashcrowd.pcap import blocks
from flashcrowd.store import Results, digests
from flashcrowd.study import Study


def study(**measures: Any) -> dict[str, Any]:
    return {
        "format": 1,
        "title": "two homes",
        "seed": 1,
        "network": {
            "rtt": "20 ms",
            "groups": {"server": {"hosts": 1}, "home": {"hosts": 2}},
        },
        "workloads": {
            "fetch": {"kind": "transfer", "from": "server", "to": "home", "size": "20 kB"}
        },
        "measures": measures,
        "sweep": {"network.rtt": ["20 ms", "40 ms"]},
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("results")
    captured = study(capture={"hosts": ["server", "home-2"], "snap": "80 B"})
    return flashcrowd.run(Study.from_dict(captured), out=folder / "r", progress=False)


def test_a_packet_is_a_block_of_the_draft():
    block = blocks.packet(0x1_0000_0002, True, 60, b"abcde")
    assert block == bytes.fromhex(
        "06000000 34000000 00000000"  # enhanced packet, 52 bytes, interface 0
        "01000000 02000000 05000000 3c000000"  # upper and lower time, captured, original length
        "6162636465000000"  # padded to four bytes
        "02000400 02000000 00000000"  # flags: outbound; end of options
        "34000000"
    )
    assert blocks.packet(0, False, 4, b"1234")[36:40] == bytes((1, 0, 0, 0))


def test_names_and_an_interface_are_blocks_of_the_draft():
    assert blocks.names({bytes((10, 0, 0, 1)): "ab"}) == bytes.fromhex(
        "04000000 1c000000 01000700 0a000001 61620000 00000000 1c000000"
    )
    interface = blocks.interface("h", bytes((10, 0, 0, 1)))
    assert interface == bytes.fromhex(
        "01000000 34000000 6500 0000 00000000"
        "02000100 68000000"
        "04000800 0a000001 ff000000"
        "09000100 09000000"
        "00000000 34000000"
    )
    section = blocks.section("us", "why")
    assert section[:24] == bytes.fromhex("0a0d0d0a 30000000 4d3c2b1a 01000000 ffffffffffffffff")
    assert section[24:] == bytes.fromhex("01000300 77687900 04000200 75730000 00000000 30000000")


def read(file: Path) -> list[tuple[int, bytes]]:
    """The blocks of a file: kind and body."""
    data, found = file.read_bytes(), []
    while data:
        kind, length = struct.unpack_from("<II", data)
        assert length % 4 == 0
        assert data[length - 4 : length] == data[4:8]
        found.append((kind, data[8 : length - 4]))
        data = data[length:]
    return found


def test_there_is_a_file_for_each_host_and_run(results: Results, tmp_path: Path):
    written = pcap.write(results, tmp_path)
    names = ["run-0000-home-2", "run-0000-server-1", "run-0001-home-2", "run-0001-server-1"]
    assert sorted(file.path.stem for file in written) == names
    assert sorted(path.stem for path in tmp_path.iterdir()) == names
    rows = results.tables["captures"].to_pylist()
    assert sum(file.packets for file in written) == len(rows)
    for number, host in ((0, "home-2"), (1, "server-1")):
        found = read(tmp_path / f"run-{number:04d}-{host}.pcapng")
        assert b"network.rtt = " + (b"40 ms" if number else b"20 ms") in found[0][1]
        mine = [row for row in rows if (row["run"], row["host"]) == (number, host)]
        packets = [body for kind, body in found if kind == blocks.PACKET]
        for row, body in zip(mine, packets, strict=True):
            _, high, low, length, original = struct.unpack_from("<IIIII", body)
            assert (high << 32 | low, original) == (row["t_ns"], row["ip_bytes"])
            assert body[20 : 20 + length] == row["packet"]
            assert len(row["packet"]) == min(80, row["ip_bytes"])


def test_hosts_points_and_runs_are_chosen(results: Results, tmp_path: Path):
    def stems(**chosen: Any) -> list[str]:
        return sorted(file.path.stem for file in pcap.write(results, tmp_path, **chosen))

    assert stems(hosts=["home"], points=[1]) == ["run-0001-home-2"]
    assert stems(hosts=["server-1", "home-2"], runs=[0]) == ["run-0000-home-2", "run-0000-server-1"]


def test_portions_do_not_show(results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pcap.write(results, tmp_path / "whole")
    monkeypatch.setattr("flashcrowd.pcap.files.ROWS", 7)
    pcap.write(results, tmp_path / "portions")
    for file in (tmp_path / "whole").iterdir():
        parts = read(tmp_path / "portions" / file.name)
        assert [block for block in parts if block[0] != blocks.NAMES] == [
            block for block in read(file) if block[0] != blocks.NAMES
        ]


def status(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["pcap", *words])
    return int(ended.value.code or 0)


def test_the_command_says_what_it_wrote(results: Results, tmp_path: Path, capsys: Any):
    assert (
        status(str(results.path), "--out", str(tmp_path / "p"), "--host", "home", "--run", "1") == 0
    )
    said = capsys.readouterr().out
    assert said.startswith(f"{tmp_path}/p/run-0001-home-2.pcapng: ")
    assert said.endswith(" packets\n")
    assert said.count("\n") == 1


def test_what_was_not_captured_is_said(results: Results, tmp_path: Path, capsys: Any):
    out = ("--out", str(tmp_path / "p"))
    assert status(str(results.path), *out, "--host", "home-1") == 2
    assert "nothing was captured at home-1, but at home-2, server-1" in capsys.readouterr().err
    assert status(str(results.path), *out, "--run", "9") == 2
    assert "no such point or run" in capsys.readouterr().err
    assert status(str(tmp_path / "nowhere"), *out) == 2
    (tmp_path / "file").write_text("")
    assert status(str(results.path), "--out", str(tmp_path / "file")) == 2
    assert "is no folder" in capsys.readouterr().err
    plain = flashcrowd.run(Study.from_dict(study()), out=tmp_path / "plain", progress=False)
    assert status(str(plain.path), *out) == 2
    assert "[measures.capture]" in capsys.readouterr().err
    assert not list(tmp_path.glob("p/*"))


@pytest.mark.parametrize(
    ("capture", "place", "allowed"),
    [
        ({"hosts": "hom"}, "measures.capture.hosts", "a host or a group: "),
        ({"hosts": []}, "measures.capture.hosts", ""),
        ({"hosts": "home", "from": "25 h"}, "measures.capture.from", "a time before the end"),
        (
            {"hosts": "home", "from": "5 s", "to": "5 s"},
            "measures.capture.to",
            "a time after `from`, 5 s",
        ),
        ({"hosts": "home", "snap": "79 B"}, "measures.capture.snap", "between 80 B and 65535 B"),
    ],
)
def test_a_capture_of_nothing_is_refused(capture: dict[str, Any], place: str, allowed: str):
    with pytest.raises(StudyError) as refused:
        Study.from_dict(study(capture=capture)).points()[0].plan()
    (problem,) = refused.value.problems
    assert problem.path == place
    assert allowed in problem.allowed


def test_a_capture_is_lowered_to_hosts_and_nanoseconds():
    def lowered(**capture: Any) -> Any:
        made = Study.from_dict(study(capture=capture)).points()[0].plan().data["measures"]
        return made.get("capture")

    assert lowered(hosts=["home", "home-1"], to="2 s") == {
        "hosts": [1, 2], "from_ns": 0, "to_ns": 2 * 10**9, "snap_bytes": 160,
    }  # fmt: skip
    assert lowered(hosts="server", snap="full", **{"from": "1 s"}) == {
        "hosts": [0], "from_ns": 10**9, "to_ns": None, "snap_bytes": None,
    }  # fmt: skip
    plain = Study.from_dict(study()).points()[0].plan().data["measures"]
    assert "capture" not in plain


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"hosts": [3]}, "measures.capture.hosts[0]: 3 does not exist: there are 3"),
        ({"hosts": [1, 0]}, "measures.capture.hosts: must be in ascending order, each once"),
        ({"hosts": [1, 1]}, "measures.capture.hosts: must be in ascending order, each once"),
        ({"to_ns": 10**9}, "measures.capture.to: must be after from"),
    ],
)
def test_the_engine_refuses_captures_that_contradict_themselves(wrong: dict[str, Any], said: str):
    capture = {"hosts": ["home", "server"], "from": "1 s"}
    plan = Study.from_dict(study(capture=capture)).points()[0].plan().parsed
    Simulator().check(plan)
    data = json.loads(plan.to_json())
    data["measures"]["capture"] |= wrong
    with pytest.raises(PlanRejected, match=re.escape(said)):
        Simulator().check(_core.Plan(json.dumps(data)))


def test_the_need_of_memory_counts_packets():
    def need(**measures: Any) -> int:
        document = study(**measures)
        document["workloads"]["fetch"]["size"] = "100 MB"
        (found,) = Simulator().needs([Study.from_dict(document).points()[0].plan().parsed])
        assert found is not None
        return found.bytes

    plain, some = need(), need(capture={"hosts": "server"})
    packets = 2 * 100e6 / 1448 * 1.5
    assert 150 * packets < some - plain < 1500 * packets
    full = need(capture={"hosts": ["server", "home"], "snap": "full"})
    assert full - plain > 6 * (some - plain)
    assert need(capture={"hosts": "server", "from": "23 h"}) == plain


def test_no_host_in_a_table_leads_out_of_the_folder(results: Results, tmp_path: Path):
    folder = tmp_path / "r"
    shutil.copytree(results.path, folder)
    file = folder / "tables" / "captures.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index("host")
    names = pa.array(["/../../../evil"] * len(table))
    pq.write_table(table.set_column(place, table.schema.field(place), names), file)
    said = folder / "tables" / "digests.json"
    plain = digests.unsealed(said.read_bytes())
    plain["files"][file.name] = digests.of_file(file, folder)
    said.write_text(digests.sealed(plain))
    (tmp_path / "run-0000-").mkdir()
    written = pcap.write(flashcrowd.open(folder), tmp_path / "out")
    assert {it.path.parent for it in written} == {tmp_path / "out"}
    assert all("_.._.._.._evil" in it.path.name for it in written)
