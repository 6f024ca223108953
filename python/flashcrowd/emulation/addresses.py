"""The addresses of the hosts of an emulated network."""

from __future__ import annotations

from ipaddress import IPv4Address

NETWORK = "198.18.0.0/15"
"""The addresses of all hosts (RFC 2544, benchmarks). Clients treat private ranges as a local
network, and ignore their limits there."""

_FIRST = int(IPv4Address("198.18.0.0"))
_PER_BLOCK = 254
MOST_HOSTS = 512 * _PER_BLOCK
"""The number of hosts that have an address: no last number is 0 or 255, which programs may take for
a network's own or a broadcast.
"""


def address(host: int) -> str:
    """The address of the host with this number in the plan.

    Raises:
        ValueError: there are more hosts than addresses.
    """
    if not 0 <= host < MOST_HOSTS:
        raise ValueError(f"host {host}: {NETWORK} has addresses for {MOST_HOSTS} hosts")
    block, place = divmod(host, _PER_BLOCK)
    return str(IPv4Address(_FIRST + 256 * block + place + 1))
