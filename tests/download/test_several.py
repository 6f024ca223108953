"""`flashcrowd fetch` with several files, lists of addresses, and mirrors."""

import hashlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.console import Console
from tests.download.servers import BLOCK, DATE, Behaviour, Server, content, serving
from tests.download.test_command import HERE, status, until

import flashcrowd
from flashcrowd.download import FetchError, Progress
from flashcrowd.download.voice import BatchPosition, Voice
from flashcrowd.download.wanted import read_list

DATA = content(9 * BLOCK + 5)
OTHER = content(9 * BLOCK + 5, seed=2)


def at(server: Server, name: str) -> str:
    return server.url.replace("/file", f"/{name}")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_several_files_come_one_after_the_other(here: Path, capsys):
    with serving(Behaviour(data=DATA)) as server:
        Path("into").write_text("a file")
        assert status(at(server, "a"), at(server, "b%20c"), "-d", "into") == 2
        assert capsys.readouterr().err.startswith("into: cannot be made (File exists); ")
        Path("into").unlink()
        assert status(at(server, "a"), at(server, "b%20c"), "-d", "into") == 0
    assert [Path("into", it).read_bytes() == DATA for it in ("a", "b c")] == [True, True]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("into/a: 590 kB; ")
    assert re.fullmatch(r"2 of 2 files fetched: 1\.18 MB in .*, .*B/s\.", lines[-1])


def test_a_failure_keeps_no_other_file_away_and_is_named_at_the_end(here: Path, capsys):
    with serving(Behaviour(data=DATA)) as good, serving(Behaviour(head=404)) as bad:
        bad.does.statuses = [404] * 9
        assert status(at(good, "a"), at(bad, "b"), at(good, "c"), "--json") == 2
        out, err = capsys.readouterr()
        said = [json.loads(line) for line in out.splitlines()]
        assert [it["path"] for it in said] == ["a", "b", "c"]
        assert ["error" in it for it in said] == [False, True, False]
        assert said[1]["status"] == 2
        assert err.splitlines()[-2].startswith("2 of 3 files fetched: 1.18 MB in ")
        assert err.splitlines()[-2].endswith("; 1 failed:")
        assert err.splitlines()[-1] == f"  {at(bad, 'b')}"
        # One that another try may bring counts before one that none does.
        good.does.cuts = [0] * 99
        assert status(at(bad, "b"), at(good, "d"), "--tries", "2", "-q") == 1
    assert sorted(it.name for it in here.iterdir()) == ["a", "c"]


def test_a_name_clash_is_an_error_before_anything_starts(here: Path, capsys):
    with serving(Behaviour(data=DATA)) as server:
        for one, other, line in [
            ("a", "x/a?y", "both would write a; fetch one of them alone, with -o"),
            ("a", "x/a.part", "both would write a.part"),
            ("a.part.json", "a", "both would write a.part.json"),
            ("a", "a", "is named twice; name it once"),
        ]:
            assert status(at(server, "z"), at(server, one), at(server, other)) == 2
            assert line in capsys.readouterr().err
        assert server.does.seen == []
    assert list(here.iterdir()) == []


def test_options_of_one_file_are_refused_for_several(here: Path, capsys):
    two = ["http://host/a", "http://host/b"]
    for words in (["-o", "x"], ["--sha256", "0" * 64], ["--mirror", "http://host/c"]):
        assert status(*two, *words) == 2
        assert f"{words[0]}: is for one file, and 2 are wanted" in capsys.readouterr().err
    assert status("http://host/a", "-o", "x", "-d", "y") == 2
    assert "-o and -d" in capsys.readouterr().err
    assert status() == 2
    assert "no address; give one like" in capsys.readouterr().err


