//! Nothing outside of the directory is served.

use crate::client::{Client, get};
use crate::stand::Stand;
use serde_json::json;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

/// As an attacker would send them, not a client that normalises.
#[test]
fn no_target_leads_out() {
    let stand = Stand::new(&[("served/f", b"inside")]);
    std::fs::write(stand.path("secret"), "outside").unwrap();
    // The directory that is served is one below.
    let inner = Stand::with(&[], json!({"root": stand.path("served")}));
    for target in [
        "/../secret",
        "/..%2fsecret",
        "/%2e%2e/secret",
        "/%2e%2e%2fsecret",
        "/f/../../secret",
        "//../secret",
        "/..\\secret",
        "/..%5csecret",
        "/%c0%ae%c0%ae/secret",
        "/..%00/secret",
        "/f%00.html",
        "/./../secret",
        "/.../secret",
        "/%252e%252e/secret",
        "/..;/secret",
        "/\\\\host\\share",
        "/C:/secret",
        "/file:///secret",
        "/proc/self/root/etc/passwd",
    ] {
        let answer = get(inner.address, target, &[]);
        assert!(matches!(answer.status, 400 | 404), "{target}: {}", answer.status);
        assert!(!answer.body.windows(7).any(|bytes| bytes == b"outside"), "{target}");
    }
    assert_eq!(get(inner.address, "//f", &[]).body, b"inside");
    // And what is no target at all.
    for line in ["GET ../secret HTTP/1.1", "GET secret HTTP/1.1", "GET  HTTP/1.1", "\0\0\0\0"] {
        let mut client = Client::connect(inner.address);
        client.raw(format!("{line}\r\nHost: x\r\n\r\n").as_bytes());
        if let Some(answer) = client.head() {
            assert!((400..500).contains(&answer.status), "{line:?}: {}", answer.status);
        }
    }
}

#[test]
fn symbolic_links_are_followed_as_was_chosen() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "outside").unwrap();
    for (choice, within, beyond) in
        [("within", 200, 404), ("refuse", 404, 404), ("follow", 200, 200)]
    {
        let stand = Stand::with(&[("f", b"inside")], json!({"symlinks": choice, "listing": true}));
        symlink("f", stand.path("link")).unwrap();
        symlink(outside.path().join("secret"), stand.path("out")).unwrap();
        symlink("loop", stand.path("loop")).unwrap();
        let status = |target| get(stand.address, target, &[]).status;
        let statuses = (status("/link"), status("/out"), status("/loop"));
        assert_eq!(statuses, (within, beyond, 404), "{choice}");
        // The list says of links what a request would find: nothing of the size of what is outside.
        let page = String::from_utf8(get(stand.address, "/", &[]).body).unwrap();
        let shown = |name: &str| page.contains(&format!("./{name}"));
        assert_eq!(
            (shown("link"), shown("out"), shown("loop")),
            (within == 200, beyond == 200, false)
        );
    }
}

/// However it is asked for; but what is there to be found by its name is found.
#[test]
fn names_with_a_dot_are_not_served_unless_that_is_wished_for() {
    let files = [".htpasswd", "d/.git/config", ".well-known/acme-challenge/t", ".well-known/.x"];
    let files = files.map(|name| (name, &b"x"[..]));
    let statuses = |with| {
        let stand = Stand::with(&files, with);
        symlink(".htpasswd", stand.path("link")).unwrap();
        let targets = [
            "/.htpasswd",
            "/%2ehtpasswd",
            "/d/.git/config",
            "/d/.git/config?digests",
            "/d/.git/",
            "/.well-known/.x",
            "/.well-known/acme-challenge/t",
            "/.well-known/",
            "/link",
        ];
        let statuses = targets.map(|target| get(stand.address, target, &[]).status);
        let page = String::from_utf8(get(stand.address, "/", &[]).body).unwrap();
        (statuses.map(|status| status / 100 == 2), page.contains("./.htpasswd"))
    };
    let (n, y) = (false, true);
    assert_eq!(statuses(json!({"listing": true})), ([n, n, n, n, n, n, y, y, y], false));
    let all = json!({"listing": true, "hidden": true});
    assert_eq!(statuses(all), ([y; 9], true));
}

/// A pipe has no writer: opening it must not wait.
#[test]
fn what_is_no_file_is_not_served() {
    let stand = Stand::new(&[("d/f", b"x")]);
    let pipe = stand.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = UnixListener::bind(stand.path("socket")).unwrap();
    for target in ["/pipe", "/socket", "/d/"] {
        assert_eq!(get(stand.address, target, &[]).status, 404, "{target}");
    }
    let answer = get(stand.address, "/d", &[]);
    assert_eq!((answer.status, answer.field("location")), (301, "/d/"));
}
