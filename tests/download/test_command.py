"""`flashcrowd fetch`: what a person sees, and the exit status."""

import io
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest
from rich.console import Console
from tests.download.servers import BLOCK, Behaviour, Handler, content, serving

from flashcrowd.cli import main
from flashcrowd.download import Fetched, Progress
from flashcrowd.download.voice import Voice

DATA = content(20 * BLOCK + 777)
HERE = [sys.executable, "-m", "flashcrowd", "fetch"]


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["fetch", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_a_file_comes_under_the_last_part_of_its_address(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with serving(Behaviour(data=DATA, digests=True)) as server:
        url = server.url.replace("/file", "/a%20file?x=/y")
        assert status(url) == 0
        out, err = capsys.readouterr()
        assert Path("a file").read_bytes() == DATA
        assert out == ""
        assert err.startswith("a file: 1.31 MB; 1.31 MB in ")
        assert err.endswith("; verified by the server's digests of its blocks\n")
        assert status(url, "--overwrite", "--json") == 0
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert err == ""
    assert said["bytes"] == len(DATA)
    assert said["verified"] == ["blocks"]
    assert said["path"] == "a file"


def test_quiet_says_nothing(tmp_path, capsys):
    with serving(Behaviour(data=DATA)) as server:
        assert status(server.url, "-o", str(tmp_path / "x"), "--quiet") == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["ftp://host/file"], "ftp://host/file: ftp: is not spoken here, http and https are"),
        (["host/file"], "host/file: has no scheme; did you mean http://host/file ?"),
        (["localhost:80/file"], "did you mean http://localhost:80/file ?"),
        (["http://"], "is no address; one is like https://host/path/file"),
        (["http://a b/file"], "is no address; one is like"),
        (
            ["http://host/my image (1).iso"],
            "for its spaces; did you mean 'http://host/my%20image%20%281%29.iso' ?",
        ),
        (["http://host:99999/file"], "is no address"),
        (["http://host/"], "has no name for a file at its end; name one with -o"),
        (["http://host/.."], "has no name for a file"),
        (["http://host/a%2Fb"], "has no name for a file"),
        (["http://host/x", "-o", "{folder}"], "is a folder; name another place (-o, -d)"),
        (["http://host/x", "-o", "{folder}/no/x"], "is no folder; make it, or name another place"),
        (["http://host/x", "-o", "{folder}/there"], "is there already; --overwrite replaces it"),
        (["http://host/x", "-o", "{folder}/" + "x" * 300], "name another place (-o, -d)"),
        (["http://host/x", "-o", "{folder}/" + "x" * 250], "name another place (-o, -d)"),
        (["http://host/x", "--sha256", "12"], "is no SHA-256; one has 64 hexadecimal digits"),
        (["there"], "there: is a file here, and no address; a list goes with --from there"),
        (["<a b>"], "is no address; one is like"),
        (["http://host/x", "-d", "{folder}/there"], "cannot be made (File exists); name another"),
        (["http://host/x", "-d", "{folder}/there/x"], "cannot be made (Not a directory); name"),
        (["http://host/x", "--header", "nothing"], "is no field; one is like 'Name: value'"),
        (["http://host/x", "--header", "a: b\nc: d"], "is no header field"),
    ],
)
def test_what_cannot_be_is_one_line_and_status_2(words, line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("old")
    assert status(*(it.format(folder=tmp_path) for it in words)) == 2
    out, err = capsys.readouterr()
    assert line in err
    assert err.count("\n") == 1
    assert out == ""
    assert [it.name for it in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (404, "is not there (404); is the address right?"),
        (401, "asks who you are (401)"),
        (403, "is not for everybody (403)"),
        (418, "the server answers 418"),
    ],
)
def test_an_address_that_is_refused_is_status_2(code, line, tmp_path, capsys):
    with serving(Behaviour(statuses=[code], head=code)) as server:
        assert status(server.url, "-o", str(tmp_path / "x")) == 2
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_fails_is_status_1_and_the_next_call_is_named(tmp_path, monkeypatch, capsys):
    does = Behaviour(data=DATA, cuts=[9 * BLOCK, 0])
    monkeypatch.setattr(sys, "argv", ["flashcrowd", "fetch", "http://host/x"])
    with serving(does) as server:
        assert status(server.url, "-o", str(tmp_path / "x"), "--tries", "2") == 1
    err = capsys.readouterr().err
    assert "the connection broke off; again in 0." in err
    assert "(2 times in a row); try again later\n" in err
    assert err.endswith("What came is kept. Go on with: flashcrowd fetch http://host/x\n")