def test_a_list_names_files_and_their_digests(here: Path, capsys, monkeypatch):
    good, bad = hashlib.sha256(DATA).hexdigest(), "0" * 64
    with serving(Behaviour(data=DATA)) as server:
        text = f"# a list\n\n  {at(server, 'a')}   {good.upper()}\n{at(server, 'b')} {bad}\n"
        Path("list").write_text(text)
        assert status("--from", "list", "--tries", "1") == 1
        assert "which is not the one that was given" in capsys.readouterr().err
        said = io.TextIOWrapper(io.BytesIO(f"{at(server, 'c')}\n".encode()))
        monkeypatch.setattr(sys, "stdin", said)
        assert status(at(server, "d"), "-i", "-", "-q") == 0
    assert all(Path(it).read_bytes() == DATA for it in ("a", "c", "d"))
    assert not Path("b").exists()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("http://host/a\nftp://host/b\n", "list, line 2: ftp://host/b: ftp: is not spoken here"),
        ("http://host/a b.iso\n", "list, line 1: 'http://host/a b.iso': is no address"),
        ("http://host/a 123\n", "did you mean 'http://host/a%20123' ?"),
        ("# nothing\n", "list: has no address in it"),
        ("0" * 64 + "  a.iso\n", "list, line 1: a.iso: has no address; name its folder: --base"),
        ("SHA256 (a.iso) = " + "0" * 64, "or give --from the address of the list"),
        ("# sums\n" + "0" * 32 + " *a.iso\n", "list, line 2: has a digest of another kind"),
        ("0" * 128 + "  a.iso\n", "only SHA-256 is known, as sha256sum makes it"),
        ("SHA3-256 (a.iso) = " + "0" * 64, "has a digest of another kind"),
        ("0" * 64 + "  ../a.iso\n", "../a.iso: is no name of a file beside the list"),
        ("0" * 64 + "  sub/\n", "sub/: is no name of a file beside the list"),
        ("0" * 64 + " */etc/a\n", "/etc/a: is no name of a file beside the list"),
        ("\\" + "0" * 64 + "  a\\nb\n", "is no name of a file beside the list"),
        ('<?xml version="1.0"?>', "is no address; one is like"),
        ("\udcff", "list: is no text in UTF-8"),
        (None, "list: No such file or directory"),
    ],
)
def test_a_list_that_cannot_be_is_one_line_and_status_2(text, line, here: Path, capsys):
    if text is not None:
        Path("list").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert status("--from", "list") == 2
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1


def test_a_list_of_digests_names_the_files_beside_it(here: Path, capsys):
    good, bad = hashlib.sha256(DATA).hexdigest(), "0" * 64
    text = f"{good}  a\n{good.upper()} *./sub/b c\nSHA256 (d) = {good}\n{bad}  e\n"
    paths = ["/dir/a", "/dir/sub/b%20c", "/dir/d", "/dir/e"]
    names = ["a", "d", "sub/b c"]
    with serving(Behaviour(data=text.encode())) as sums, serving(Behaviour(data=DATA)) as server:
        # The list is at one server here, and the files are at another.
        base = at(server, "dir")
        assert status("--from", at(sums, "SHA256SUMS"), "--base", base, "--tries", "1") == 1
        assert "e: has the SHA-256" in capsys.readouterr().err
        assert sorted(str(it.relative_to(here)) for it in here.rglob("[abcd]*")) == names
        assert {path for _, path, _ in server.does.seen if "?" not in path} == set(paths)
        for name in names:
            Path(name).unlink()
        Path("SHA256SUMS").write_text(f"{good}  a\n")
        assert status("-i", "SHA256SUMS", "--base", f"{base}/", "-q") == 0
        assert Path("a").read_bytes() == DATA
        seen = len(server.does.seen)
        assert status("--base", base, at(server, "a")) == 2
        assert "--base: is for the files of a list" in capsys.readouterr().err
        assert len(server.does.seen) == seen


def test_a_list_of_digests_keeps_its_folders(here: Path, capsys):
    good = hashlib.sha256(DATA).hexdigest()
    names = ["one/a.bin", "two/deep/a.bin"]
    text = "".join(f"{good}  ./{name}\n" for name in names)
    Path("SHA256SUMS").write_text(text)
    with serving(Behaviour(data=DATA)) as server:
        assert status("--from", "SHA256SUMS", "--base", at(server, "dir"), "-d", "to") == 0
        assert status("--from", "SHA256SUMS", "--base", at(server, "dir"), "-d", "to") == 0
        assert capsys.readouterr().err.count(": already here, SHA-256 matches\n") == 2
        Path("to/three").write_text("in the way")
        Path("SHA256SUMS").write_text(f"{good}  three/a.bin\n")
        assert status("--from", "SHA256SUMS", "--base", at(server, "dir"), "-d", "to") == 2
        assert "to/three: cannot be made (File exists)" in capsys.readouterr().err
    check = ["sha256sum", "-c"]
    done = subprocess.run(check, input=text, cwd="to", text=True, capture_output=True, check=True)
    assert done.stdout == "".join(f"./{name}: OK\n" for name in names)


