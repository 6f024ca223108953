import time
import tracemalloc
from typing import Any

import pytest

from flashcrowd.base import toml_text
from flashcrowd.base.errors import StudyError
from flashcrowd.cli import main
from flashcrowd.cli.values import assignment, assignments
from flashcrowd.study.read import parse_document


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("network.rtt=50 ms", ("network.rtt", "50 ms")),
        ('network.rtt="50 ms"', ("network.rtt", "50 ms")),
        ("a.replace=true", ("a.replace", True)),
        ("a.hosts = 3", ("a.hosts", 3)),
        ('a.group=["x", "y"]', ("a.group", ["x", "y"])),
        ("a.b=c=d", ("a.b", "c=d")),
        ("a.b=1\nc=2", ("a.b", "1\nc=2")),
        ("nothing", None),
        ("=5", None),
    ],
)
def test_assignments_on_the_command_line(text: str, pair: Any):
    assert assignment(text) == pair


def test_a_path_that_is_set_twice_is_refused():
    with pytest.raises(StudyError) as caught:
        assignments(["network.rtt=50 ms", "network.loss=1 %", "network.rtt=60 ms"])
    (problem,) = caught.value.problems
    assert problem.path == "--set network.rtt"
    assert "60 ms" in problem.value


LONG = "9" * 5_000
MANY = 25_000
DEEP = {
    "a key": "a." * MANY + "a = 1",
    "a key with spaces": "a . " * MANY + "a = 1",
    "a key in quotes": '"a b".' * MANY + "a = 1",
    "a key with quotes in it": r'"a\"b".' * MANY + "a = 1",
    "a key in single quotes": "'a'." * MANY + "a = 1",
    "a table": "[" + "a." * MANY + "a]",
    "a table in a list": "[[" + "a." * MANY + "a]]",
    "a key between braces": "x = { " + "a." * MANY + "a = 1 }",
    "a second key between braces": "x = { y = 1, " + "a." * MANY + "a = 1 }",
    "a key after others": "x = 1\n\t" + "a." * MANY + "a = 1",
    "lists": "x = " + "[" * MANY + "]" * MANY,
    "braces": "x = " + "{ a = " * MANY + "1" + " }" * MANY,
}


def _read(where: str, text: str) -> None:
    if where == "file":
        parse_document(f"format = 1\n{text}", "s.toml")
    name, _, value = text.partition("=")
    assignments([f"x={value}", text if "[" not in name else f"x={text}"])


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("where", ["file", "--set"])
def test_deep_toml_is_refused_at_once(where: str, text: str) -> None:
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(StudyError, match=r"tables and lists at most 50 deep|dotted\.path=value"):
        _read(where, text)
    took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < 5  # it was 21.6 s
    assert peak < 50_000_000  # it was 2.5 GB


@pytest.mark.parametrize(
    "value",
    [LONG, f"-{LONG}", f"[1, {LONG}]", f"{{ a = {LONG} }}", f"+{LONG}", f"0x{LONG}", f"[0x{LONG}]"],
)
def test_a_number_of_too_many_digits_is_refused(value: str) -> None:
    with pytest.raises(StudyError, match="whole numbers of at most 4300 digits") as caught:
        assignments([f"network.rtt={value}"])
    assert len(str(caught.value)) < 500
    assert "network.rtt" in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ["utp", "send", f"127.0.0.1:{LONG}"],
        ["utp", "send", f"::1:{LONG}"],
        ["utp", "send", "127.0.0.1", "--bytes", LONG],
        ["utp", "send", "127.0.0.1", "--bytes", "99999999999999999999"],
        ["utp", "send", "127.0.0.1", "--bitrate", f"{LONG} Mbit/s"],
        ["utp", "send", "127.0.0.1", "--set", f"ledbat.target=0x{LONG}"],
        ["serve", ".", "--memory", LONG],
        ["serve", ".", "--listen", f"127.0.0.1:{LONG}"],
        ["serve", ".", "--trial-disk", f"{LONG} ms, 40 MB/s"],
        ["autolimit", "qbittorrent://127.0.0.1:1", "--line", f"up 0x{LONG} Mbit/s"],
        ["autolimit", "qbittorrent://127.0.0.1:1", "--reflector", f"127.0.0.1:{LONG}"],
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_a_long_number_is_refused_by_each_command(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASHCROWD_AUTOLIMIT_PASSWORD", "x")
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "set_int_max_str_digits" not in "".join(capsys.readouterr())


def test_what_only_looks_deep_is_read() -> None:
    words = ".".join("a" * 60)
    text = f'title = "{words}"\n[a]\nb = """\n about {words}\n"""\n# {words}'
    assert toml_text.loads(text)["title"] == words