def test_a_refused_connection_is_status_1(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert status(f"http://127.0.0.1:{port}/x", "-o", str(tmp_path / "x"), "--tries", "1") == 1
    says = f"connection refused: no program listens at 127.0.0.1:{port} (once); try again later"
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_digest_names_one_next_step(tmp_path, capsys):
    target = tmp_path / "x"
    with serving(Behaviour(data=DATA)) as server:
        assert status(server.url, "-o", str(target), "--sha256", "0" * 64, "-q") == 1
        (line,) = capsys.readouterr().err.splitlines()
        digest = sha256(DATA).hexdigest()
        assert f"has the SHA-256 {digest}, which is not the one that was given" in line
        assert "; correct that, and what came is used; or remove " in line
        assert line.endswith(f" {target}.part, and it is fetched anew")
        assert status(server.url, "-o", str(target), "--sha256", digest) == 0
        assert len(server.does.gets()) == 1
    assert "1.31 MB were there" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_made(tmp_path):
    with serving(Behaviour(data=DATA)) as server:
        assert status(server.url, "-d", str(tmp_path / "a" / "b")) == 0
    assert (tmp_path / "a" / "b" / "file").read_bytes() == DATA


def test_no_space_is_status_2_before_a_byte_comes(tmp_path, capsys):
    class Huge(Handler):
        def do_GET(self) -> None:
            self._head(200, {"Content-Length": str(1 << 60), "ETag": '"v1"'})

        do_HEAD = do_GET

    with serving(Behaviour(), Huge) as server:
        assert status(server.url, "-o", str(tmp_path / "x")) == 2
    err = capsys.readouterr().err
    assert "are needed" in err
    assert "are free; make room, or name another place (-o, -d)" in err
    assert list(tmp_path.iterdir()) == []


def certificate(folder: Path) -> Path:
    """A certificate and its key that nobody has signed."""
    path = folder / "pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        + ["-nodes", "-keyout", path, "-out", folder / "crt", "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2"],
        check=True,
        capture_output=True,
    )
    with open(path, "a", encoding="ascii") as file:
        file.write((folder / "crt").read_text())
    return path


def test_certificates_are_checked_and_what_to_do_is_said(tmp_path, monkeypatch, capsys):
    if not (Path("/usr/bin/openssl").exists() or Path("/usr/local/bin/openssl").exists()):
        pytest.skip("openssl is not installed")
    pem = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with serving(Behaviour(data=DATA)) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http:", "https:")
        assert status(url, "-o", str(tmp_path / "x")) == 2
        err = capsys.readouterr().err
        assert "its certificate is not trusted (self-signed certificate); " in err
        assert err.count("\n") == 1
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "crt"))
        assert status(url, "-o", str(tmp_path / "x")) == 0
    assert (tmp_path / "x").read_bytes() == DATA


def test_no_tls_at_the_other_end_is_said(tmp_path, capsys):
    with serving(Behaviour(data=DATA)) as server:
        url = server.url.replace("http:", "https:")
        assert status(url, "-o", str(tmp_path / "x"), "--tries", "1") in (1, 2)
    assert "TLS" in capsys.readouterr().err


def until(what) -> None:
    for _ in range(500):
        if what():
            return
        time.sleep(0.01)
    raise AssertionError("this did not come")


