"""Packets of real programs, as the emulator sees them: whole ones, and those of transfers."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import flashcrowd
from flashcrowd.cli import _status
from flashcrowd.emulation.requirements import impossible
from flashcrowd.study import Study

pytestmark = pytest.mark.usefixtures("measured_once")

MEASURES = """
[measures]
packets = "10 s"

[measures.capture]
hosts = ["left", "right"]
snap = "full"
"""


def with_taps(study: Path, *changes: tuple[str, str]) -> Path:
    text = study.read_text().replace("[measures.series]", MEASURES + "\n[measures.series]")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    study.write_text(text)
    return study


@pytest.mark.clocked
@pytest.mark.parametrize("tso", [False, True], ids=["frames", "super-segments"])
def test_packets_of_a_transfer_are_seen_at_both_ends(study: Path, *, tso: bool) -> None:
    with_taps(study)
    if tso:
        text = study.read_text().replace('stack = "linux-6"', 'stack = "large"')
        study.write_text(text + '\n[stacks.large]\nbase = "linux-6"\ntso = "64 KiB"\n')
    out = study.parent / "results"
    assert _status(["run", str(study), "--engine", "emulation", "--out", str(out)]) == 0
    results = flashcrowd.open(out)
    (transfer,) = results.transfers.to_pylist()
    packets = results.packets.to_pylist()
    assert {(row["transfer"], row["flow"]) for row in packets} == {("bulk", 0)}
    fresh = [row for row in packets if not row["retransmission"]]
    assert sum(row["payload_bytes"] for row in fresh) == 4_000_000
    assert max(row["ip_bytes"] for row in packets) == 1500
    again = len(packets) - len(fresh)
    # The kernel counts what it means to send again, and may have sent it as more than one packet.
    assert transfer["retransmits"] > 0
    assert again == pytest.approx(transfer["retransmits"], abs=2 + 0.02 * again)
    (link,) = [row for row in results.links.to_pylist() if row["link"] == "bottleneck"]
    captures = results.captures.to_pylist()
    sent, received = (
        [row for row in captures if (row["host"], row["direction"]) == end]
        for end in (("left-1", "sent"), ("right-1", "received"))
    )
    assert sum(row["packet"][9] == 6 for row in sent) == len(packets)
    # What is on its way when the run ends is neither dropped nor received.
    assert link["dropped"] <= len(sent) - len(received) <= link["dropped"] + 5
    assert all(len(row["packet"]) == row["ip_bytes"] for row in captures)
    assert [row["t_ns"] for row in captures] == sorted(row["t_ns"] for row in captures)
    _held_against_tshark(out, study.parent / "packets")


def _held_against_tshark(results: Path, folder: Path) -> None:
    """What an independent reader says of checksums and of what stands where.

    A checksum of 0xffff is let pass: Linux writes it where the sum is 0 (CSUM_MANGLED_0), of TCP as
    of UDP, and a receiver takes both; tshark calls it wrong, in one packet of 65,536.
    """
    if shutil.which("tshark") is None:
        return
    assert _status(["pcap", str(results), "--out", str(folder)]) == 0
    (file,) = folder.glob("*left-1.pcapng")
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    sum_of_tcp = "(tcp.checksum.status == 0 && tcp.checksum != 0xffff)"
    wrong = f"{sum_of_tcp} || ip.checksum.status == 0 || _ws.malformed"
    command = ["tshark", "-r", str(file), *checks, "-Y", wrong]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not found.stdout, found.stdout[:400]


@pytest.mark.long
@pytest.mark.clocked
def test_the_swarm_of_the_page_is_captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "captures.md").read_text(encoding="utf-8")
    (study,) = re.findall(r"<!-- file: homes.toml -->\n```toml\n(.*?)```", page, re.S)
    (tmp_path / "homes.toml").write_text(study)
    monkeypatch.chdir(tmp_path)
    _, real = page.split("## Captures of real programs")
    (commands,) = re.findall(r"```sh\n(.*?)```", real, re.S)
    for command in commands.splitlines():
        assert _status(command.split()[1:]) == 0
    files = [f"real-packets/{host}-1.pcapng" for host in ("seed", "homes")]
    assert all(Path(file).stat().st_size > 1_000_000 for file in files)
    if shutil.which("tshark"):
        blocks = ["tshark", "-r", files[1], "-Y", "bittorrent.piece.index"]
        found = subprocess.run(blocks, capture_output=True, text=True, check=True)
        assert len(found.stdout.splitlines()) > 100


def test_flows_of_utp_are_told_by_captures_alone(study: Path) -> None:
    with_taps(study, ('size = "4 MB"', 'size = "4 MB"\ntransport = "libtorrent"'))
    (point,) = Study.load(study).points()
    said = [*impossible(point.plan().parsed)]
    assert any("take measures.capture in its place" in line for line in said), said
    assert not any("capture is not recorded" in line for line in said)
