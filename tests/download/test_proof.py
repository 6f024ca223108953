"""Nothing is done that is not proven: not the end of a file, and not that its parts are of one."""

import contextlib
import hashlib
import itertools
from base64 import b64encode
from pathlib import Path

import pytest
from tests.download.servers import BLOCK, DATE, Behaviour, content, replying, serving
from tests.download.test_download import Call, left

from flashcrowd.download import FetchError, Unusable

DATA = content(10_000)
NEW = content(10_000, 2)
SHA = hashlib.sha256(DATA).digest()
OK = b"HTTP/1.1 200 OK\r\n"
NO_HEAD = b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n"


def always(answer: bytes):
    """Answers a GET so."""
    return lambda method, target, fields: answer if method == "GET" else NO_HEAD


@pytest.mark.parametrize("line", ["X-Café: 1", "Foo : 1", "no colon", " folded", "a\0: b"])
@pytest.mark.parametrize("more", ["Content-Length: 10000", "Transfer-Encoding: chunked"])
def test_a_line_of_a_head_does_not_make_a_cut_a_file(line, more, tmp_path):
    head = OK + f"{line}\r\n{more}\r\nConnection: close\r\n\r\n".encode()
    body = DATA[:7000] if "Length" in more else b"2710\r\n" + DATA[:7000]
    with replying(always(head + body)) as url, pytest.raises(FetchError) as caught:
        Call(url, tmp_path / "file", tries=2).run()
    assert caught.value.status == 1
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("coding", "whole"),
    [
        ("chunked", True), ("Chunked\t", True), ("\tchunked ", True), (", chunked", True),
        ("gzip, chunked", False), ("chunked, gzip", False), ("chunked, chunked", False),
        ("xchunked", False), ("identity", False), ("", False),
        ("chunked\r\nContent-Length: 3", False),
    ],
)  # fmt: skip
def test_chunks_are_never_in_the_file(coding, whole, tmp_path):
    head = OK + f"Transfer-Encoding: {coding}\r\nConnection: close\r\n\r\n".encode()
    call = None
    with replying(always(head + b"2710\r\n" + DATA + b"\r\n0\r\n\r\n")) as url:
        call = Call(url, tmp_path / "file", tries=2)
        if whole:
            call.run()
            assert (tmp_path / "file").read_bytes() == DATA
        else:
            with pytest.raises(FetchError):
                call.run()
            assert left(tmp_path) == []


def test_an_end_that_only_the_connection_tells_is_no_proof(tmp_path):
    target, gets = tmp_path / "file", []

    def reply(method: str, target: str, fields: dict[str, str]) -> bytes:
        gets.extend([fields] if method == "GET" else [])
        return b"HTTP/1.0 200 OK\r\n\r\n" + (DATA if method == "GET" else b"")

    with replying(reply) as url:
        with pytest.raises(FetchError, match="after 10 kB without having named a length") as caught:
            Call(url, target).run()
        assert "with --sha256 the digest proves it" in str(caught.value)
        assert (caught.value.status, caught.value.kept, len(gets)) == (1, 0, 1)
        assert left(tmp_path) == ["file.part", "file.part.json"]
        assert (tmp_path / "file.part").read_bytes() == DATA
        # Without the digest it comes again; with it, what is there is verified.
        call = Call(url, target)
        with pytest.raises(FetchError, match="named a length"):
            call.run()
        assert call.said == ["nothing says of which version file.part is: begins anew"]
        with pytest.raises(FetchError, match="which is not the one that was given"):
            Call(url, target, sha256=bytes(32)).run()
        fetched = Call(url, target, sha256=SHA).run()
        assert (fetched.received, fetched.resumed, fetched.verified) == (0, 10_000, ("sha256",))
        assert len(gets) == 3
    assert target.read_bytes() == DATA