def test_the_names_of_a_list_are_beside_its_address(here: Path):
    text = f"{'A' * 64}  a.iso\n"
    beside = read_list(text, "list", "https://me@mirror:8443/dir/SHA256SUMS?x=/y")
    assert beside == [("https://me@mirror:8443/dir/a.iso", "A" * 64, "a.iso")]


def test_a_list_at_an_address_is_fetched_first(here: Path, capsys):
    with serving(Behaviour(data=DATA)) as server:
        listed = f"{at(server, 'a')}\n".encode()
        with serving(Behaviour(data=listed)) as lists:
            assert status("--from", at(lists, "list"), "-q") == 0
        assert Path("a").read_bytes() == DATA
        assert status("--from", at(server, "list"), "-q") == 2
        assert "is no text in UTF-8" in capsys.readouterr().err
        with serving(Behaviour(statuses=[404], head=404)) as lists:
            assert status("--from", at(lists, "list")) == 2
            assert "list: is not there (404)" in capsys.readouterr().err


def test_a_list_from_another_system_is_read():
    digest = "A" * 64
    text = f"\ufeffhttp://host/a\r\nhttp://host/b\t{digest}\r\n"
    assert read_list(text, "list") == [
        ("http://host/a", None, None),
        ("http://host/b", digest, None),
    ]


def test_what_is_there_is_skipped_by_wish_and_checked_if_its_digest_is_known(here: Path, capsys):
    digest = hashlib.sha256(DATA).hexdigest()
    Path("a").write_bytes(DATA)
    with serving(Behaviour(data=DATA)) as server:
        assert status(at(server, "a"), at(server, "b")) == 2
        assert "a: is there already; --overwrite replaces it" in capsys.readouterr().err
        assert Path("b").read_bytes() == DATA
        assert status(at(server, "a"), "--skip-existing") == 0
        assert "a: already here, not checked\n" in capsys.readouterr().err
        Path("list").write_text(f"{at(server, 'a')} {digest}\n")
        assert status("-i", "list", "--skip-existing") == 0
        assert "a: already here, SHA-256 matches\n" in capsys.readouterr().err
        Path("a").write_bytes(OTHER)
        assert status("-i", "list", "--skip-existing") == 2
        assert "; --overwrite fetches it anew\n" in capsys.readouterr().err
        assert status("-i", "list", "--skip-existing", "--overwrite") == 0
    assert Path("a").read_bytes() == DATA


def test_the_same_command_again_is_done_where_the_digests_are_right(here: Path, capsys):
    digest = hashlib.sha256(DATA).hexdigest()
    does = Behaviour(data=DATA)
    with serving(does) as server:
        Path("list").write_text(f"{at(server, 'a')} {digest}\n{at(server, 'b')} {digest}\n")
        Path("a").write_bytes(DATA)
        assert status("-i", "list") == 0
        err = capsys.readouterr().err
        assert err.startswith("a: already here, SHA-256 matches\n")
        assert re.search(r"\n1 of 2 files fetched: 590 kB in .*/s; 1 was there\.\n$", err)
        seen = len(does.seen)
        assert status("-i", "list", "--json") == 0
        said = capsys.readouterr()
        assert said.err.endswith(
            "b: already here, SHA-256 matches\n0 of 2 files fetched; 2 were there.\n"
        )
        assert [json.loads(line)["how"] for line in said.out.splitlines()] == ["already here"] * 2
        assert len(does.seen) == seen
        does.data = b""
        Path("list").write_text(f"{at(server, 'a')} {digest}\n{at(server, 'empty')}\n")
        assert status("-i", "list") == 0
        assert capsys.readouterr().err.endswith(
            "\n1 of 2 files fetched: nothing was left to transfer; 1 was there.\n"
        )
        Path("a").write_bytes(OTHER)
        assert status("-i", "list") == 2
    assert "a: is there already with the SHA-256" in capsys.readouterr().err
    assert Path("a").read_bytes() == OTHER


@pytest.mark.parametrize(
    "says",
    [{"repr_digest": True}, {"reorders": True, "digests": True, "computing": 1}, {"given": True}],
)
def test_one_file_that_is_there_is_done_by_the_digest_that_is_known(says, here: Path, capsys):
    given = says.pop("given", False)
    words = ["--sha256", hashlib.sha256(DATA).hexdigest().upper()] if given else []
    does = Behaviour(data=DATA, **says)
    Path("a").write_bytes(DATA)
    with serving(does) as server:
        assert status(at(server, "a"), *words) == 0
        by = "SHA-256" if given else "the server's digest"
        assert capsys.readouterr().err == f"a: already here, {by} matches\n"
        Path("a").write_bytes(OTHER)
        assert status(at(server, "a"), *words) == 2
        err = capsys.readouterr().err
        assert ("which is not the one that was given" if given else "than the server's; ") in err
        Path("a").unlink()
        os.mkfifo("a")
        assert status(at(server, "a"), *words) == 2
        assert "a: is there already; " in capsys.readouterr().err
    assert not does.gets()


