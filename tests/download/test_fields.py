"""Header fields and lists of digests: what is taken, and any text does no harm."""

import base64
import hashlib
import json
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.download.servers import BLOCK, content, digests

from flashcrowd.download import part
from flashcrowd.download.digests import Digests, NotUsable
from flashcrowd.download.patience import LONGEST_S, Patience
from flashcrowd.http import fields
from flashcrowd.http.fields import ContentRange, Validator

TEXT = st.text(st.characters(max_codepoint=255), max_size=60)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("bytes 0-499/1234", (0, 500, 1234)),  # RFC 9110, 14.4
        ("bytes 42-1233/1234", (42, 1234, 1234)),
        ("bytes 42-1233/*", (42, 1234, None)),
        ("Bytes\t7-7/8", (7, 8, 8)),
        ("bytes 7-6/8", None),
        ("bytes 7-8/8", None),
        ("bytes */1234", None),
        ("bytes 0-499", None),
        ("bytes -1-499/500", None),
        ("bytes 0-٤/500", None),
        ("pages 0-4/5", None),
        (f"bytes 0-{10**18}/*", None),
    ],
)
def test_content_range(text, wanted):
    got = ContentRange.parse(text)
    assert (got and (got.start, got.end, got.length)) == wanted


def test_the_length_of_a_file_that_has_no_such_range():
    assert fields.unsatisfied("bytes */47022") == 47022
    assert fields.unsatisfied("bytes 0-1/2") is None


def test_what_tells_versions_apart():
    now, old = "Sat, 21 Nov 2020 10:01:00 GMT", "Sat, 21 Nov 2020 10:00:00 GMT"
    fresh = "Sat, 21 Nov 2020 10:00:30 GMT"
    of = lambda **said: Validator.of({"date": now, **said})  # noqa: E731
    dated = of(**{"last-modified": old})
    assert of(etag='"a"').if_range == '"a"'
    assert of(etag='"a"', **{"last-modified": old}).if_range == '"a"'
    assert of(etag='W/"a"').if_range == ""
    assert dated.if_range == old
    assert of(etag='W/"a"', **{"last-modified": old}).if_range == old
    assert of(**{"last-modified": fresh}).if_range == ""
    assert of(**{"last-modified": "yesterday"}).if_range == ""
    assert of(**{"last-modified": f"{old}, {old}"}).if_range == ""
    assert Validator.of({"date": f"{now}, {old}", "last-modified": old}).if_range == ""
    assert of(etag='"a').if_range == ""
    assert dated.same(of(**{"last-modified": old}))
    assert not dated.same(of(etag='"a"', **{"last-modified": old}))
    assert of(etag='"a"').same(of(etag='"a"', **{"last-modified": old}))
    assert not of().same(of())


def test_digests_of_the_whole():
    small, large = hashlib.sha256(b"x").digest(), hashlib.sha512(b"x").digest()
    said = [
        f"{name}=:{base64.b64encode(it).decode()}:"
        for name, it in (("sha-512", large), ("sha-256", small))
    ]
    assert fields.repr_digest({"repr-digest": ", ".join(said)}) == ("sha256", small)
    assert fields.repr_digest({"repr-digest": f"md5=:xx:,{said[0]}"}) == ("sha512", large)
    for wrong in ("", "sha-256=:AAAA:", "sha-256=AAAA", "sha-256=:?:", said[0][:-1]):
        assert fields.repr_digest({"repr-digest": wrong}) is None


def test_links():
    text = '</a>; rel=next, </f?digests>; rel="describedby" ; type="application/json"'
    link = lambda text: fields.link(  # noqa: E731
        {"link": text}, "describedby", "application/json", "http://h/d/f"
    )
    assert link(text) == "http://h/f?digests"
    assert link('<x>; type="application/json"; rel="up describedby"') == "http://h/d/x"
    assert link('<x>; rel="describedby"') is None
    assert link('<x>; rel="describedby"; type="text/html"') is None
    assert link('<http://[x>; rel="describedby"; type="application/json"') is None


def test_boundaries():
    assert fields.boundary("multipart/byteranges; boundary=THIS_STRING") == b"THIS_STRING"
    assert fields.boundary('Multipart/ByteRanges; x=y; boundary="a b=c"') == b"a b=c"
    for wrong in (
        "text/plain; boundary=x",
        "multipart/byteranges",
        "multipart/byterangesx; boundary=x",
        "multipart/byteranges; boundary=" + "x" * 71,
        'multipart/byteranges; boundary="x "',
        'multipart/byteranges; boundary="a\r\nb"',
    ):
        assert fields.boundary(wrong) is None


