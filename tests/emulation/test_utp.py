"""uTP by real programs over the emulated network, beside the model's over the simulated one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clients.testbed import needs
from tests.emulation.test_transfers import only, ran

from flashcrowd.emulation import libutp_flow
from flashcrowd.store import Results
from flashcrowd.study import Study

pytestmark = [pytest.mark.clocked, pytest.mark.usefixtures("measured_once")]

SIZE = 1_500_000


def by(study: Path, program: str, transport: str, engine: str, out: Path) -> Results:
    text = study.read_text().replace('size = "4 MB"', 'size = "1500 kB"')
    path = study.with_name(f"{program}.toml")
    path.write_text(
        text.replace(
            'kind = "transfer"',
            f'kind = "transfer"\ntransport = "{transport}"\nprogram = "{program}"',
        )
    )
    return ran(Study.load(path), engine, out)


def test_our_own_utp_takes_as_long_as_in_the_simulation(study: Path, tmp_path: Path) -> None:
    simulated = only(by(study, "live", "libutp", "simulation", tmp_path / "s"), "transfers")
    results = by(study, "live", "libutp", "emulation", tmp_path / "e")
    emulated = only(results, "transfers")
    assert emulated["bytes"] == simulated["bytes"] == SIZE
    assert emulated["goodput_bps"] == pytest.approx(simulated["goodput_bps"], rel=0.15)
    assert emulated["min_rtt_s"] == pytest.approx(0.05, abs=0.004)
    assert emulated["segments"] == pytest.approx(simulated["segments"], rel=0.1)
    series = {row["what"] for row in results.tables["series"].to_pylist()}
    assert series == {"queue-delay", "goodput", "window", "rtt"}
    assert results.tables["programs"].num_rows == 0


def test_libtorrent_sends_over_utp_and_tells_what_it_can(study: Path, tmp_path: Path) -> None:
    needs("libtorrent")
    results = by(study, "libtorrent", "libtorrent", "emulation", tmp_path / "e")
    found = only(results, "transfers")
    assert found["bytes"] == SIZE
    assert 2e6 < found["goodput_bps"] < 10e6
    # Packets of at most 1500 bytes; a round trip is nothing that libtorrent tells of.
    assert found["segments"] > SIZE / 1500
    assert found["mean_rtt_s"] is found["p95_rtt_s"] is found["min_rtt_s"] is None
    rows = results.tables["programs"].to_pylist()
    settings = {(row["swarm"], row["program"], row["setting"]) for row in rows}
    assert settings == {
        ("bulk", "libtorrent", "measures.series.window"),
        ("bulk", "libtorrent", "measures.series.rtt"),
    }
    assert only(results, "runs")["outcome"] == "completed"
    assert "libtorrent" in str(results.provenance)


CUT = """
[timeline.cut]
at = "3 s"
change = "network.links.bottleneck.loss"
to = "100 %"
"""


@pytest.mark.slow
def test_a_transfer_ends_when_libtorrent_gives_its_connection_up(
    study: Path, tmp_path: Path
) -> None:
    needs("libtorrent")
    text = study.read_text().replace('horizon = "20 s"', 'horizon = "60 s"')
    # Its target is reached before the queue is full, and nothing is lost before the cut.
    study.write_text(text.replace("50 packets", "500 packets").replace("4 MB", "8 MB") + CUT)
    ends = []
    for engine in ("simulation", "emulation"):
        results = by(study, "libtorrent", "libtorrent", engine, tmp_path / engine)
        found = only(results, "transfers")
        assert 1_000_000 < found["bytes"] < 8_000_000
        ends.append(found["end_s"] - 3)
    simulated, real = ends
    # 0.5 s, and 1.5 and 2.5 s behind it: the packet was sent three times.
    assert simulated == pytest.approx(4.5, abs=0.7)
    assert real == pytest.approx(simulated, abs=0.7)


@pytest.mark.skipif(libutp_flow.found() is None, reason=f"no {libutp_flow.DRIVER} here")
def test_libutp_sends_over_utp(study: Path, tmp_path: Path) -> None:
    results = by(study, "libutp", "libutp", "emulation", tmp_path / "e")
    found = only(results, "transfers")
    assert found["bytes"] == SIZE
    assert 2e6 < found["goodput_bps"] < 10e6
    assert found["mean_rtt_s"] >= 0.05