@pytest.mark.parametrize("given", [[], ["--overwrite"]])
def test_ctrl_c_names_the_command_that_goes_on_with_the_rest(given, here: Path):
    does = Behaviour(data=DATA, rate=1e6)
    with serving(does) as server:
        words = [*HERE, at(server, "a"), at(server, "b"), at(server, "c"), *given]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=here) as process:
            until(lambda: (here / "b.part").exists() and len(does.gets()) > 1)
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "1 of 3 files are there.\n" in err
        assert err.endswith(" --overwrite\n" if given else " --skip-existing\n")
        does.rate = 0
        words = shlex.split(err.rpartition(" with: flashcrowd ")[2], posix=True)
        words = [*HERE[:-1], *words]
        again = subprocess.run(words, stderr=subprocess.PIPE, text=True, cwd=here, check=True)
    assert all((here / it).read_bytes() == DATA for it in "abc")
    kept = re.search(r"b.part keeps (.*?) of ", err)
    assert kept
    assert f"; {kept[1]} were there; " in again.stderr


def test_a_terminal_shows_each_file_and_all():
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=120, color_system=None)
    with Voice("x", place=BatchPosition(2, 5, 7_000_000, 2.0), console=console) as voice:
        voice.watch(Progress(Path("x"), 5_000_000, 10_000_000, 1_000_000, 2.0, 2.5e6, True))
    assert "[2/5] x" in shown.getvalue()
    assert "1 of 5 files, 8 MB, 2 MB/s" in shown.getvalue()


def test_an_order_that_is_lost_on_the_way_is_told_once(here: Path):
    does = Behaviour(data=DATA, extra={"Vary": "Prefer"}, cuts=[4 * BLOCK])
    said, gets = mirrored(here, does, tries=8)
    assert (here / "file").read_bytes() == DATA
    assert len(gets[0]) > 1
    assert sum("may speak HTTP/1.0" in it for it in said) == 1


# Mirrors of one file.


def mirrored(here: Path, first: Behaviour, *others: Behaviour, **wish) -> tuple[list[str], list]:
    """What a call said, and what each server was asked."""
    said: list[str] = []
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(it)) for it in (first, *others)]
        flashcrowd.fetch(
            servers[0].url,
            here / "file",
            mirrors=[it.url for it in servers[1:]],
            tell=said.append,
            **{"tries": 2, **wish},
        )
    return said, [it.gets() for it in (first, *others)]


def test_a_mirror_of_the_same_tag_goes_on_where_the_first_one_broke_off(here: Path):
    first = Behaviour(data=DATA, cuts=[5 * BLOCK, 0, 0])
    said, gets = mirrored(here, first, Behaviour(data=DATA))
    assert (here / "file").read_bytes() == DATA
    assert any("goes on at http://127.0.0.1:" in it for it in said)
    assert not any("anew" in it for it in said)
    assert gets[1][0]["range"] == f"bytes={5 * BLOCK}-{len(DATA) - 1}"


def test_a_remedy_for_one_address_is_not_said_where_another_is_asked(here: Path):
    first = Behaviour(data=DATA, statuses=[404] * 9, head=404)
    said, _ = mirrored(here, first, Behaviour(data=DATA))
    assert (here / "file").read_bytes() == DATA
    assert re.fullmatch(r"http://\S+: is not there \(404\); goes on at http://\S+", said[0])


def test_a_mirror_of_the_same_digest_goes_on_though_its_tag_is_another(here: Path):
    first = Behaviour(data=DATA, cuts=[5 * BLOCK, 0, 0], repr_digest=True)
    said, gets = mirrored(here, first, Behaviour(data=DATA, etag='"x"', repr_digest=True))
    assert (here / "file").read_bytes() == DATA
    assert not any("anew" in it for it in said)
    assert gets[1][0]["range"].startswith(f"bytes={5 * BLOCK}-")


