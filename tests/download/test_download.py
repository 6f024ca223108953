"""Downloads from servers that do what servers do: every byte right, whatever happens."""

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from tests.download.servers import BLOCK, DATE, Behaviour, content, serving

import flashcrowd
from flashcrowd.download import Fetched, FetchError, Unusable, asking
from flashcrowd.download.download import Download
from flashcrowd.download.part import Part, Source
from flashcrowd.download.site import Site
from flashcrowd.download.wish import Wish
from flashcrowd.http.fields import Validator

DATA = content(20 * BLOCK + 777)


class Call:
    """A download that waits in no time, and what it said."""

    def __init__(self, url: str, target: Path, **wish) -> None:
        self.said: list[str] = []
        self.waits: list[float] = []
        self.fetched: Fetched
        self.url, self.wish = url, Wish(target, **wish)

    def run(self) -> Fetched:
        site = Site(self.url, timeout_s=5.0)
        try:
            return Download(site, self.wish, tell=self.said.append, sleep=self.waits.append).run()
        finally:
            site.close()


def left(folder: Path) -> list[str]:
    return sorted(it.name for it in folder.iterdir())


@pytest.mark.parametrize(
    ("does", "how", "verified"),
    [
        (Behaviour(), "whole", ()),
        (Behaviour(etag="", ranges=False), "whole", ()),
        (Behaviour(chunked=True), "whole", ()),
        (Behaviour(head=405), "whole", ()),
        (Behaviour(head=403, repr_digest=True), "whole", ("server",)),
        (Behaviour(repr_digest=True, etag='W/"v1"'), "whole", ("server",)),
        (Behaviour(digests=True), "whole", ("blocks",)),
        (Behaviour(digests=True, computing=3), "whole", ("blocks",)),
        (Behaviour(reorders=True), "any order", ()),
        (Behaviour(reorders=True, digests=True, repr_digest=True), "any order", ("blocks",)),
        (Behaviour(reorders=True, refuses_several=416), "any order", ()),
        (Behaviour(reorders=True, refuses_several=400, digests=True), "any order", ("blocks",)),
        (Behaviour(reorders=True, refuses_several=416, refuses_pull=416), "ranges", ()),
        (Behaviour(reorders=True, silent_ranges=True), "whole", ()),
    ],
)
@pytest.mark.parametrize("size", [0, 1, 2, BLOCK, len(DATA)])
def test_a_file_comes_whole(does, how, verified, size, tmp_path):
    does = Behaviour(**{**vars(does), "data": DATA[:size], "seen": []})
    target = tmp_path / "file"
    with serving(does) as server:
        call = Call(server.url, target)
        fetched = call.run()
    assert target.read_bytes() == DATA[:size]
    assert left(tmp_path) == ["file"]
    assert (fetched.bytes, fetched.received, fetched.resumed) == (size, size, 0)
    assert fetched.verified == verified
    if size > BLOCK:
        assert fetched.how == how
    assert not call.said
    if does.reorders and size == len(DATA):
        assert "part-order=any" in does.gets()[0]["prefer"]
        assert does.gets()[0]["range"] == "bytes=0-65535,65536-"
    elif not does.reorders:
        assert all("range" not in it and "prefer" not in it for it in does.gets())


def test_nobody_is_asked_for_another_order_who_does_not_offer_it_or_against_a_wish(tmp_path):
    does = Behaviour(data=DATA, reorders=True)
    with serving(does) as server:
        Call(server.url, tmp_path / "file", any_order=False).run()
    assert "prefer" not in does.gets()[0]


@pytest.mark.parametrize("reorders", [False, True])
@pytest.mark.parametrize("digests", [False, True])
def test_a_server_that_dies_in_mid_answer_is_asked_for_the_rest(reorders, digests, tmp_path):
    cuts = [5 * BLOCK + 5, 3 * BLOCK, 1, 7 * BLOCK - 9]
    does = Behaviour(data=DATA, reorders=reorders, digests=digests, cuts=list(cuts))
    target = tmp_path / "file"
    with serving(does) as server:
        call = Call(server.url, target)
        fetched = call.run()
    assert target.read_bytes() == DATA
    assert fetched.retries == len(cuts) == len(call.waits)
    assert fetched.received == len(DATA)
    assert all(0.3 < wait < 2 for wait in call.waits)
    again = does.gets()[1:]
    assert all(it["if-range"] == '"v1"' for it in again)
    if not reorders:
        assert again[0]["range"] == f"bytes={cuts[0]}-{len(DATA) - 1}"