def test_a_digest_or_a_length_for_the_same_version_proves_an_end(tmp_path):
    digest = b64encode(SHA).decode()
    said = {
        f"Repr-Digest: sha-256=:{digest}:": ("server",),
        'ETag: "a"': (),
    }
    for line, verified in said.items():
        head = f"HTTP/1.1 200 OK\r\nConnection: close\r\n{line}\r\n".encode()

        def reply(method: str, target: str, fields: dict[str, str], head: bytes = head) -> bytes:
            return head + (b"Content-Length: 10000\r\n\r\n" if method == "HEAD" else b"\r\n" + DATA)

        def short(method: str, target: str, fields: dict[str, str], head: bytes = head) -> bytes:
            return reply(method, target, fields, head)[: None if method == "HEAD" else -1]

        with replying(reply) as url:
            assert Call(url, tmp_path / "file", overwrite=True).run().verified == verified
        assert (tmp_path / "file").read_bytes() == DATA
        with replying(short) as url, pytest.raises(FetchError):
            Call(url, tmp_path / "other").run()
        assert not (tmp_path / "other").exists()


PARTS_OF_ANOTHER = {
    "no validator": "",
    "a date": "Last-Modified: Sun, 22 Nov 2020 10:00:00 GMT",
    "its date": f"Last-Modified: {DATE}",
    "a weak tag": 'ETag: W/"v1"',
    "another weak tag": 'ETag: W/"v2"',
    "a tag without quotes": "ETag: v1",
    "another tag": 'ETag: "v2"',
    "a part of a tag": 'ETag: "v1',
    "two tags in one": 'ETag: "v1", "v2"',
}


def versions(first: str, second: str, ranges: str = ""):
    """A server that cuts the first version, and has the second one from then on."""
    bodies = itertools.count()

    def reply(method: str, target: str, fields: dict[str, str]) -> bytes:
        if method == "HEAD":
            return NO_HEAD
        now = "Date: Sun, 22 Nov 2020 11:00:00 GMT"
        if not next(bodies):
            head = f"HTTP/1.1 200 OK\r\n{now}\r\n{first}\r\nContent-Length: 10000\r\n\r\n"
            return head.encode() + DATA[:7000]
        lines = f"{now}\r\n{second}\r\n" if second else f"{now}\r\n"
        if "range" not in fields:
            return f"HTTP/1.1 200 OK\r\n{lines}Content-Length: 10000\r\n\r\n".encode() + NEW
        lines += f"Content-Range: {ranges or 'bytes 7000-9999/10000'}\r\nContent-Length: 3000\r\n"
        return f"HTTP/1.1 206 x\r\n{lines}\r\n".encode() + NEW[7000:]

    return reply


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(first, second, id=f"{name} after {first[:4]}")
        for first in ('ETag: "v1"', f"Last-Modified: {DATE}")
        for name, second in PARTS_OF_ANOTHER.items()
        if second != first
    ],
)
def test_parts_of_two_versions_never_come_together(first, second, tmp_path):
    with replying(versions(f"{first}\r\nX: y", second)) as url:
        call = Call(url, tmp_path / "file")
        call.run()
    assert (tmp_path / "file").read_bytes() == NEW
    assert "the file has changed on the server: begins anew" in call.said
    assert left(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "ranges",
    ["bytes 6999-9998/10000", "bytes 0-2999/10000", "bytes 7000-9998/10000", "bytes 7000-9999"],
)
def test_a_part_is_the_one_that_was_asked_for(ranges, tmp_path):
    with replying(versions('ETag: "v1"', 'ETag: "v1"', ranges)) as url:
        call = Call(url, tmp_path / "file")
        call.run()
    # It is asked for as a whole then. What is here of this version stays.
    assert (tmp_path / "file").read_bytes() == DATA[:7000] + NEW[7000:]
    assert "the server gives no ranges: all bytes come again" in call.said


