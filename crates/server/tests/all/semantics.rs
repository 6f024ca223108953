//! What RFC 9110 says of GET, HEAD, ranges and preconditions.

use crate::client::{Client, ask, content_range, get};
use crate::stand::{Stand, contents};
use serde_json::json;

const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

#[test]
fn whole_files_come_in_order_and_say_what_they_are() {
    let file = contents(700_001, 1);
    let stand = Stand::new(&[("a/b c.iso", &file), ("empty", b""), ("page.html", b"<p>")]);
    let answer = get(stand.address, "/a/b%20c.iso", &[]);
    assert_eq!((answer.status, answer.whole), (200, true));
    assert_eq!(answer.body, file);
    assert_eq!(answer.field("content-length"), "700001");
    assert_eq!(answer.field("accept-ranges"), "bytes");
    assert_eq!(answer.field("vary"), "Prefer");
    assert_eq!(answer.field("last-modified"), DATE);
    assert_eq!(answer.field("content-type"), "application/octet-stream");
    let link = "</a/b%20c.iso?digests>; rel=\"describedby\"; type=\"application/json\"";
    assert_eq!(answer.field("link"), link);
    let etag = answer.field("etag");
    assert!(etag.len() > 2 && etag.starts_with('"') && etag.ends_with('"'), "{etag}");
    // The same without the body (RFC 9110, 9.3.2).
    let mut head = ask(stand.address, "HEAD", "/a/b%20c.iso", &[("Range", "bytes=0-1")]);
    let mut fields = answer.fields.clone();
    for fields in [&mut head.fields, &mut fields] {
        fields.remove("date");
    }
    assert_eq!((head.status, &head.fields), (200, &fields));
    let empty = get(stand.address, "/empty", &[("Range", "bytes=0-65535,65536-")]);
    assert_eq!((empty.status, empty.field("content-length"), empty.whole), (200, "0", true));
    assert_eq!(get(stand.address, "/page.html", &[]).field("content-type"), "text/html");
}

/// Answers to `Range`: status and ranges of what comes, in the order in which it comes.
#[test]
fn ranges_are_those_of_rfc_9110() {
    let file = contents(300_000, 2);
    let stand = Stand::with(&[("f", &file)], json!({"limits": {"ranges": 4}}));
    let mut client = Client::connect(stand.address);
    for (range, status, expected) in [
        ("bytes=0-0", 206, vec![0..1]),
        ("bytes=0-299999", 206, vec![0..300_000]),
        ("bytes=299999-", 206, vec![299_999..300_000]),
        ("bytes=100000-999999999", 206, vec![100_000..300_000]),
        ("bytes=-1", 206, vec![299_999..300_000]),
        ("bytes=-999999999", 206, vec![0..300_000]),
        ("bytes=16383-16384", 206, vec![16_383..16_385]),
        ("bytes=131071-131072", 206, vec![131_071..131_073]),
        // As they were asked for: not sorted, not merged.
        ("bytes=5-9,0-2", 206, vec![5..10, 0..3]),
        ("bytes=0-9,5-14", 206, vec![0..10, 5..15]),
        ("bytes=200000-,0-16384,-1", 206, vec![200_000..300_000, 0..16_385, 299_999..300_000]),
        // Of several, one is left.
        ("bytes=300000-,7-8", 206, vec![7..9]),
        ("bytes=300000-", 416, vec![]),
        ("bytes=-0", 416, vec![]),
        ("bytes=300000-,400000-500000", 416, vec![]),
        // Ignored: malformed, another unit, too many, more than the file together.
        ("bytes=9-5", 200, vec![0..300_000]),
        ("bytes=x", 200, vec![0..300_000]),
        ("items=0-5", 200, vec![0..300_000]),
        ("bytes=0-0,2-2,4-4,6-6,8-8", 200, vec![0..300_000]),
        ("bytes=0-,0-", 200, vec![0..300_000]),
    ] {
        let answer = client.ask("GET", "/f", &[("Range", range)]);
        assert_eq!((answer.status, answer.whole), (status, true), "{range}");
        if status == 416 {
            assert_eq!(answer.field("content-range"), "bytes */300000", "{range}");
            continue;
        }
        let came = match answer.field("content-range") {
            "" if status == 200 => vec![(0..300_000, answer.body.clone())],
            "" => answer.parts().into_iter().map(|part| (part.range, part.bytes)).collect(),
            value => vec![(content_range(value).0, answer.body.clone())],
        };
        assert_eq!(
            came.iter().map(|(range, _)| range.clone()).collect::<Vec<_>>(),
            expected,
            "{range}"
        );
        for (range, bytes) in came {
            assert_eq!(bytes, file[range.start as usize..range.end as usize], "{range:?}");
        }
    }
}

