"""What a part keeps is what it says: power may fail at any instant, and a disk be full."""

import errno
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from flashcrowd.download import Unusable
from flashcrowd.download import part as parts
from flashcrowd.download.part import Part, Source
from flashcrowd.http.fields import Validator

LENGTH = 4000


@pytest.mark.parametrize("seed", range(20))
def test_the_note_names_nothing_that_was_not_flushed(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that forgets what was not flushed, and puts names in their places at once."""
    draw = random.Random(seed)
    part = Part(tmp_path / "big.iso")
    flushed: set[int] = set()
    written: set[int] = set()
    noted: list[set[int]] = []
    fdatasync, replace, pwrite = os.fdatasync, os.replace, os.pwrite

    def flush(fd: int) -> None:
        if fd == part.fd:
            flushed.update(written)
        fdatasync(fd)

    def put(fd: int, data: Any, at: int) -> int:
        count = pwrite(fd, data[: draw.randint(1, len(data))], at)
        written.update(range(at, at + count))
        return count

    def rename(old: Any, new: Any) -> None:
        if Path(new) == part.note:
            had = json.loads(Path(old).read_text())["had"]
            noted.append({byte for begin, end in had for byte in range(begin, end)})
            assert noted[-1] <= flushed
        replace(old, new)

    monkeypatch.setattr(parts.os, "fdatasync", flush)
    monkeypatch.setattr(parts.os, "pwrite", put)
    monkeypatch.setattr(parts.os, "replace", rename)
    part.begin(Source("http://a/big.iso", Validator('"1"', strong=True), LENGTH))
    for _ in range(30):
        match draw.randrange(4):
            case 0:
                part.keep()
            case 1:
                begin = draw.randrange(LENGTH)
                part.drop(begin, begin + draw.randrange(LENGTH - begin))
            case 2 if draw.random() < 0.2:
                part.forget(Source("http://a/big.iso", Validator('"2"', strong=True), LENGTH))
                flushed.clear()
                written.clear()
            case _:
                begin = draw.randrange(LENGTH)
                part.write(begin, bytes(draw.randint(1, LENGTH - begin)))
    part.close()
    kept = {byte for begin, end in part.ranges for byte in range(begin, end)}
    assert noted
    assert noted[-1] == kept or not kept


@pytest.mark.parametrize(
    ("length", "validator", "kept"),
    [
        (LENGTH, Validator('"1"', strong=True), True),
        (None, Validator('"1"', strong=True), False),
        (LENGTH, Validator(), False),
    ],
)
def test_a_full_disk_says_whether_the_next_call_goes_on(
    length: int | None,
    validator: Validator,
    kept: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(fd: int, data: Any, at: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    part = Part(tmp_path / "big.iso")
    part.begin(Source("http://a/big.iso", validator, length))
    part.write(0, b"some bytes")
    monkeypatch.setattr(parts.os, "pwrite", full)
    with pytest.raises(Unusable, match="it goes on" if kept else "it begins anew, as the server"):
        part.write(100, b"more")
    part.close()
    assert part.note.exists() == kept
    with_what_came = Part(tmp_path / "big.iso")
    with_what_came.resume(["http://a/big.iso"])
    assert with_what_came.ranges.bytes == (10 if kept else 0)
    with_what_came.close()
