"""A study of a small swarm, for tests of commands."""


def swarm(leechers: str, *, hosts: int, size: str, repeats: int) -> str:
    """A seed and its leechers over a path with loss, with two round-trip times.

    Args:
        leechers: name of the leechers' group and population.
        hosts: how many there are.
        size: of the file.
        repeats: runs of each point.
    """
    return f"""
format = 1
title = "Small"
repeats = {repeats}
[network]
rtt = "20 ms"
loss = "1 %"
[network.groups.seed]
[network.groups.{leechers}]
hosts = {hosts}
[workloads.swarm]
kind = "swarm"
size = "{size}"
[workloads.swarm.populations.seed]
role = "seed"
group = "seed"
upload = "100 KiB/s"
[workloads.swarm.populations.{leechers}]
group = "{leechers}"
upload = "100 KiB/s"
[sweep]
network.rtt = ["20 ms", "200 ms"]
"""
