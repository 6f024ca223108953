"""The digest of a plan: equal for two plans that give the same tables for the same seed."""

from __future__ import annotations

import hashlib
import json

DIGITS = 16


def digest(plan_json: str) -> str:
    """Digest of what a plan does, in hexadecimal digits.

    SHA-256 of the plan as JSON with sorted keys and without spaces, cut to 64 bits. Its title does
    not count, nor does how it is written.
    """
    plan = json.loads(plan_json)
    plan.pop("title", None)
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