@pytest.mark.parametrize("does", [Behaviour(cuts=[0] * 99), Behaviour(statuses=[503] * 99)])
def test_patience_ends_and_says_how_often_it_tried(does, tmp_path):
    does.data = DATA
    with serving(does) as server:
        call = Call(server.url, tmp_path / "file", tries=5)
        with pytest.raises(FetchError, match="5 times in a row") as caught:
            call.run()
    assert caught.value.status == 1
    assert len(call.waits) == 4
    assert call.waits[3] > 3 * call.waits[0]
    assert left(tmp_path) == []


def test_a_server_that_asks_for_time_gets_it(tmp_path):
    does = Behaviour(data=DATA, statuses=[503, 429], retry_after="7")
    with serving(does) as server:
        call = Call(server.url, tmp_path / "file")
        call.run()
    assert call.waits == [7.0, 7.0]


@pytest.mark.parametrize("reorders", [False, True])
def test_what_an_earlier_call_left_is_not_fetched_again(reorders, tmp_path):
    does = Behaviour(data=DATA, reorders=reorders, cuts=[9 * BLOCK + 1, 0], digests=True)
    target = tmp_path / "file"
    with serving(does) as server:
        with pytest.raises(FetchError) as caught:
            Call(server.url, target, tries=2).run()
        assert caught.value.kept == 9 * BLOCK + 1
        assert left(tmp_path) == ["file.part", "file.part.json"]
        assert (tmp_path / "file.part").stat().st_size == len(DATA)
        fetched = Call(server.url, target).run()
    assert target.read_bytes() == DATA
    assert fetched.resumed == 9 * BLOCK + 1
    assert fetched.received == len(DATA) - fetched.resumed
    assert left(tmp_path) == ["file"]


def stopped(does: Behaviour, target: Path, url: str, kept: int = 9 * BLOCK) -> None:
    """Leaves so many bytes of a download that was stopped."""
    does.cuts = [kept, 0]
    with pytest.raises(FetchError):
        Call(url, target, tries=2).run()
    does.cuts.clear()
    does.seen.clear()


@pytest.mark.parametrize("reorders", [False, True])
def test_a_file_that_changed_begins_anew_and_says_so(reorders, tmp_path):
    does = Behaviour(data=DATA, reorders=reorders)
    target = tmp_path / "file"
    with serving(does) as server:
        stopped(does, target, server.url)
        does.data, does.etag = content(len(DATA), 2), '"v2"'
        call = Call(server.url, target)
        fetched = call.run()
    assert target.read_bytes() == does.data
    assert fetched.resumed == 0
    assert call.said == ["the file has changed on the server: begins anew"]


@pytest.mark.parametrize("reorders", [False, True])
@pytest.mark.parametrize("same_length", [False, True])
def test_a_file_that_changes_under_way_is_no_mixture(reorders, same_length, tmp_path):
    new = content(len(DATA) + (0 if same_length else 99), 2)
    does = Behaviour(data=DATA, reorders=reorders, cuts=[9 * BLOCK], digests=True)

    def change() -> None:
        does.data, does.etag = new, '"v2"'

    does.on_get = [lambda: None, change]
    with serving(does) as server:
        call = Call(server.url, tmp_path / "file")
        fetched = call.run()
    assert (tmp_path / "file").read_bytes() == new
    assert "the file has changed on the server: begins anew" in call.said
    # The digests that were offered first are of the other file; those of this one are asked for.
    assert fetched.verified == ("blocks",)


def test_a_file_that_changes_all_the_time_is_given_up(tmp_path):
    does = Behaviour(data=DATA, cuts=[9 * BLOCK] * 99)

    def change() -> None:
        does.etag = f'"{len(does.seen)}"'

    does.on_get = [change] * 99
    said = "changed on the server, 9 times"
    with serving(does) as server, pytest.raises(FetchError, match=said) as caught:
        Call(server.url, tmp_path / "file").run()
    assert caught.value.kept == 0
    assert left(tmp_path) == []


