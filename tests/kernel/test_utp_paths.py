"""docs/utp.md, "What the path takes": uTP over paths that take less than its largest packets, over
both versions of IP, whether routers say so or not and whether fragments arrive or not."""

import json
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyroute2", reason="the paths are built with pyroute2")
sys.path.insert(0, str(Path(__file__).parent))
from paths import RECEIVER, Narrow, path

import testbed

PATIENCE_S = 120.0
SLOWEST_S = 25.0
"""docs/utp.md: "some timeouts", of a second each at first."""
BYTES = 300_000


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    if reason := testbed.why_not():
        pytest.skip(reason)


def _target(version: int) -> str:
    return f"[{RECEIVER[version]}]" if version == 6 else RECEIVER[version]


@pytest.mark.parametrize("fragments", [True, False], ids=["fragments", "no-fragments"])
@pytest.mark.parametrize("icmp", [True, False], ids=["icmp", "silent"])
@pytest.mark.parametrize("mtu", [1280, 1420])
@pytest.mark.parametrize("profile", ["libutp", "libtorrent"])
def test_a_narrow_path_carries_everything(
    profile: str, mtu: int, icmp: bool, fragments: bool
) -> None:
    """Over both versions of IP at once: what the system learns of a path is of one of them."""
    narrow = Narrow(mtu, says_so=icmp, fragments_arrive=fragments)
    with path(f"{profile[3]}{mtu}{icmp:d}{fragments:d}", narrow) as hosts, hosts.serving():
        began = time.monotonic()
        options = ["--profile", profile, "--bytes", str(BYTES), "--json"]
        sent = {version: hosts.start(_target(version), *options) for version in (4, 6)}
        said = {version: it.communicate(timeout=PATIENCE_S) for version, it in sent.items()}
    took = time.monotonic() - began
    for version, (out, errors) in said.items():
        assert sent[version].returncode == 0, errors + out
        (stream,) = json.loads(out)["transfers"][0]["streams"]
        assert stream["verified"]
        assert stream["bytes"] == BYTES
        headers = 48 if version == 6 else 28
        found = stream["connection"]["packet_bytes"] + 20
        assert found <= mtu - headers
    assert took < SLOWEST_S, f"{took:.1f} s"


@pytest.mark.parametrize("version", [4, 6])
def test_a_narrow_device_costs_a_few_probes(version: int) -> None:
    """The system refuses what is too large for the device that a packet leaves by (`EMSGSIZE`)."""
    with path(f"{version}d", Narrow(1500)) as hosts, hosts.serving():
        hosts.narrow_to(1280, at=hosts.sender, interface="up")
        sent = hosts.start(_target(version), "--bytes", str(BYTES), "--json")
        out, errors = sent.communicate(timeout=PATIENCE_S)
    assert sent.returncode == 0, errors + out
    (stream,) = json.loads(out)["transfers"][0]["streams"]
    connection = stream["connection"]
    headers = 48 if version == 6 else 28
    # Bisection ends within 16 bytes.
    assert 1280 - headers - 16 <= connection["packet_bytes"] + 20 <= 1280 - headers
    assert connection["packets_retransmitted"] <= 12


@pytest.mark.parametrize("version", [4, 6])
def test_a_path_that_becomes_narrower_carries_the_rest(version: int) -> None:
    """What is under way then is larger than the path, and arrives in fragments (RFC 8899, 4.3).
    Over IPv4 the router makes them, and the sender does not know; over IPv6 the sender's system
    does, once the router has said so."""
    with path(f"{version}n", Narrow(1500, says_so=version == 6)) as hosts, hosts.serving():
        sent = hosts.start(_target(version), "--seconds", "6", "-b", "4 Mbit/s", "--json")
        hosts.until_sent(500_000)
        hosts.narrow_to(1280)
        out, errors = sent.communicate(timeout=PATIENCE_S)
    assert sent.returncode == 0, errors + out
    (stream,) = json.loads(out)["transfers"][0]["streams"]
    assert stream["verified"]
    connection = stream["connection"]
    if version == 6:
        assert connection["timeouts"] >= 2
        assert connection["packet_bytes"] + 20 <= 1280 - 48
    else:
        assert connection["packet_bytes"] + 20 > 1280 - 28


@pytest.mark.parametrize(
    ("version", "kind"), [(4, "prohibit"), (6, "prohibit"), (4, "unreachable")]
)
def test_an_error_of_one_packet_is_of_its_destination(version: int, kind: str) -> None:
    """A server answers callers whom the router says to be out of reach (`EHOSTUNREACH`, over IPv6
    `EACCES`): the others go on."""
    with path(f"{version}{kind[0]}e", Narrow(1500)) as hosts, hosts.serving() as server:
        forged = hosts.out_of_reach(version, kind)
        sent = hosts.start(_target(version), "--seconds", "3", "-b", "2 Mbit/s", "--json")
        with forged:
            for number in range(60):
                # A SYN (BEP 29) with an id of its own.
                syn = bytes([0x41, 0]) + (10 * number).to_bytes(2, "big") + bytes(16)
                forged.sendto(syn, (RECEIVER[version], 5299))
                time.sleep(0.05)
        out, errors = sent.communicate(timeout=PATIENCE_S)
        assert server.poll() is None, "the server has ended"
    assert sent.returncode == 0, errors + out
    assert json.loads(out)["transfers"][0]["streams"][0]["verified"]
