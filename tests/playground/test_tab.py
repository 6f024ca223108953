"""The engine in a tab gives the tables of the engine on this machine, number by number."""

import json
import random
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from tests.playground.conftest import Node
from tests.playground.test_scenes import NAMES, Scenes, places_of

from flashcrowd import _core
from flashcrowd.study import Study, runner
from flashcrowd.study.seeds import seed_of


def native(plan: str, seed: int) -> dict[str, dict[str, list[Any]]]:
    """The tables of the engine on this machine."""
    return {
        name: pa.table(table).to_pydict()
        for name, table in _core.simulate(_core.Plan(plan), seed).items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_run_in_slices_has_the_tables_of_the_command(
    name: str, scenes: Scenes, builder: ModuleType, module: Path, node: Node
) -> None:
    scene, chance = scenes[name], random.Random(name)
    start = [knob["start"] for knob in scene["knobs"]]
    seed = seed_of(1, 0)
    for places in (start, places_of(scene, chance), places_of(scene, chance)):
        body = """
        const module = await WebAssembly.compile(readFileSync(given.module));
        const run = await engine.start(module, study.plan(given.scene, given.places), given.seed);
        let slices = 0;
        while (!run.advance(2.5).ended) slices++;
        return { slices, tables: JSON.parse(run.tables()) };
        """
        found = node(body, module=str(module), scene=scene, places=places, seed=str(seed))
        expected = native(json.dumps(builder.with_knobs(scene, places)), seed)
        assert found["slices"] > 3
        assert found["tables"].keys() == expected.keys()
        for table, columns in expected.items():
            assert list(found["tables"][table].items()) == list(columns.items()), (places, table)


def test_slices_come_while_it_computes_and_a_stop_ends_it(
    scenes: Scenes, module: Path, node: Node
) -> None:
    body = """
    const { gzipSync } = require("node:zlib");
    const said = [], scope = {}, plan = study.plan(given.scene, study.start(given.scene));
    let ended;
    const end = new Promise((resolve) => { ended = resolve; });
    scope.postMessage = (message) => {
      said.push(message);
      /* The first run is stopped at its third slice, and another is asked for. */
      if (said.length === 3) {
        scope.onmessage({ data: { stop: true } });
        scope.onmessage({ data: { id: "second", plan, seed: "5", live: true } });
      }
      if (message.tables || message.wrong) ended();
    };
    engine.serve(scope);
    const { buffer } = new Uint8Array(gzipSync(readFileSync(given.module)));
    scope.onmessage({ data: { packed: buffer } });
    scope.onmessage({ data: { id: "first", plan, seed: "5", live: true } });
    await end;
    return said.map(({ id, slice, tables, end_s, wrong }) => ({ id, now: slice?.now_s, end_s, wrong,
      have: slice?.tables.have?.columns.piece.length, whole: tables?.have.piece.length }));
    """
    said = node(body, module=str(module), scene=scenes["crowd"])
    first, second = ([it for it in said if it["id"] == name] for name in ("first", "second"))
    assert len(first) == 3
    *slices, last = second
    assert len(slices) > 3
    times = [it["now"] for it in slices]
    assert times == sorted(set(times))
    assert last["end_s"] == times[-1]
    assert sum(it.get("have") or 0 for it in slices) == last["whole"] == 20 * 62


def test_a_plan_that_contradicts_itself_is_refused_with_its_place(
    scenes: Scenes, module: Path, node: Node
) -> None:
    plan = json.dumps({**scenes["home"]["plan"], "stop": {"horizon_ns": 0, "stall_ns": 1}})
    body = """
    const module = await WebAssembly.compile(readFileSync(given.module));
    return engine.start(module, given.plan, "1").then(() => "", (error) => error.message);
    """
    assert "stop.horizon_ns" in node(body, module=str(module), plan=plan)


def test_the_folder_is_small_and_loads_nothing_from_elsewhere(folder: Path) -> None:
    files = list(folder.iterdir())
    assert sum(file.stat().st_size for file in files) <= 3_000_000
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "http" not in page
    assert all(f'"{file.name}"' in page for file in files if file.name != "index.html")


@pytest.fixture(scope="session")
def opened(
    folder: Path, node: Node, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """Each scene in a headless Chromium, opened as a file: what the page has in the end."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("the playground in a browser is not tested: no chromium")
    script = """(async () => {
      const text = (id) => document.getElementById(id).textContent, page = flashcrowdPage;
      return { tables: page.tables, plan: page.plan, seeds: page.seeds, study: page.study,
        answer: text("answer"), compared: text("compared"), rows: text("table"),
        notice: text("notice"),
        picture: document.documentElement.dataset.firstPicture,
        wide: document.documentElement.scrollWidth };
    })()"""
    url = (folder / "index.html").as_uri()
    links = {**{name: f"#scene={name}" for name in NAMES}, "wrong": "#scene=home&queue=7+packets"}
    pages = [{"url": url + link, "script": script, "width": 400} for link in links.values()]
    profile = tmp_path_factory.mktemp("chromium")
    given = {"chromium": chromium, "profile": str(profile), "pages": pages}
    driver = Path(__file__).with_name("browser.js")
    done = subprocess.run(
        ["node", str(driver)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(links, json.loads(done.stdout), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_tab_has_the_tables_and_the_numbers_of_the_command(
    name: str, opened: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    page = opened[name]
    assert page["notice"] == ""
    assert len(page["tables"]) == len(page["seeds"]) == 4
    for tables, seed in zip(page["tables"], page["seeds"], strict=True):
        assert tables == native(page["plan"], int(seed))
    file = tmp_path / "study.toml"
    file.write_text(page["study"], encoding="utf-8")
    results = runner.run(Study.load(file), tmp_path / "results")
    runs = results.tables["runs"].to_pylist()
    mine = [row for row in runs if row["point"] == 1]
    assert [row["seed"] for row in mine] == [int(seed) for seed in page["seeds"]]
    assert [row["events"] for row in mine] == [it["run"]["events"][0] for it in page["tables"]]


@pytest.mark.long
def test_the_tab_answers_in_a_sentence_on_a_phone(opened: dict[str, dict[str, Any]]) -> None:
    for name in NAMES:
        page = opened[name]
        assert page["answer"].startswith("When ")
        assert "baseline" in page["compared"]
        assert "4 runs: the 95\u00a0% interval" in page["compared"]
        assert "baseline" in page["rows"]
        assert int(page["picture"]) > 0
        assert page["wide"] <= 400


@pytest.mark.long
def test_a_link_that_the_page_does_not_know_is_named(opened: dict[str, dict[str, Any]]) -> None:
    assert "queue = 7 packets" in opened["wrong"]["notice"]
