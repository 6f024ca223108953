from typing import Any

import pytest

from flashcrowd.cli.values import assignment


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("network.rtt=50 ms", ("network.rtt", "50 ms")),
        ('network.rtt="50 ms"', ("network.rtt", "50 ms")),
        ("a.replace=true", ("a.replace", True)),
        ("a.hosts = 3", ("a.hosts", 3)),
        ('a.group=["x", "y"]', ("a.group", ["x", "y"])),
        ("a.b=c=d", ("a.b", "c=d")),
        ("a.b=1\nc=2", ("a.b", "1\nc=2")),
        ("nothing", None),
        ("=5", None),
    ],
)
def test_assignments_on_the_command_line(text: str, pair: Any):
    assert assignment(text) == pair
