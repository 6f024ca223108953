"""`flashcrowd serve` over TLS, and what it reads anew while it serves."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.content_server.test_serve import refused, served
from tests.late import PATIENCE_S

import flashcrowd
from flashcrowd.download import Unusable

__all__ = ["refused"]

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="serve needs Linux"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]
DATA = bytes(range(256)) * 8000


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for this machine that nobody has signed, and its key."""
    crt, key = folder / f"{name}.crt", folder / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        + ["-nodes", "-keyout", key, "-out", crt, "-subj", f"/CN={name}", "-days", "2"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    return crt, key


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return certificate(tmp_path, "first")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "file").write_bytes(DATA)
    return folder


def tls(pair: tuple[Path, Path]) -> list[str]:
    return ["--tls-cert", str(pair[0]), "--tls-key", str(pair[1])]


def shown(url: str, pair: tuple[Path, Path]) -> tuple[str | None, str]:
    """The protocol that is agreed on, and the certificate's fields, if it is that one."""
    context = ssl.create_default_context(cafile=pair[0])
    context.set_alpn_protocols(["h2", "http/1.1"])
    host, port = url.rpartition("/")[2].split(":")
    with (
        socket.create_connection((host, int(port)), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname=host) as stream,
    ):
        return stream.selected_alpn_protocol(), json.dumps(stream.getpeercert())


def test_a_file_is_fetched_over_tls(folder: Path, pair: tuple[Path, Path], tmp_path: Path) -> None:
    with served(folder, *tls(pair)) as (_, url):
        url = f"{url.replace('http:', 'https:')}/file"
        fetched = flashcrowd.fetch(url, tmp_path / "got", ca=pair[0])
        assert (tmp_path / "got").read_bytes() == DATA
        assert (fetched.how, fetched.verified) == ("any order", ("blocks",))
        with pytest.raises(Unusable, match=r"not trusted .* --ca"):
            flashcrowd.fetch(url, tmp_path / "other")
        with pytest.raises(Unusable, match="nothing: no such file"):
            flashcrowd.fetch(url, tmp_path / "other", ca=tmp_path / "nothing")
        with pytest.raises(Unusable, match="key: has no certificates in PEM"):
            flashcrowd.fetch(url, tmp_path / "other", ca=pair[1])
        assert shown(url.rpartition("/")[0], pair)[0] == "h2"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_speaks_both_versions_of_http_over_tls(
    folder: Path, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    with served(folder, *tls(pair)) as (_, url):
        url = f"{url.replace('http:', 'https:')}/file"
        for version, option in [("2", "--http2"), ("1.1", "--http1.1")]:
            words = ["curl", "-sSfk", option, "-o", tmp_path / version, "-w", "%{http_version}"]
            said = subprocess.run([*words, url], capture_output=True, text=True, check=True)
            assert said.stdout == version
            assert (tmp_path / version).read_bytes() == DATA


def test_files_that_are_none_are_refused_by_name(
    folder: Path, pair: tuple[Path, Path], tmp_path: Path, refused: Callable[..., str]
) -> None:
    crt, key = map(str, pair)
    other = str(certificate(tmp_path, "other")[1])
    none, junk = str(tmp_path / "none"), str(tmp_path / "junk")
    Path(junk).write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    secret = tmp_path / "secret"
    words = ["openssl", "ec", "-aes128", "-passout", "pass:x", "-in", key, "-out", str(secret)]
    subprocess.run(words, check=True, capture_output=True)
    for cert_file, key_file, said in [
        (none, key, f"{none}: No such file or directory"),
        (crt, none, f"{none}: No such file or directory"),
        (key, key, f"{key}: has no certificate in PEM"),
        (crt, crt, f"{crt}: has no private key without a password in PEM"),
        (crt, str(secret), f"{secret}: "),
        (junk, key, f"{junk}: its certificate is not valid"),
        (crt, other, f"{other}: is not the key of {crt}"),
    ]:
        text = refused(str(folder), "--tls-cert", cert_file, "--tls-key", key_file)
        assert text.startswith(said), text
    assert refused(str(folder), "--tls-cert", crt) == "--tls-cert and --tls-key: TLS needs both"


def test_a_hangup_reads_the_certificate_again_and_opens_the_log_anew(
    folder: Path, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    log, moved = tmp_path / "log", tmp_path / "log.1"
    with served(folder, *tls(pair), "--access-log", str(log)) as (server, url):
        assert server.stderr is not None
        for _ in ("how it reads", "what a browser sees"):
            server.stderr.readline()

        def get(trusted: tuple[Path, Path]) -> None:
            context = ssl.create_default_context(cafile=trusted[0])
            where = f"{url.replace('http:', 'https:')}/file"
            with urllib.request.urlopen(where, timeout=20, context=context) as answer:
                assert answer.read() == DATA

        def hang_up() -> str:
            assert server.stderr is not None
            server.send_signal(signal.SIGHUP)
            return server.stderr.readline()

        get(pair)
        pair[0].write_text("half a certif")
        assert hang_up() == (
            f"Not reloaded: {pair[0]}: has no certificate in PEM. What was there before holds.\n"
        )
        second = certificate(tmp_path, "second")
        log.rename(moved)
        for new, old in zip(second, pair, strict=True):
            shutil.copy(new, old)
        assert hang_up() == "Reloaded: certificate and access log.\n"
        get(second)
        assert "second" in shown(url, second)[1]
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_S) == 0
    assert [path.read_text().count("GET /file") for path in (moved, log)] == [1, 1]


def test_a_hangup_without_anything_to_reload_ends_nothing(folder: Path) -> None:
    with served(folder) as (server, url):
        assert server.stderr is not None
        for _ in ("how it reads", "what a browser sees"):
            server.stderr.readline()
        server.send_signal(signal.SIGHUP)
        assert server.stderr.readline() == "Reloaded: there was nothing to reload.\n"
        with urllib.request.urlopen(f"{url}/file", timeout=20) as answer:
            assert answer.read() == DATA


def test_who_gets_no_tls_or_no_place_has_a_line_in_the_log(
    folder: Path, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    options = ["--per-address", "1", "--access-log", str(log)]

    def lines(count: int) -> list[str]:
        for _ in range(1000):
            found = log.read_text().splitlines()
            if len(found) >= count:
                return found
            time.sleep(0.01)
        raise AssertionError(log.read_text())

    with served(folder, *tls(pair), *options) as (_, url):
        host, port = url.rpartition("/")[2].split(":")
        at = (host, int(port))
        # Somebody who looks whether anybody is there, and has said nothing.
        socket.create_connection(at, timeout=20).close()
        time.sleep(0.2)
        # HTTP without TLS.
        with socket.create_connection(at, timeout=20) as plain:
            plain.sendall(b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                while plain.recv(1000):
                    pass
        assert lines(1)[0].endswith('"-" 400 0 "-" "-" 0.000 text 0 tls')
        # One that has the only place of its address, and one more.
        with socket.create_connection(at, timeout=20):
            time.sleep(0.2)
            with (
                socket.create_connection(at, timeout=20) as second,
                contextlib.suppress(ConnectionError),
            ):
                assert second.recv(1000) == b""
            assert lines(2)[1].endswith('"-" 429 0 "-" "-" 0.000 text 0 refused')
    assert len(log.read_text().splitlines()) == 2
