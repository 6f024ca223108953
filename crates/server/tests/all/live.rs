//! The page of what goes on.

use crate::client::get;
use crate::stand::{Stand, contents};
use serde_json::json;

fn page(stand: &Stand) -> String {
    let answer = get(stand.metrics.unwrap(), "/live", &[]);
    assert_eq!((answer.status, answer.whole), (200, true));
    assert_eq!(answer.field("content-type"), "text/html; charset=utf-8");
    String::from_utf8(answer.body).unwrap()
}

#[test]
fn it_shows_what_is_in_memory_of_each_file() {
    let file = contents(600_000, 1);
    let with = json!({"metrics": "127.0.0.1:0", "origin": {"scheduling": {"kind": "circus"}}});
    let stand = Stand::with(&[("d/f", &file), ("g", &file)], with);
    assert!(!page(&stand).contains("<h2>"));
    // The second extent of five, and all.
    get(stand.address, "/g", &[("Range", "bytes=131072-131080")]);
    get(stand.address, "/d/f", &[]);
    stand.until(|now| now.clients == 0);
    let page = page(&stand);
    let maps: Vec<&str> = page.split("<h2>").skip(1).collect();
    let percents = |map: &str| map.matches(" %\">\n").count();
    assert!(
        maps[0].starts_with("d/f</h2>\n<p>600 kB, downloads: 0, in memory: 600 kB\n"),
        "{page}"
    );
    assert_eq!((percents(maps[0]), maps[0].matches(": 100 %\">\n").count()), (5, 5), "{page}");
    assert!(maps[1].starts_with("g</h2>\n<p>600 kB, downloads: 0, in memory: 131 kB\n"), "{page}");
    assert!(page.contains("<tr><th>downloads<td>0\n"), "{page}");
}

/// A download that waits for its client.
#[test]
fn the_region_of_circus_is_framed_while_somebody_downloads() {
    let with = json!({"metrics": "127.0.0.1:0", "limits": {"send_buffer_bytes": 4096},
        "origin": {"scheduling": {"kind": "circus", "active_bytes": 1 << 18}}});
    let stand = Stand::with(&[("f", &contents(20_000_000, 2))], with);
    let mut client = crate::client::Client::connect(stand.address);
    client.send("GET", "/f", &[]);
    client.head().unwrap();
    let page = page(&stand);
    assert!(page.contains("20.0 MB, downloads: 1, in memory: "), "{page}");
    assert!(page.contains(", active region: from 0 B to 262 kB\n"), "{page}");
    assert_eq!(
        (page.matches("<td class=\"region\"").count(), page.matches(" %\">\n").count()),
        (1, 51)
    );
}

#[test]
fn names_are_no_markup() {
    let with = json!({"metrics": "127.0.0.1:0"});
    let stand = Stand::with(&[("<script>alert(1)&'\"", b"x")], with);
    assert_eq!(get(stand.address, "/%3Cscript%3Ealert(1)&'%22", &[]).body, b"x");
    let page = page(&stand);
    assert!(page.contains("<h2>&lt;script&gt;alert(1)&amp;&#39;&quot;</h2>"), "{page}");
    assert!(!page.contains("<script"), "{page}");
}