def test_interim_answers_and_unknown_statuses_by_their_class(tmp_path):
    given = [
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n" * 3
        + b"HTTP/1.1 520 x\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 799 x\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 199 x\r\n\r\n"
        b"HTTP/1.1 299 x\r\nContent-Length: 10000, 10000\r\nContent-Length: 10000\r\n"
        + b"X: y\r\n" * 200 + b"\r\n" + DATA,
    ]  # fmt: skip
    with replying(lambda method, *_: given.pop(0) if method == "GET" else NO_HEAD) as url:
        assert Call(url, tmp_path / "file").run().retries == 2
    assert (tmp_path / "file").read_bytes() == DATA


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (201, "gives no file"), (202, "no file yet"), (203, "in between has changed the file"),
        (204, "has no content"), (226, "answers 226"), (300, "answers 300"), (304, "answers 304"),
        (305, "answers 305"), (451, "answers 451"), (499, "answers 499"), (501, "answers 501"),
        (511, "asks for a login"),
    ],
)  # fmt: skip
def test_statuses_that_end_it(status, why, tmp_path):
    answer = f"HTTP/1.1 {status} x\r\nContent-Length: 10000\r\n\r\n".encode() + DATA
    with replying(always(answer)) as url, pytest.raises(Unusable, match=why):
        Call(url, tmp_path / "file").run()
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "coding", "kept"),
    [
        ("a.tar.gz", "x-gzip", True), ("a.TGZ", "GZIP", True), ("a.tar.gz", "identity, gzip", True),
        ("a.Z", "x-compress", True), ("a.svgz", "gzip", True), ("a.zst", "zstd", True),
        ("a.tar", "x-gzip", False), ("a.gz", "br", False), ("a.gz", "gzip, gzip", False),
        ("gz", "gzip", False), ("a.gz?x=.iso", "gzip", True), ("a.iso?x=.gz", "gzip", False),
    ],
)  # fmt: skip
def test_a_coding_of_the_stored_file_is_kept_as_it_is(name, coding, kept, tmp_path):
    does = Behaviour(data=DATA, extra={"Content-Encoding": coding}, cuts=[3000])
    with serving(does) as server:
        url = server.url.replace("/file", f"/{name}")
        if kept:
            Call(url, tmp_path / "x").run()
        else:
            with pytest.raises(FetchError, match="which was not asked for"):
                Call(url, tmp_path / "x").run()
            assert left(tmp_path) == []
            # The digest tells whether these are the bytes that are wanted.
            Call(url, tmp_path / "x", sha256=SHA).run()
    assert (tmp_path / "x").read_bytes() == DATA


@pytest.mark.parametrize(
    ("location", "asked"),
    [
        (b"/\xc3\xa9.bin", "/%C3%A9.bin"), (b"/\xe9.bin", "/%E9.bin"),
        (b"/%C3%A9.bin", "/%C3%A9.bin"),
        (b"/a b|c", "/a%20b%7Cc"), (b"a/../b?q=\xc3\xa9&r=%20#x", "/b?q=%C3%A9&r=%20"),
        (b"//127.0.0.1:%d/x%%2Fy", "/x%2Fy"), (b"http://127.0.0.1:%d", "/"),
        (b"?\xe2\x82\xac", "/file?%E2%82%AC"),
    ],
)  # fmt: skip
def test_a_location_is_encoded_once(location, asked, tmp_path):
    targets = []

    def reply(method: str, target: str, fields: dict[str, str]) -> bytes:
        if target == "/file":
            port = int(fields["host"].rpartition(":")[2])
            where = location % port if b"%d" in location else location
            return b"HTTP/1.1 302 x\r\nContent-Length: 0\r\nLocation: " + where + b"\r\n\r\n"
        targets.append(target)
        return OK + b"Content-Length: 10000\r\n\r\n" + (DATA if method == "GET" else b"")

    with replying(reply) as url:
        Call(url, tmp_path / "x").run()
    assert targets == [asked, asked]


def mirrors(tmp_path: Path, **wish: bytes) -> tuple[Call, Behaviour, Behaviour]:
    """Two calls by a redirector: 9 of 20 blocks from one mirror, then it names the other one."""
    data = content(20 * BLOCK)
    one, two = Behaviour(data=data, etag='"a"'), Behaviour(data=data, etag='"b"')
    with serving(one) as first, serving(two) as second:
        near = Behaviour(statuses=[302] * 99, head=302, extra={"Location": first.url})
        with serving(near) as server:
            one.cuts = [9 * BLOCK, 0]
            with pytest.raises(FetchError):
                Call(server.url, tmp_path / "file", tries=2, **wish).run()
            near.extra["Location"] = second.url
            call = Call(server.url, tmp_path / "file", **wish)
            with contextlib.suppress(FetchError):
                call.fetched = call.run()
    return call, one, two


