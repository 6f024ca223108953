"""`flashcrowd schema`."""

from __future__ import annotations


def schema() -> None:
    """Print the JSON Schema of study files, for editors that complete and check them."""
    import json

    from flashcrowd.study.schema import study_schema

    print(json.dumps(study_schema(), indent=2, ensure_ascii=False))
