"""The playground's scenes, scripts and compiled engine, as tests need them."""

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/playground"
MODULE = "wasm32-unknown-unknown/release/flashcrowd_playground.wasm"

Node = Callable[..., Any]


@pytest.fixture(scope="session")
def builder() -> ModuleType:
    """The command that makes the folder."""
    spec = importlib.util.spec_from_file_location("playground_build", PAGE / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def scenes(builder: ModuleType) -> dict[str, dict[str, Any]]:
    """All scenes by name."""
    return {file.stem: builder.scene_of(file) for file in builder.scenes()}


@pytest.fixture(scope="session")
def node() -> Node:
    """Runs JavaScript with the page's scripts: what an async function body returns, as JSON has it.

    The body sees `engine`, `study`, `answer`, and `given`, what is passed.
    """
    found = shutil.which("node")
    if found is None:
        pytest.skip("the playground's scripts are not tested: no node")

    def run(body: str, **given: Any) -> Any:
        script = f"""
        const {{ flashcrowdEngine }} = require({str(PAGE / "engine.js")!r});
        const engine = flashcrowdEngine();
        const {{ flashcrowdStudy: study }} = require({str(PAGE / "study.js")!r});
        const {{ flashcrowdAnswer: answer }} = require({str(PAGE / "answer.js")!r});
        const {{ readFileSync }} = require("node:fs");
        const given = JSON.parse(readFileSync(0, "utf8"));
        (async () => {{ {body} }})().then((it) => process.stdout.write(JSON.stringify(it)));
        """
        done = subprocess.run(
            [found, "-e", script],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def module() -> Path:
    """The engine for the tab, as `make playground` compiles it from these sources."""
    file = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / MODULE
    if not file.exists():
        pytest.skip("the engine in a tab is not tested: `make playground` compiles it")
    newest = max(source.stat().st_mtime for source in ROOT.glob("crates/*/src/**/*.rs"))
    if file.stat().st_mtime < newest:
        pytest.skip("the engine in a tab is not tested: older than its sources, `make playground`")
    return file


@pytest.fixture(scope="session")
def folder(builder: ModuleType, module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The playground, built."""
    folder = tmp_path_factory.mktemp("playground") / "made"
    builder.build(module, folder)
    return folder