def test_a_redirector_that_names_another_mirror_goes_on_where_a_digest_decides(tmp_path):
    data = content(20 * BLOCK)
    call, _, two = mirrors(tmp_path, sha256=hashlib.sha256(data).digest())
    assert (tmp_path / "file").read_bytes() == data
    assert (call.fetched.resumed, call.fetched.received) == (9 * BLOCK, 11 * BLOCK)
    assert call.said == ["the server names another version of the file; the SHA-256 decides"]
    assert two.gets()[0]["range"] == f"bytes={9 * BLOCK}-{20 * BLOCK - 1}"


def test_without_a_digest_another_mirror_begins_anew(tmp_path):
    call, _, _ = mirrors(tmp_path)
    assert (tmp_path / "file").read_bytes() == content(20 * BLOCK)
    assert (call.fetched.resumed, call.fetched.received) == (0, 20 * BLOCK)
    assert call.said == ["the file has changed on the server: begins anew"]


@pytest.mark.parametrize("sha", [True, False])
def test_a_cluster_with_a_tag_for_each_node(sha, tmp_path):
    data = content(20 * BLOCK)
    does = Behaviour(data=data, cuts=[2 * BLOCK] * 9)
    tags = itertools.count()

    def another() -> None:
        does.etag = f'"{next(tags)}"'

    does.on_get = [another] * 99
    with serving(does) as server:
        if sha:
            call = Call(server.url, tmp_path / "file", sha256=hashlib.sha256(data).digest())
            assert call.run().received == len(data)
            assert (tmp_path / "file").read_bytes() == data
        else:
            with pytest.raises(FetchError, match="changed on the server, 9 times"):
                Call(server.url, tmp_path / "file").run()


def test_bytes_of_two_versions_that_are_not_the_file_come_anew_from_one(tmp_path):
    old, new = content(20 * BLOCK), content(20 * BLOCK, 2)
    does = Behaviour(data=old, etag='"a"', cuts=[9 * BLOCK])

    def change() -> None:
        does.data, does.etag = new, '"b"'

    does.on_get = [lambda: None, change]
    with serving(does) as server:
        call = Call(server.url, tmp_path / "file", sha256=hashlib.sha256(new).digest())
        fetched = call.run()
    assert (tmp_path / "file").read_bytes() == new
    assert fetched.verified == ("sha256",)
    assert "what came from several versions is not the file: begins anew" in call.said


def test_what_is_kept_for_a_digest_is_not_taken_without_one(tmp_path):
    data = content(20 * BLOCK)
    does = Behaviour(data=data, etag="", cuts=[9 * BLOCK, 0])
    target, sha = tmp_path / "file", hashlib.sha256(data).digest()
    with serving(does) as server:
        with pytest.raises(FetchError) as caught:
            Call(server.url, target, tries=2, sha256=sha).run()
        assert caught.value.kept == 9 * BLOCK
        url = server.url.replace("/file", "/other")
        assert Call(url, target, sha256=sha).run().resumed == 9 * BLOCK
        assert target.read_bytes() == data
        does.cuts = [9 * BLOCK, 0]
        with pytest.raises(FetchError):
            Call(server.url, target, tries=2, sha256=sha, overwrite=True).run()
        call = Call(server.url, target, overwrite=True)
        assert call.run().resumed == 0
    assert call.said == ["nothing says of which version file.part is: begins anew"]