/// The table of RFC 9110, 13.2.2, is tested beside its function; here, that it is asked.
#[test]
fn preconditions_have_their_statuses() {
    let stand = Stand::new(&[("f", &contents(1000, 3))]);
    let etag = get(stand.address, "/f", &[]).field("etag").to_owned();
    let mut client = Client::connect(stand.address);
    let weak = format!("W/{etag}");
    for (fields, status) in [
        (vec![("If-None-Match", &etag[..])], 304),
        (vec![("If-None-Match", &weak[..])], 304),
        (vec![("If-None-Match", "\"x\"")], 200),
        (vec![("If-Modified-Since", DATE)], 304),
        (vec![("If-Match", "\"x\"")], 412),
        (vec![("If-Match", &etag[..]), ("Range", "bytes=1-2")], 206),
        (vec![("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT")], 412),
        (vec![("If-Range", &etag[..]), ("Range", "bytes=1-2")], 206),
        (vec![("If-Range", &weak[..]), ("Range", "bytes=1-2")], 200),
        (vec![("If-Range", DATE), ("Range", "bytes=1-2")], 206),
        (vec![("If-Range", "\"x\""), ("Range", "bytes=9999-")], 200),
        // A failed precondition has priority over an impossible range.
        (vec![("If-None-Match", &etag[..]), ("Range", "bytes=9999-")], 304),
    ] {
        for method in ["GET", "HEAD"] {
            let expected = if method == "HEAD" && status == 206 { 200 } else { status };
            let answer = client.ask(method, "/f", &fields);
            assert_eq!((answer.status, answer.field("etag")), (expected, &etag[..]), "{fields:?}");
            assert!(answer.body.is_empty() == (method == "HEAD" || matches!(status, 304 | 412)));
        }
    }
}

#[test]
fn other_requests_are_refused_in_words() {
    let stand = Stand::new(&[("f", b"x")]);
    for (method, target, status) in [
        ("POST", "/f", 405),
        ("DELETE", "/f", 405),
        ("BREW", "/f", 405),
        ("GET", "/g", 404),
        ("GET", "/f/", 404),
        ("GET", "/f/g", 404),
        ("GET", "/", 404),
        ("GET", "/%", 400),
        ("GET", "http://other/f", 200),
        ("GET", "/f?version=2", 200),
    ] {
        let answer = ask(stand.address, method, target, &[]);
        assert_eq!(answer.status, status, "{method} {target}");
        assert_eq!(answer.field("allow"), if status == 405 { "GET, HEAD" } else { "" });
    }
    let mut client = Client::connect(stand.address);
    client.raw(b"GET /f HTTP/1.1\r\n\r\n");
    assert_eq!(client.receive("GET").status, 400);
    // A client of HTTP/1.0 need not name the host, and knows no chunks.
    let mut client = Client::connect(stand.address);
    client.raw(b"GET /f HTTP/1.0\r\nRange: bytes=0-65535,65536-\r\nPrefer: part-order=any\r\n\r\n");
    let answer = client.receive("GET");
    assert_eq!(
        (answer.status, answer.field("preference-applied"), &answer.body[..]),
        (206, "", &b"x"[..])
    );
}

#[test]
fn directories_are_listed_if_that_is_wished() {
    let files: [(&str, &[u8]); 3] =
        [("d/<a>&.txt", b"12345"), ("d/sub/x", b""), ("d/.hidden", b"")];
    let stand = Stand::with(&files, json!({"listing": true}));
    let answer = get(stand.address, "/d", &[]);
    assert_eq!((answer.status, answer.field("location")), (301, "/d/"));
    let page = String::from_utf8(get(stand.address, "/d/", &[]).body).unwrap();
    let row = "<a href=\"./%3Ca%3E%26.txt\">&lt;a&gt;&amp;.txt</a></td><td class=\"n\" title=\"5 bytes\">5 B</td>\
               <td class=\"t\">1994-11-06 08:49</td></tr>\n";
    assert!(page.contains(row) && page.contains("<a href=\"./sub/\">sub/</a>"), "{page}");
    assert!(page.contains("<p>1 folder, 1 file, 5 B</p>"), "{page}");
    assert!(!page.contains("hidden"), "{page}");
    assert_eq!(get(stand.address, "/d/%3Ca%3E%26.txt", &[]).body, b"12345");
}