def test_without_a_validator_nothing_is_put_together(tmp_path):
    does = Behaviour(data=DATA, etag="", cuts=[9 * BLOCK])
    with serving(does) as server:
        call = Call(server.url, tmp_path / "file")
        fetched = call.run()
    assert (tmp_path / "file").read_bytes() == DATA
    assert "nothing says that the file is as it was: begins anew" in call.said
    assert fetched.received == len(DATA) + 9 * BLOCK
    assert all("range" not in it for it in does.gets())


def test_an_old_date_is_a_validator_where_there_is_no_tag(tmp_path):
    does = Behaviour(data=DATA, etag="", date=DATE, cuts=[9 * BLOCK])
    with serving(does) as server:
        Call(server.url, tmp_path / "file").run()
    assert (tmp_path / "file").read_bytes() == DATA
    assert does.gets()[1]["if-range"] == DATE


def test_a_server_without_ranges_sends_all_again_and_it_is_said(tmp_path):
    does = Behaviour(data=DATA, ranges=False, cuts=[9 * BLOCK])
    with serving(does) as server:
        call = Call(server.url, tmp_path / "file")
        call.run()
    assert (tmp_path / "file").read_bytes() == DATA
    assert "the server gives no ranges: all bytes come again" in call.said


@pytest.mark.parametrize("reorders", [False, True])
def test_a_damaged_block_is_fetched_again(reorders, tmp_path):
    flips = [3, 7 * BLOCK, len(DATA) - 1]
    does = Behaviour(data=DATA, reorders=reorders, digests=True, flips=list(flips))
    with serving(does) as server:
        fetched = Call(server.url, tmp_path / "file").run()
    assert (tmp_path / "file").read_bytes() == DATA
    assert fetched.refetched == 2 * BLOCK + 777
    assert fetched.received == len(DATA) + fetched.refetched
    assert fetched.verified == ("blocks",)


def test_a_block_that_is_always_damaged_is_the_servers_fault(tmp_path):
    does = Behaviour(data=DATA, digests=True, flips=[7 * BLOCK] * 99)
    with serving(does) as server, pytest.raises(FetchError, match="3 times otherwise") as caught:
        Call(server.url, tmp_path / "file").run()
    assert caught.value.status == 1
    assert caught.value.kept == len(DATA) - BLOCK
    assert not caught.value.goes_on
    assert "file" not in left(tmp_path)


def test_a_file_that_is_not_what_its_digest_says_comes_once_more(tmp_path):
    does = Behaviour(data=DATA, repr_digest=True, flips=[7])
    with serving(does) as server:
        call = Call(server.url, tmp_path / "file")
        assert call.run().verified == ("server",)
        assert (tmp_path / "file").read_bytes() == DATA
        does.flips = [7, 7]
        with pytest.raises(FetchError, match="came twice otherwise"):
            Call(server.url, tmp_path / "other").run()
    assert left(tmp_path) == ["file"]


def test_the_digest_that_was_given_decides(tmp_path):
    good = hashlib.sha256(DATA).digest()
    does = Behaviour(data=DATA, reorders=True, digests=True)
    with serving(does) as server:
        fetched = Call(server.url, tmp_path / "file", sha256=good).run()
        assert fetched.verified == ("blocks", "sha256")
        with pytest.raises(FetchError, match=good.hex()):
            Call(server.url, tmp_path / "other", sha256=bytes(32)).run()
    assert left(tmp_path) == ["file", "other.part", "other.part.json"]


def test_damage_on_the_disk_between_two_calls_is_found(tmp_path):
    does = Behaviour(data=DATA, digests=True)
    with serving(does) as server:
        stopped(does, tmp_path / "file", server.url)
        with open(tmp_path / "file.part", "r+b") as file:
            file.seek(2 * BLOCK)
            file.write(b"other")
        fetched = Call(server.url, tmp_path / "file").run()
    assert (tmp_path / "file").read_bytes() == DATA
    assert fetched.refetched == BLOCK