def test_a_mixture_that_is_kept_is_never_taken_for_the_version_it_ended_with(tmp_path):
    old, new = content(20 * BLOCK), content(20 * BLOCK, 2)
    does = Behaviour(data=old, etag='"a"', cuts=[9 * BLOCK, 2 * BLOCK, 0, 0])

    def change() -> None:
        does.data, does.etag = new, '"b"'

    does.on_get = [lambda: None, change]
    target = tmp_path / "file"
    with serving(does) as server:
        with pytest.raises(FetchError) as caught:
            Call(server.url, target, tries=2, sha256=SHA).run()
        assert caught.value.kept == 11 * BLOCK
        call = Call(server.url, target)
        assert call.run().resumed == 0
    assert target.read_bytes() == new
    assert call.said[0] == "nothing says of which version file.part is: begins anew"


def test_a_whole_answer_that_says_it_is_a_part_is_none(tmp_path):
    part = b"Content-Range: bytes 4000-9999/10000\r\nContent-Length: 6000\r\n\r\n" + DATA[4000:]
    with replying(always(OK + part)) as url, pytest.raises(FetchError, match="it is a part"):
        Call(url, tmp_path / "file", tries=2).run()
    assert left(tmp_path) == []


SHORT = [
    b"HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 500\r\n\r\n" + DATA[:500],
    b"HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nETag: \"a\"\r\nTransfer-Encoding: chunked\r\n\r\n1f4\r\n"
    + DATA[:500]
    + b"\r\n0\r\n\r\n",
    b"HTTP/1.1 206 Part\r\nETag: \"a\"\r\nContent-Range: bytes 0-499/500\r\n"
    b"Content-Length: 500\r\n\r\n" + DATA[:500],
]  # fmt: skip
"""Of a version of 10,000 bytes."""


@pytest.mark.parametrize("answer", SHORT)
@pytest.mark.parametrize("ranges", [b"", b"Accept-Ranges: bytes\r\n"])
def test_one_version_has_one_length(answer, ranges, tmp_path):
    known = OK + b'ETag: "a"\r\n' + ranges + b"Content-Length: 10000\r\n\r\n"

    def reply(method, target, fields):
        return known if method == "HEAD" else answer

    with replying(reply) as url, pytest.raises(FetchError):
        Call(url, tmp_path / "file", tries=2).run()
    assert not (tmp_path / "file").exists()


def test_parts_that_contradict_each_other_make_no_file(tmp_path):
    known = (
        OK + b'ETag: "a"\r\nAccept-Ranges: bytes\r\nVary: Prefer\r\nContent-Length: 1000\r\n\r\n'
    )
    parts = b"".join(
        b"\r\n--x\r\nContent-Range: bytes 0-%d/%d\r\n\r\n" % (length - 1, length) + DATA[:length]
        for length in (1000, 500)
    ) + b"\r\n--x--\r\n"  # fmt: skip
    head = b'HTTP/1.1 206 Part\r\nETag: "a"\r\nContent-Type: multipart/byteranges; boundary=x\r\n'
    answer = head + b"Content-Length: %d\r\n\r\n" % len(parts) + parts

    def reply(method, target, fields):
        return known if method == "HEAD" else answer

    with replying(reply) as url, pytest.raises(FetchError):
        Call(url, tmp_path / "file", tries=2).run()
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize(
    ("of_head", "of_get", "used"),
    [
        ('ETag: "v1"\r\n', 'ETag: "v1"\r\n', True),
        ("", "", False),
        ('ETag: "v1"\r\n', "", False),
        ("", 'ETag: "v1"\r\n', False),
    ],
)
def test_a_digest_of_a_head_is_used_or_said_not_to_be(of_head, of_get, used, tmp_path):
    digest = f"Repr-Digest: sha-256=:{b64encode(SHA).decode()}:\r\n".encode()
    size = f"Content-Length: {len(DATA)}\r\n\r\n".encode()

    def answer(method, target, fields):
        if method == "HEAD":
            return OK + of_head.encode() + digest + size
        return OK + of_get.encode() + size + DATA

    with replying(answer) as url:
        call = Call(url, tmp_path / "file")
        fetched = call.run()
    assert bool(fetched.verified) == used
    assert any("digest is not used" in line for line in call.said) != used
