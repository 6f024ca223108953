"""`flashcrowd schema`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter


def schema(
    *,
    plan: Annotated[
        bool,
        Parameter(negative=(), help="That of plans instead, as `flashcrowd plan` writes them."),
    ] = False,
) -> None:
    """Print the JSON Schema of study files, for editors that complete and check them."""
    import json

    if plan:
        from flashcrowd import _core

        made = json.loads(_core.plan_schema())
    else:
        from flashcrowd.study.schema import study_schema

        made = study_schema()
    print(json.dumps(made, indent=2, ensure_ascii=False))
