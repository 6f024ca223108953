"""Bencoding (BEP 3), canonical: what torrents and answers of trackers are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Value = int | bytes | str | Sequence["Value"] | Mapping[str, "Value"]


def encode(value: Value) -> bytes:
    """A value as bytes; texts become UTF-8, the keys of dictionaries are sorted.

    Raises:
        TypeError: the value is none of these.
    """
    if isinstance(value, bool):
        raise TypeError("bencoding has no truth values")
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    if isinstance(value, Mapping):
        pairs = sorted((key.encode(), item) for key, item in value.items())
        return b"d" + b"".join(encode(key) + encode(item) for key, item in pairs) + b"e"
    if isinstance(value, Sequence):
        return b"l" + b"".join(map(encode, value)) + b"e"
    raise TypeError(f"bencoding has no {type(value).__name__}")