/// By links alone: whatever column is asked for, directories come first.
#[test]
fn a_list_is_sorted_as_its_address_says() {
    let files: [(&str, &[u8]); 4] = [("b", b"1"), ("a", b"333"), ("c", b"22"), ("sub/x", b"")];
    let stand = Stand::with(&files, json!({"listing": true}));
    let set = |name: &str, seconds: u64| {
        let file = std::fs::File::options().append(true).open(stand.path(name)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
    };
    for (name, seconds) in [("a", 20), ("b", 30), ("c", 10)] {
        set(name, seconds);
    }
    for (query, expected) in [
        ("", ["sub/", "a", "b", "c"]),
        ("?sort=name&order=desc", ["sub/", "c", "b", "a"]),
        ("?sort=size&order=desc", ["sub/", "a", "c", "b"]),
        ("?sort=size&order=asc", ["sub/", "b", "c", "a"]),
        ("?sort=date&order=desc", ["sub/", "b", "a", "c"]),
        ("?sort=%3Cscript%3E&order=%22", ["sub/", "a", "b", "c"]),
    ] {
        let answer = get(stand.address, &format!("/{query}"), &[]);
        let page = String::from_utf8(answer.body).unwrap();
        let rows = page.lines().filter(|line| line.starts_with("<tr"));
        let names: Vec<&str> = rows
            .filter_map(|row| Some(row.split_once("href=\"./")?.1.split_once('"')?.0))
            .collect();
        assert_eq!(names, expected, "{query}");
        assert_eq!(page.matches("aria-sort").count(), 1);
        assert!(!page.contains("script>"), "{page}");
    }
}

/// A browser shows what is text, and takes it for nothing else; what a name says is not carried out.
#[test]
fn a_browser_is_told_what_it_may_do() {
    let files: [(&str, &[u8]); 3] =
        [("SHA256SUMS", b"x"), ("README", b"<script>"), ("<script>alert(1)</script>", b"")];
    let stand = Stand::with(&files, json!({"listing": true}));
    for name in ["SHA256SUMS", "README"] {
        let answer = get(stand.address, &format!("/{name}"), &[]);
        let (kind, sniff) = (answer.field("content-type"), answer.field("x-content-type-options"));
        assert_eq!((kind, sniff), ("text/plain; charset=utf-8", "nosniff"), "{name}");
    }
    let answer = get(stand.address, "/", &[]);
    let policy = answer.field("content-security-policy").to_owned();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{policy}");
    let page = String::from_utf8(answer.body).unwrap();
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;alert(1)&lt;"), "{page}");
}

/// As two mirrors of a tree have it (`rsync -a`, `cp -p`): other inodes, other times of change.
#[test]
fn mirrors_agree_on_tags_of_date_and_length_and_not_on_others() {
    for (etag, agree) in [("mtime-size", true), ("version", false)] {
        let mirrors = [(); 2].map(|()| Stand::with(&[("f", b"12345")], json!({"etag": etag})));
        let tags = mirrors.each_ref().map(|it| get(it.address, "/f", &[]).field("etag").to_owned());
        assert_eq!(tags[0] == tags[1], agree, "{tags:?}");
        assert!(tags[0].starts_with('"'));
        // So a part of the one goes on with a part of the other, or is not given.
        let range = [("Range", "bytes=2-"), ("If-Range", tags[0].as_str())];
        assert_eq!(get(mirrors[1].address, "/f", &range).status, if agree { 206 } else { 200 });
    }
}

/// Rewritten in place with its old length and its old date: no client resumes with another file's
/// part.
#[test]
fn a_file_that_is_rewritten_under_its_old_date_has_another_tag() {
    for etag in ["mtime-size", "version"] {
        let stand = Stand::with(&[("f", b"12345")], json!({"etag": etag}));
        let before = get(stand.address, "/f", &[]).field("etag").to_owned();
        let mut file = std::fs::File::options().write(true).open(stand.path("f")).unwrap();
        let date = file.metadata().unwrap().modified().unwrap();
        // Later than the last time by a tick of the kernel's clock.
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::io::Write::write_all(&mut file, b"abcde").unwrap();
        file.set_modified(date).unwrap();
        let range = [("Range", "bytes=2-"), ("If-Range", before.as_str())];
        let answer = get(stand.address, "/f", &range);
        assert_eq!((answer.status, &answer.body[..]), (200, &b"abcde"[..]), "{etag}");
        assert_ne!(answer.field("etag"), before);
    }
}
