"""An upload controller beside a client of a swarm: it crashes, it goes with its client."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.clients.testbed import go_on, loopback, needs, plan, until
from tests.engines import plans

from flashcrowd.client_api.libtorrent import Libtorrent as Interface
from flashcrowd.clients import ClientFailed, Swarm, tables
from flashcrowd.clients.libtorrent import Libtorrent

CONTROL = {"name": "autolimit", "reflector": "p1", "start_spread": "0 s"}


def a_swarm(folder: Path, **seed: Any) -> Swarm:
    made = plan(
        {"role": "seed", "upload_control": CONTROL, "profile": "libtorrent", **seed},
        {"profile": "libtorrent", "upload": "0 B/s"},
        size="16 MB",
    )
    return Swarm(plans.made(made), 0, 1, loopback(3), folder)


def controllers() -> list[threading.Thread]:
    return [it for it in threading.enumerate() if it.name == "flashcrowd-upload-controller"]


def test_it_goes_with_its_client_and_is_told_of_in_rows(tmp_path: Path) -> None:
    needs("libtorrent")
    swarm = a_swarm(tmp_path / "s")
    try:
        swarm.prepare()
        swarm.begin(time.monotonic())
        seed = swarm.peers[0]
        until(swarm, lambda: seed.controller is not None and len(seed.controller.rows) > 1)
        assert controllers()
        swarm.stop()
        until(swarm, lambda: not controllers())
        assert seed.controller is not None
        assert not seed.controller.failure
        rows = tables.rows(swarm)["control"]
        assert [row["host"] for row in rows] == ["h0"] * len(rows)
        assert [row["t_s"] for row in rows] == sorted(row["t_s"] for row in rows)
        # It begins with little, whatever the user's limit is.
        assert 0 < rows[-1]["limit_bps"] < 1_000_000
    finally:
        swarm.close()


def test_one_that_crashes_fails_the_run_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("libtorrent")

    class Broken(Interface):
        asked = 0

        def read(self) -> Any:
            self.asked += 1
            if self.asked > 2:
                raise ValueError("the counters are gone")
            return super().read()

    monkeypatch.setattr(Libtorrent, "interface", lambda self: Broken(self._session))
    swarm = a_swarm(tmp_path / "s")
    try:
        swarm.prepare()
        swarm.begin(time.monotonic())
        with pytest.raises(ClientFailed) as failed:
            go_on(swarm, 30.0)
    finally:
        swarm.close()
    assert not controllers()
    said = str(failed.value)
    assert said.startswith(
        "libtorrent on h0: upload controller autolimit: ValueError: the counters"
    )
    assert "controller.py" in said or "loop.py" in said
