"""A scheduler with two worker processes on loopback, once for all tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from distributed import Client
from tests.runner import small

from flashcrowd.cluster.local import local_workers


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with local_workers(2) as found:
        found.wait_for_workers(2, timeout=60)
        yield found


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Eight runs of about 20 ms."""
    path = tmp_path / "small.toml"
    path.write_text(small.swarm("leechers", hosts=8, size="2 MB", repeats=4))
    return path


@pytest.fixture
def long_study(tmp_path: Path) -> Path:
    """Eight runs of about 100 ms."""
    path = tmp_path / "long.toml"
    path.write_text(small.swarm("leechers", hosts=20, size="6 MB", repeats=4))
    return path
