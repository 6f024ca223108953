"""What the system refuses a command is told in a line, with the limit that may be behind it."""

import errno
import os

import pytest

from flashcrowd import cli
from flashcrowd.base.errors import limit, why
from flashcrowd.base.signals import how_it_ended


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (OSError(errno.EFBIG, "File too large"), "ulimit -f"),
        (BlockingIOError("Resource temporarily unavailable (os error 11)"), "ulimit -u"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (RuntimeError(f"session: {os.strerror(errno.EAGAIN)}"), "ulimit -u"),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (MemoryError(), "ulimit -v"),
    ],
)
def test_a_limit_is_named(
    error: Exception,
    word: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert f"({word})" in why(error)
    assert len(why(error).splitlines()) == 1

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli, "app", refuse)
    assert cli._status([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"({word})" in line


def test_a_mistake_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken() -> None:
        raise KeyError("a name")

    with pytest.raises(KeyError) as raised:
        mistaken()
    assert not limit(raised.value)
    assert "in mistaken" in why(raised.value)
    assert why(PermissionError(errno.EPERM, "not allowed")) == "[Errno 1] not allowed"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (3, "ended with status 3"),
        (-9, "was killed by SIGKILL (out of memory?)"),
        (-11, "crashed: SIGSEGV"),
        (-6, "crashed: SIGABRT"),
        (-15, "was killed by SIGTERM"),
        (-25, "was killed by SIGXFSZ (ulimit -f)"),
        (-40, "was killed by signal 40"),
    ],
)
def test_how_a_process_ended(status: int, words: str) -> None:
    assert how_it_ended(status) == words