@pytest.mark.parametrize(
    "mirror",
    [
        Behaviour(data=OTHER, etag='"x"'),
        Behaviour(data=OTHER, etag="", date=DATE),
        Behaviour(data=OTHER, etag='"x"', repr_digest=True),
        Behaviour(data=OTHER, etag='"x"', head=405),
        Behaviour(data=OTHER, etag="", date=DATE, head=405, silent_ranges=True),
    ],
)
@pytest.mark.parametrize("dated", [False, True])
def test_a_mirror_that_proves_nothing_begins_anew(mirror: Behaviour, dated: bool, here: Path):
    first = Behaviour(data=DATA, cuts=[5 * BLOCK] + [0] * 20, repr_digest=True)
    if dated:
        first.etag, first.date = "", DATE
    said, _ = mirrored(here, first, mirror)
    assert (here / "file").read_bytes() == OTHER
    assert any("anew" in it for it in said)


def test_a_mirror_that_proves_nothing_waits_while_the_first_one_may_come_back(here: Path):
    first = Behaviour(data=DATA, cuts=[5 * BLOCK, 0, 0])
    other = Behaviour(data=OTHER, etag='"x"')
    mirrored(here, first, other, tries=8)
    assert (here / "file").read_bytes() == DATA
    assert other.gets() == []


def test_with_a_digest_any_mirror_goes_on_and_a_wrong_one_is_left(here: Path):
    digest = hashlib.sha256(DATA).hexdigest()
    first = Behaviour(data=DATA, cuts=[5 * BLOCK] + [0] * 20)
    mirrored(here, first, Behaviour(data=DATA, etag='"x"'), sha256=digest)
    assert (here / "file").read_bytes() == DATA
    (here / "file").unlink()
    said, _ = mirrored(here, Behaviour(data=OTHER), Behaviour(data=DATA), sha256=digest)
    assert (here / "file").read_bytes() == DATA
    assert any("has the SHA-256" in it and "goes on at" in it for it in said)


def test_a_mirror_takes_the_place_of_one_that_has_no_such_file_or_is_not_there(here: Path):
    gone = Behaviour(head=404, statuses=[404] * 5)
    mirrored(here, gone, gone, Behaviour(data=DATA))
    assert (here / "file").read_bytes() == DATA
    with serving(Behaviour(data=DATA)) as server:
        nobody = "http://127.0.0.1:1/file"
        words = [nobody, "--mirror", server.url, "-o", str(here / "x"), "-q"]
        assert status(*words) == 0
        assert status(nobody, "--mirror", nobody, "-o", str(here / "y"), "--tries", "1") == 1


def test_each_mirror_is_counted_alone_and_the_one_that_is_next_is_named(here: Path):
    urls = ["http://127.0.0.1:1/file", "http://127.0.0.1:2/file"]
    said: list[str] = []
    with pytest.raises(FetchError, match=r":2/file: .*refused.* \(3 times in a row\)"):
        flashcrowd.fetch(urls[0], here / "file", mirrors=urls[1:], tell=said.append)
    # Three tries at each, in turn; one that has not failed yet is asked at once.
    shown = [re.sub(r"[\d.]+ s$", "? s", it.partition("; ")[2]) for it in said]
    assert shown == [
        f"goes on at {urls[1]}",
        f"goes on at {urls[0]} in ? s",
        f"goes on at {urls[1]}",
        f"goes on at {urls[0]} in ? s",
        f"goes on at {urls[1]}",
    ]
    assert "(3 times in a row)" in said[-1]


def test_the_next_call_goes_on_at_the_mirror_that_it_came_from(here: Path):
    first, other = Behaviour(statuses=[404] * 5, head=404), Behaviour(data=DATA)
    other.cuts = [5 * BLOCK] + [0] * 20
    with serving(first) as one, serving(other) as two:
        call = [one.url, "--mirror", two.url, "-o", str(here / "file"), "--tries", "2"]
        assert status(*call) == 1
        other.cuts = []
        first.seen.clear()
        assert status(*call) == 0
        assert first.seen == []
    assert (here / "file").read_bytes() == DATA
    assert other.gets()[-1]["range"].startswith(f"bytes={5 * BLOCK}-")


def test_a_mirror_gets_no_fields_of_the_first_address(here: Path):
    first, other = Behaviour(head=404, statuses=[404] * 5), Behaviour(data=DATA)
    mirrored(here, first, other, headers={"X-Key": "secret"})
    assert all("x-key" not in asked for _, _, asked in other.seen)
    assert all("x-key" in asked for _, _, asked in first.seen)
