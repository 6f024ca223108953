from pathlib import Path

import pytest
from tests.clients import testbed

from flashcrowd.clients import ClientFailed
from flashcrowd.store.schema import ENGINE_TABLES

pytest.importorskip("libtorrent", reason="pip install 'flashcrowd[emulation]'")

SEED = {"name": "seed", "role": "seed"}
AT_ONCE = {"spread": "0 s"}


def test_three_leechers_have_the_file_and_the_tables_say_when(tmp_path: Path):
    plan = testbed.plan(
        {**SEED, "upload": "2 MB/s"},
        {"name": "crowd", "hosts": 3, "upload": "2 MB/s", "arrivals": {"spread": "0.5 s"}},
        measures={"have": True, "pieces": "1 s", "series": {"completed": "0.5 s"}},
    )
    swarm = testbed.play(plan, testbed.loopback(5), tmp_path / "run")
    rows = swarm.rows()
    downloads = rows["downloads"]
    assert [row["host"] for row in downloads] == ["h1", "h2", "h3"]
    assert sorted(row["peer"] for row in downloads) == [1, 2, 3]
    for row in downloads:
        assert 0 <= row["arrived_s"] < row["completed_s"] < 60
        assert row["duration_s"] == pytest.approx(row["completed_s"] - row["arrived_s"])
        assert row["downloaded_bytes"] >= 2_000_000
        assert row["pieces"] == 31
    seed, crowd = rows["populations"]
    assert (seed["role"], seed["peers"], seed["completed"]) == ("seed", 1, 0)
    assert (crowd["role"], crowd["peers"], crowd["completed"]) == ("leecher", 3, 3)
    # What one sends another receives.
    sent = seed["uploaded_bytes"] + crowd["uploaded_bytes"]
    assert sent == pytest.approx(crowd["downloaded_bytes"], rel=0.05)
    assert len(rows["have"]) == 3 * 31
    assert not (tmp_path / "run").exists()


def test_the_columns_are_those_of_the_tables(tmp_path: Path):
    plan = testbed.plan(
        SEED,
        {"name": "crowd", "arrivals": AT_ONCE},
        measures={"have": True, "pieces": "100 ms", "series": {"online": "100 ms"}},
        size="20 MB",
    )
    rows = testbed.play(plan, testbed.loopback(3), tmp_path / "run").rows()
    for name in ("downloads", "populations", "pieces", "have", "series"):
        columns = [column.name for column in ENGINE_TABLES[name].columns]
        assert rows[name], name
        assert all(list(row) == columns for row in rows[name])


def test_a_limit_holds_on_addresses_that_look_local(tmp_path: Path):
    plan = testbed.plan(
        {**SEED, "upload": "500 kB/s"}, {"name": "crowd", "arrivals": AT_ONCE}, size="1 MB"
    )
    (row,) = testbed.play(plan, testbed.loopback(3), tmp_path / "run").rows()["downloads"]
    # The limiter may begin with what it had saved up.
    assert row["duration_s"] > 1.0


def test_who_has_the_file_leaves_and_is_replaced(tmp_path: Path):
    plan = testbed.plan(
        SEED,
        {"name": "crowd", "arrivals": AT_ONCE, "departure": "at-once", "replace": True},
        swarm={"stop_after": 3},
    )
    rows = testbed.play(plan, testbed.loopback(3), tmp_path / "run").rows()["downloads"]
    done = [row for row in rows if row["completed_s"] is not None]
    assert len(done) == 3
    assert {row["host"] for row in rows} == {"h1"}
    for one, other in zip(done, rows[1:], strict=False):
        assert one["completed_s"] <= one["left_s"] <= other["arrived_s"]


def test_a_wrong_file_fails_the_swarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from flashcrowd.clients import swarm as module

    right = module.Swarm._verify

    def damage(self: module.Swarm) -> None:
        client = self.peers[1].client
        assert client is not None
        with client.job.content.open("r+b") as file:
            file.seek(1_000_000)
            file.write(b"not what the torrent says")
        right(self)

    monkeypatch.setattr(module.Swarm, "_verify", damage)
    plan = testbed.plan(SEED, {"name": "crowd", "arrivals": AT_ONCE})
    with pytest.raises(ClientFailed, match=r"libtorrent on h1: .*1 of 31 pieces are wrong"):
        testbed.play(plan, testbed.loopback(3), tmp_path / "run")


def test_each_in_a_namespace_of_its_own(tmp_path: Path):
    with testbed.bridged(4) as places:
        plan = testbed.plan(SEED, {"name": "crowd", "hosts": 2, "arrivals": AT_ONCE})
        swarm = testbed.play(plan, places, tmp_path / "run")
    assert swarm.completed == 2
