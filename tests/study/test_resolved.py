import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from flashcrowd.study import Study
from flashcrowd.study.schema import study_schema

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))
CHURN = Path(__file__).parents[2] / "studies" / "churn.toml"
VALIDATOR = jsonschema_rs.Draft202012Validator(study_schema())


@pytest.fixture(params=STUDIES, ids=lambda path: path.stem)
def path(request) -> Path:
    return request.param


def test_a_resolved_study_is_the_same_study(path: Path):
    study = Study.load(path)
    text = study.to_toml()
    again = Study.from_dict(tomllib.loads(text))
    assert again.fingerprint() == study.fingerprint()
    assert again.to_toml() == text
    assert json.loads(json.dumps(study.resolved())) == study.resolved()


def test_a_resolved_study_names_every_stack_and_client_that_any_point_uses(path: Path):
    resolved = Study.load(path).resolved()
    used = {
        stack["name"]
        for point in Study.load(path).points()
        for stack in point.plan().data["stacks"]
    }
    assert used <= set(resolved["stacks"])


def test_every_number_of_a_resolved_study_has_its_unit(path: Path):
    def numbers(value: Any, place: str) -> list[str]:
        if isinstance(value, dict):
            return [it for key, below in value.items() for it in numbers(below, f"{place}.{key}")]
        return [place] if isinstance(value, int | float) and not isinstance(value, bool) else []

    counts = {
        "format", "seed", "repeats", "hosts", "flows", "stop_after", "length", "slots", "requests",
        "first", "initial", "min", "max", "numwant", "segments", "quick_acks", "stale_acks",
        "gain", "base_history", "noise_filter", "gain_divisor", "decrease", "slowdown_interval",
        "rto_deviations", "duplicate_acks", "sacked_after", "resends_per_ack", "limit",
        "drop_batch", "users", "connections", "sigma", "tail_shape", "count", "zipf", "queue",
        "reads", "leapfront", "lead_bound", "ahead", "channels", "price",
        "opened_at_once", "opened_per_second",
    }  # fmt: skip
    endings = (
        "_segments", "_packets", "_retries", "_peers", "_pieces", "_rounds", "_uploads", "_queue",
        "_initiate", "_connections", "_reachable", "_growth_min", "_growth_max", "_weight",
        "_ticks", "_failures", "_set", "_factor", "_neighbour", "_datagrams", "_transmissions",
        "_candidates", "_share", "_cutoff", "_entries", "_named", "_suggested",
    )  # fmt: skip
    bare = {place.rpartition(".")[2] for place in numbers(Study.load(path).resolved(), "")}
    assert {key for key in bare if key not in counts and not key.endswith(endings)} == set()


def test_the_schema_accepts_the_studies_as_written_and_as_resolved(path: Path):
    VALIDATOR.validate(tomllib.loads(path.read_text(encoding="utf-8")))
    VALIDATOR.validate(Study.load(path).resolved())


def test_the_schema_is_one_and_refuses_what_it_can_see():
    jsonschema_rs.meta.validate(study_schema())
    document = tomllib.loads(CHURN.read_text(encoding="utf-8"))
    for key, value in [("titel", "x"), ("repeats", 0), ("format", 2)]:
        with pytest.raises(jsonschema_rs.ValidationError):
            VALIDATOR.validate({**document, key: value})
    document["network"]["groups"]["homes"]["hosts"] = "many"
    with pytest.raises(jsonschema_rs.ValidationError):
        VALIDATOR.validate(document)
    del document["format"]
    assert '"format" is a required property' in {
        error.message for error in VALIDATOR.iter_errors(document)
    }


def test_every_key_of_the_schema_is_explained():
    definitions = study_schema()["$defs"]
    silent = [
        f"{name}.{key}"
        for name, definition in definitions.items()
        for key, value in definition.get("properties", {}).items()
        if "description" not in value and "$ref" not in value and key != "kind"
    ]
    assert silent == []


def test_a_study_begins_with_its_question(path: Path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert first.endswith("?")


def test_fingerprints_do_not_depend_on_words_or_spelling():
    study = Study.load(CHURN)
    document = study.resolved()
    assert Study.from_dict({**document, "title": "Other"}).fingerprint() == study.fingerprint()
    document["stop"]["horizon"] = "86400 s"
    assert Study.from_dict(document).fingerprint() == study.fingerprint()
    document["stop"]["horizon"] = "86401 s"
    assert Study.from_dict(document).fingerprint() != study.fingerprint()
    assert Study.load(CHURN, seed=2).fingerprint() != study.fingerprint()


def test_fingerprints_are_the_same_in_another_process():
    code = f"from flashcrowd.study import Study; print(Study.load({str(CHURN)!r}).fingerprint())"
    made = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.strip() == Study.load(CHURN).fingerprint()