def test_many_holes_are_asked_for_in_several_requests(tmp_path):
    data = content(1000)
    does = Behaviour(data=data, reorders=True)
    with serving(does) as server:
        part = Part(tmp_path / "file")
        part.begin(Source(server.url, Validator('"v1"', "", True), 1000))
        for at in range(0, 1000, 2):
            part.write(at, data[at : at + 1])
        part.close()
        fetched = Call(server.url, tmp_path / "file").run()
    assert (tmp_path / "file").read_bytes() == data
    assert (fetched.resumed, fetched.received) == (500, 500)
    assert [it["range"].count(",") + 1 for it in does.gets()] == [200, 200, 100]


def test_two_calls_do_not_share_a_part(tmp_path):
    part = Part(tmp_path / "file")
    with serving(Behaviour(data=DATA)) as server, pytest.raises(Unusable, match="another fetch"):
        Call(server.url, tmp_path / "file").run()
    part.close()
    assert left(tmp_path) == []


@pytest.mark.parametrize("name", ["file.part", "file.part.json"])
def test_a_file_of_something_else_is_left_alone(name, tmp_path):
    (tmp_path / name).write_text("precious")
    with serving(Behaviour(data=DATA)) as server, pytest.raises(Unusable, match="something else"):
        Call(server.url, tmp_path / "file").run()
    assert (tmp_path / name).read_text() == "precious"


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", ["link", "second name", "pipe"])
@pytest.mark.parametrize("name", ["file.part", "file.part.json", "file.part.json.new"])
def test_nothing_beside_the_file_leads_elsewhere(name, kind, tmp_path):
    place, victim = tmp_path / "place", tmp_path / "victim"
    place.mkdir()
    victim.write_text("precious")
    there = place / name
    if kind == "pipe":
        os.mkfifo(there)
    elif kind == "link":
        there.symlink_to(victim)
    else:
        there.hardlink_to(victim)
    does = Behaviour(data=DATA, cuts=[BLOCK, 0])
    with serving(does) as server, pytest.raises(FetchError) as caught:
        Call(server.url, place / "file", tries=2).run()
    assert victim.read_text() == "precious"
    # A note that was begun and left is no sign of anything: it is written anew.
    assert isinstance(caught.value, Unusable) == (name != "file.part.json.new")
    if name == "file.part.json.new":
        assert "had" in json.loads((place / "file.part.json").read_text())


def test_a_target_is_replaced_only_by_wish_and_only_by_a_whole_file(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    does = Behaviour(data=DATA)
    with serving(does) as server:
        with pytest.raises(Unusable, match="--overwrite"):
            Call(server.url, target).run()
        does.cuts = [BLOCK, 0]
        with pytest.raises(FetchError):
            Call(server.url, target, overwrite=True, tries=2).run()
        assert target.read_text() == "old"
        does.cuts = []
        Call(server.url, target, overwrite=True).run()
    assert target.read_bytes() == DATA


def test_a_redirect_is_followed_and_another_host_gets_no_credentials(tmp_path):
    far = Behaviour(data=DATA, cuts=[9 * BLOCK])
    with serving(far) as other:
        near = Behaviour(statuses=[302] * 9, head=302)
        near.extra["Location"] = other.url
        with serving(near) as server:
            url = server.url.replace("//", "//me:secret@")
            fetched = flashcrowd.fetch(url, tmp_path / "file", headers={"X-Token": "t"})
    assert (tmp_path / "file").read_bytes() == DATA
    assert fetched.retries == 1
    assert near.seen[0][2]["authorization"] == "Basic bWU6c2VjcmV0"
    assert near.seen[0][2]["x-token"] == "t"
    assert all("authorization" not in it and "x-token" not in it for _, _, it in far.seen)
    assert len(far.gets()) == 2


def test_redirects_end(tmp_path):
    does = Behaviour(statuses=[301] * 99, head=301)
    with serving(does) as server:
        does.extra["Location"] = server.url
        with pytest.raises(Unusable, match="without end"):
            Call(server.url, tmp_path / "file").run()
        does.extra["Location"] = "file:///etc/passwd"
        with pytest.raises(Unusable, match="redirects to file:"):
            Call(server.url, tmp_path / "file").run()
    assert left(tmp_path) == []


def test_progress_is_told_and_the_result_counts(tmp_path):
    does = Behaviour(data=DATA, rate=20e6)
    seen = []
    with serving(does) as server:
        fetched = flashcrowd.fetch(server.url, str(tmp_path / "file"), progress=seen.append)
    assert seen[-1].done == seen[-1].length == fetched.bytes == len(DATA)
    assert [it.done for it in seen if it.verifying] == [len(DATA)]
    assert not seen[-1].verifying
    assert all(one.done <= two.done for one, two in itertools.pairwise(seen))
    assert json.dumps(fetched.verified) == "[]"


def test_pythons_server_which_has_no_ranges(tmp_path):
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "file").write_bytes(DATA)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    handler = partial(Quiet, directory=str(tmp_path / "www"))
    with serving(Behaviour(), handler) as server:
        fetched = Call(server.url, tmp_path / "file").run()
    assert (tmp_path / "file").read_bytes() == DATA
    assert (fetched.how, fetched.verified) == ("whole", ())