def test_ctrl_c_keeps_what_came_and_names_the_command_that_goes_on(tmp_path):
    does = Behaviour(data=DATA, rate=1e6)
    with serving(does) as server:
        words = [*HERE, server.url, "-o", "x y"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
            until(lambda: (tmp_path / "x y.part").exists() and len(does.gets()))
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        does.rate = 0
        assert process.returncode == 130
        assert f"Go on with: flashcrowd fetch {server.url} -o 'x y'\n" in err
        kept = re.search(r"x y.part keeps (.*?) of ", err)
        assert kept
        assert "Traceback" not in err
        again = subprocess.run(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "x y").read_bytes() == DATA
    assert f"; {kept[1]} were there; " in again.stderr
    assert "if-range" in does.gets()[1]


def test_ctrl_c_before_anything_can_be_kept_names_the_command_that_begins_again(tmp_path):
    with serving(Behaviour(data=DATA, etag="", rate=1e6)) as server:
        words = [*HERE, server.url]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
            until(lambda: len(server.does.gets()))
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
    assert "Nothing had come that can be kept.\n" in err
    assert err.endswith(f"\nBegin again with: flashcrowd fetch {server.url}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("columns", [200, 100, 79, 60, 40, 20])
def test_a_terminal_shows_a_bar_that_fits(columns):
    shown_to = io.StringIO()
    console = Console(file=shown_to, force_terminal=True, width=columns, color_system=None)
    with Voice("[long] " * 20, console=console) as voice:
        voice.tell("a [sentence]")
        voice.watch(Progress(Path("x"), 123_456_789, 987_654_321, 5, 2.0, 12_345_678.0, True))
    text = shown_to.getvalue()
    assert "a [sentence]\n" in text
    lines = re.split("[\r\n]+", re.sub("\x1b[^A-Za-z]*[A-Za-z]", "", text))
    shown = [it for it in lines if it.strip()][-1]
    assert len(shown) <= columns
    if columns < 58:
        assert "12 %, 12.3 MB/s" in shown
    else:
        assert "123 MB of 988 MB, 12.3 MB/s, about 1.2 min left" in shown
        assert "[long]" in shown
    assert ("━" in shown) == (columns >= 100)


def test_a_file_that_is_whole_has_no_rate_of_nothing_and_no_time_left(tmp_path, capsys):
    with Voice("x", every_s=0.0) as voice:
        voice.watch(Progress(Path("x"), 5_000_000, 5_000_000, 5_000_000, 2.0, 2.5e6, True))
        voice.watch(Progress(Path("x"), 5_000_000, 5_000_000, 0, 0.15, 0.0, True))
        voice.watch(Progress(Path("x"), 5_000_000, 5_000_000, 5_000_000, 2.0, 2.5e6, True, True))
    assert capsys.readouterr().err == (
        "x: 5 MB of 5 MB, 2.5 MB/s\nx: 5 MB of 5 MB\nx: 5 MB of 5 MB, verifying\n"
    )
    whole = Fetched(Path("x"), 5_000_000, 0, 5_000_000, 0.15, ("sha256",))
    assert voice.summary(whole) == (
        "x: 5 MB; 5 MB were there; verified by the SHA-256 that was given"
    )
    empty = Fetched(Path("x"), 0, 0, 0, 0.15)
    assert voice.summary(empty) == "x: 0 B; not verified: no digest came"


def test_without_a_terminal_a_line_comes_now_and_then(capsys):
    with Voice("x", every_s=0.0) as voice:
        voice.watch(Progress(Path("x"), 5_000_000, 10_000_000, 5_000_000, 2.0, 2.5e6, True))
        voice.watch(Progress(Path("x"), 5_000_000, None, 5_000_000, 2.0, 2.5e6, False))
    with Voice("x") as voice:
        voice.watch(Progress(Path("x"), 5_000_000, None, 5_000_000, 2.0, 2.5e6, False))
    assert capsys.readouterr().err == (
        "x: 5 MB of 10 MB, 2.5 MB/s, about 2 s left\nx: 5 MB, 2.5 MB/s\n"
    )
