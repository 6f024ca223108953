"""The blocks of docs/serve.md for nginx and Caddy, as they stand there, in front of a server."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from tests.content_server.test_serve import served

import flashcrowd

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="serve needs Linux")

PAGE = Path(__file__).parents[2] / "docs/serve.md"
DATA = Random(4).randbytes(5_000_000)
CLIENT = "127.0.0.2"
"""A client on this machine that is not the proxy's own address."""


def where(program: str) -> str | None:
    """Where a program is; those of the system are not on everybody's path."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def block(kind: str, **instead: str) -> str:
    """The block of this kind from the page, with other places in it."""
    found = re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) == 1, kind
    text = found[0]
    for was, now in {"127.0.0.1:8080": instead["origin"], **instead}.items():
        if was != "origin":
            assert was in text, was
            text = text.replace(was, now)
    return text


def nginx(folder: Path, origin: str, port: int) -> list[str]:
    server = block("nginx", **{"origin": origin, "listen 80;": f"listen 127.0.0.1:{port};"})
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/errors;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{temporary}{server}}}\n"
    )
    return [where("nginx") or "", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, origin: str, port: int) -> list[str]:
    site = block("caddy", **{"origin": origin, ":80 {": f"http://127.0.0.1:{port} {{"})
    (folder / "Caddyfile").write_text(f"{{\nadmin off\n}}\n{site}")
    config = ["--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    return [where("caddy") or "", "run", *config]


@contextmanager
def proxied(
    make: Callable[[Path, str, int], list[str]], folder: Path, origin: str
) -> Iterator[int]:
    """A proxy in front of a server, and its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = make(folder, origin, port)
    log = (folder / "said").open("w")
    with log, subprocess.Popen(command, stdout=log, stderr=log, env={"HOME": str(folder)}) as proxy:
        try:
            for _ in range(600):
                assert proxy.poll() is None, (folder / "said").read_text()
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield port
        finally:
            proxy.kill()


@pytest.mark.parametrize("make", [nginx, caddy])
def test_the_block_of_the_page_keeps_order_ranges_and_clients(
    make: Callable[[Path, str, int], list[str]], tmp_path: Path
) -> None:
    if where(make.__name__) is None:
        pytest.skip(f"{make.__name__} is not installed: its block in the docs is UNTRIED")
    folder, place, log = tmp_path / "served", tmp_path / "proxy", tmp_path / "log"
    folder.mkdir()
    place.mkdir()
    (folder / "big file").write_bytes(DATA)
    options = ["--trust-proxy", "127.0.0.1", "--access-log", str(log)]
    with (
        served(folder, *options) as (_, url),
        proxied(make, place, url.removeprefix("http://")) as port,
    ):
        address = f"http://127.0.0.1:{port}/big%20file"
        fetched = flashcrowd.fetch(address, tmp_path / "got")
        assert (tmp_path / "got").read_bytes() == DATA
        assert (fetched.how, fetched.verified) == ("any order", ("blocks",))
        client = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=30, source_address=(CLIENT, 0)
        )
        for pretended in ({}, {"X-Forwarded-For": "203.0.113.9"}):
            fields = {"Range": "bytes=70000-1234567", **pretended}
            client.request("GET", "/big%20file", headers=fields)
            answer = client.getresponse()
            part = answer.read()
            assert (answer.status, part) == (206, DATA[70_000:1_234_568])
        client.request("GET", "/", headers={"Host": f"127.0.0.1:{port}"})
        assert b'<a href="./big%20file">' in client.getresponse().read()
        client.close()
    lines = log.read_text().splitlines()
    asked = [line.split()[0] for line in lines if " 206 " in line or '"GET / ' in line]
    # The fetch came from the proxy's own address, which is trusted, too.
    assert asked[-3:] == [CLIENT] * 3, lines
    assert set(asked[:-3]) == {"127.0.0.1"}
    assert any(" stream " in line and line.startswith("127.0.0.1 ") for line in lines), lines