NGINX = """
daemon off; pid {here}/pid; error_log {here}/error; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {here}/body; proxy_temp_path {here}/proxy; fastcgi_temp_path {here}/f;
  uwsgi_temp_path {here}/u; scgi_temp_path {here}/s;
  server {{ listen 127.0.0.1:{port}; root {here}; }}
}}
"""


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_whole_and_resumed(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    www = tmp_path / "www"
    www.mkdir(mode=0o755)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.getuid():
            folder.chmod(folder.stat().st_mode | 0o011)
    (www / "file").write_bytes(DATA)
    (www / "conf").write_text(NGINX.format(here=www, port=port))
    program = [shutil.which("nginx") or "", "-e", str(www / "error"), "-c", str(www / "conf")]
    with subprocess.Popen(program) as nginx:
        try:
            for _ in range(100):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.02)
            url = f"http://127.0.0.1:{port}/file"
            target = tmp_path / "file"
            fetched = Call(url, target).run()
            assert target.read_bytes() == DATA
            assert fetched.how == "whole"
            # The same with holes, as a server that reorders leaves them.
            part = Part(tmp_path / "two")
            site = Site(url)
            with site.ask("HEAD") as answer:
                part.begin(Source(url, Validator.of(answer.fields), len(DATA)))
            site.close()
            for at in (0, 3 * BLOCK, 9 * BLOCK):
                part.write(at, DATA[at : at + BLOCK])
            part.close()
            fetched = Call(url, tmp_path / "two").run()
        finally:
            nginx.terminate()
    assert (tmp_path / "two").read_bytes() == DATA
    assert (fetched.resumed, fetched.how) == (3 * BLOCK, "ranges")


def test_a_connection_over_which_nothing_comes_is_given_up(tmp_path):
    does = Behaviour(data=DATA)
    halted = threading.Event()
    does.on_get = [lambda: halted.wait(3)]
    with serving(does) as server:
        begin = time.monotonic()
        fetched = flashcrowd.fetch(server.url, tmp_path / "file", timeout_s=0.2)
        halted.set()
    assert fetched.retries == 1
    assert time.monotonic() - begin < 3


def test_a_file_that_changes_before_its_first_byte_is_verified_by_its_own_digests(tmp_path):
    does = Behaviour(data=DATA, digests=True, cuts=[0])

    def change() -> None:
        does.data, does.etag = content(len(DATA), 2), '"v2"'

    does.on_get = [lambda: None, change]
    with serving(does) as server:
        fetched = Call(server.url, tmp_path / "file").run()
    assert (tmp_path / "file").read_bytes() == does.data
    assert (fetched.verified, fetched.refetched) == (("blocks",), 0)


def test_a_server_that_was_away_is_still_asked_for_its_order(tmp_path):
    does = Behaviour(data=DATA, reorders=True, cuts=[9 * BLOCK], statuses=[])
    does.on_get = [lambda: None, lambda: does.statuses.extend([503] * 3)]
    with serving(does) as server:
        fetched = Call(server.url, tmp_path / "file").run()
    assert fetched.how == "any order"
    assert fetched.retries == 4