@given(TEXT)
def test_any_text_in_a_field_does_no_harm(text):
    ContentRange.parse(text)
    fields.boundary("multipart/byteranges;" + text)
    fields.link({"link": "<x>;" + text}, "describedby", "application/json", "http://h/")
    fields.repr_digest({"repr-digest": text})
    Validator.of({"etag": text, "date": text, "last-modified": text})


DATA = content(3 * BLOCK + 5)


def test_a_list_of_digests_is_read():
    got = Digests.parse(json.dumps({**digests(DATA, '"v"'), "later": 1}).encode())
    assert (got.etag, got.length, got.block_bytes) == ('"v"', len(DATA), BLOCK)
    assert [DATA[slice(*got.block(it))] for it in range(4)] == [
        DATA[it : it + BLOCK] for it in range(0, len(DATA), BLOCK)
    ]
    assert got.blocks[3] == hashlib.sha256(DATA[-5:]).digest()
    assert got.whole == hashlib.sha256(DATA).digest()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"format": "other"}, "format 'other'"),
        ({"version": 2}, "version 2"),
        ({"version": True}, "version True"),
        ({"algorithm": "md5"}, "by 'md5'"),
        ({"block_bytes": 65537}, "blocks of 65537"),
        ({"block_bytes": 1024}, "blocks of 1024"),
        ({"length": -1}, "of blocks of"),
        ({"length": 4 * BLOCK + 1}, "another number of blocks"),
        ({"blocks": ["AB" * 32] * 4}, "no SHA-256"),
        ({"blocks": [7] * 4}, "no SHA-256"),
        ({"blocks": "abcd"}, "another number of blocks"),
        ({"whole": "x"}, "no SHA-256"),
        ({"etag": None}, "cannot be read"),
        ({"length": 1.5}, "cannot be read"),
    ],
)
def test_a_list_that_is_none_is_refused_and_why(changed, why):
    with pytest.raises(NotUsable, match=why):
        Digests.parse(json.dumps({**digests(DATA, '"v"'), **changed}).encode())


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(string.printable),
    lambda it: st.lists(it) | st.dictionaries(
        st.sampled_from([*digests(b"", ""), "x"]), it
    ),
    max_leaves=8,
) | st.binary())  # fmt: skip
def test_any_json_is_no_list_or_one(said):
    text = said if isinstance(said, bytes) else json.dumps(said).encode()
    with pytest.raises(NotUsable):
        Digests.parse(text)
    assert part._read(text) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"length": 9},
        {"length": None},
        {"had": [[5, 5]]},
        {"had": [[-1, 5]]},
        {"had": [[0, 5.0]]},
        {"had": [[0, 1, 2]]},
        {"had": [["0", "5"]]},
        {"had": 7},
        {"version": 2},
        {"url": 7},
        {"servers": 7},
        {"servers": [7]},
        {"etag": None},
    ],
)
def test_a_note_that_cannot_be_is_none(changed):
    note = {"format": "flashcrowd-part", "version": 1, "url": "http://h/f", "etag": '"v"'}
    note |= {"last_modified": "", "length": 10, "had": [[0, 5], [7, 10]]}
    source, ranges, servers = part._read(json.dumps(note).encode()) or (None, [], set())
    assert source == part.Source("http://h/f", Validator('"v"', "", True), 10)
    assert list(ranges) == [(0, 5), (7, 10)]
    assert servers == {"http://h/f"}
    assert part._read(json.dumps(note | changed).encode()) is None


def test_waits_double_with_chance_and_end():
    patience = Patience(12, random.Random(1))
    waits = [patience.next(None) for _ in range(12)]
    assert waits[-1] is None
    for index, wait in enumerate(waits[:-1]):
        middle = min(LONGEST_S, 0.5 * 2**index)
        assert wait is not None
        assert 0.75 * middle <= wait <= 1.25 * middle
    assert Patience(3).next(7.0) == 7.0
    assert Patience(3).next(601.0) is None
    patience = Patience(2)
    for _ in range(5):
        assert patience.next(None) is not None
        patience.came(1 << 20, None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("bytes=0-0", [(0, 1)]),
        ("bytes=0-4, 10-19,30-39", [(0, 5), (10, 20), (30, 40)]),
        ("bytes=5-4,7-8", [(7, 9)]),
        ("", []),
        ("bytes=", []),
        ("bytes=1-", []),
        ("bytes=-5", []),
        ("bytes=1-2,x", []),
        ("bytes=1-" + 19 * "9", []),
        ("bytes=" + ",".join(["1-2"] * 2000), []),
    ],
)
def test_runs(text, wanted):
    assert fields.runs(text) == wanted