def test_a_proxy_is_asked_where_the_environment_names_one(tmp_path, monkeypatch):
    does = Behaviour(data=DATA)
    with serving(does) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/file"))
        flashcrowd.fetch("http://mirror.invalid/file", tmp_path / "file")
        assert {target for _, target, _ in does.seen} == {"http://mirror.invalid/file"}
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        does.seen.clear()
        flashcrowd.fetch(proxy.url, tmp_path / "direct")
        assert {target for _, target, _ in does.seen} == {"/file"}
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        with pytest.raises(FetchError, match=r"the proxy: .* no program listens at 127\.0\.0\.1:1"):
            flashcrowd.fetch("http://mirror.invalid/file", tmp_path / "other", tries=1)
    assert (tmp_path / "file").read_bytes() == (tmp_path / "direct").read_bytes() == DATA


@pytest.mark.parametrize("changed", [False, True])
def test_a_part_that_is_whole_gets_its_name_only_if_the_file_is_as_it_was(changed, tmp_path):
    does = Behaviour(data=DATA)
    with serving(does) as server:
        part = Part(tmp_path / "file")
        part.begin(Source(server.url, Validator('"v1"', "", True), len(DATA)))
        part.write(0, DATA)
        part.close()
        if changed:
            does.data, does.etag = content(len(DATA), 2), '"v2"'
        fetched = Call(server.url, tmp_path / "file").run()
    assert (tmp_path / "file").read_bytes() == does.data
    assert fetched.received == (len(DATA) if changed else 0)
    assert len(does.gets()) == changed


def test_where_several_ranges_are_refused_one_part_after_the_other_is_pulled(tmp_path):
    does = Behaviour(data=DATA, reorders=True, refuses_several=416, cuts=[5])
    with serving(does) as server:
        fetched = Call(server.url, tmp_path / "file").run()
    assert (tmp_path / "file").read_bytes() == DATA
    asked = does.gets()[1:]
    assert all("," not in it["range"] for it in asked)
    assert all(it["prefer"] == "part-order=any; parts=1" for it in asked)
    # One for each block, and another for the one that was cut.
    assert len(asked) == 22
    assert (fetched.how, fetched.retries, fetched.received) == ("any order", 1, len(DATA))


def test_where_no_part_is_chosen_by_the_server_its_hints_say_what_to_ask_for(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "PART", 4 * BLOCK)
    does = Behaviour(data=DATA, reorders=True, refuses_several=416, refuses_pull=416)
    does.resident = [(6 * BLOCK, 9 * BLOCK), (11 * BLOCK, 17 * BLOCK)]
    with serving(does) as server:
        fetched = Call(server.url, tmp_path / "file").run()
    assert (tmp_path / "file").read_bytes() == DATA
    asked = does.gets()[2:]
    assert all(it["prefer"] == "resident-ranges" for it in asked)
    blocks = [it["range"].removeprefix("bytes=").split("-") for it in asked]
    # The first one knows no hints; then the longest of what is there, and then what is missing.
    assert [(int(low) // BLOCK, (int(high) + 1) // BLOCK) for low, high in blocks] == [
        *[(0, 4), (11, 15), (6, 9), (15, 17), (4, 6), (9, 11)],
        (17, len(DATA) // BLOCK),
    ]
    assert (fetched.how, fetched.received) == ("hinted ranges", len(DATA))


def test_without_hints_the_rest_is_asked_for_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "PART", 4 * BLOCK)
    does = Behaviour(data=DATA, reorders=True, refuses_several=416, refuses_pull=416)
    with serving(does) as server:
        fetched = Call(server.url, tmp_path / "file").run()
    assert (tmp_path / "file").read_bytes() == DATA
    assert [it["range"] for it in does.gets()[2:]] == [
        f"bytes=0-{4 * BLOCK - 1}",
        f"bytes={4 * BLOCK}-{8 * BLOCK - 1}",
        f"bytes={8 * BLOCK}-{len(DATA) - 1}",
    ]
    assert fetched.how == "ranges"
