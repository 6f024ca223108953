//! Programs that people have. Where one is not installed its test says so, and passes.

use crate::stand::{Stand, contents};
use std::path::Path;
use std::process::{Command, Output};

/// Runs a program; nothing if it is not there.
fn run(program: &str, arguments: &[&str], place: &Path) -> Option<Output> {
    match Command::new(program).args(arguments).current_dir(place).output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("skipped: {program} is not installed ({error})");
            None
        }
    }
}

/// Runs a program that must succeed, and compares the file that it has made.
fn fetches(program: &str, arguments: &[&str], place: &Path, name: &str, expected: &[u8]) {
    let Some(output) = run(program, arguments, place) else { return };
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
    let got = std::fs::read(place.join(name)).unwrap();
    assert!(got == expected, "{program} {arguments:?}: {} bytes", got.len());
}

#[test]
fn curl_gets_files_ranges_and_the_rest_of_files() {
    let file = contents(3_000_001, 1);
    let stand = Stand::new(&[("f", &file)]);
    let (url, place) = (stand.url("/f"), tempfile::tempdir().unwrap());
    let place = place.path();
    fetches("curl", &["-sSfo", "a", &url], place, "a", &file);
    fetches("curl", &["-sSfo", "b", "-r", "1000-99999", &url], place, "b", &file[1000..100_000]);
    std::fs::write(place.join("c"), &file[..1_234_567]).unwrap();
    fetches("curl", &["-sSfC", "-", "-o", "c", &url], place, "c", &file);
    // A preference that a shell's alias adds does no harm.
    let preference = "Prefer: part-order=any";
    fetches("curl", &["-sSfo", "d", "-H", preference, &url], place, "d", &file);
    std::fs::write(place.join("e"), &file[..777]).unwrap();
    fetches("curl", &["-sSfC", "-", "-o", "e", "-H", preference, &url], place, "e", &file);
    if let Some(output) = run("curl", &["-sSI", &url], place) {
        let head = String::from_utf8_lossy(&output.stdout).to_ascii_lowercase();
        assert!(head.contains("content-length: 3000001\r\n"), "{head}");
    }
}

#[test]
fn wget_gets_files_and_the_rest_of_files() {
    let file = contents(2_000_003, 2);
    let stand = Stand::new(&[("f", &file)]);
    let (url, place) = (stand.url("/f"), tempfile::tempdir().unwrap());
    let place = place.path();
    fetches("wget", &["-qO", "a", &url], place, "a", &file);
    std::fs::write(place.join("f"), &file[..1_500_000]).unwrap();
    fetches("wget", &["-qc", &url], place, "f", &file);
}

#[test]
fn aria2_gets_a_file_over_several_connections() {
    let file = contents(12_000_000, 3);
    let stand = Stand::new(&[("f", &file)]);
    let (url, place) = (stand.url("/f"), tempfile::tempdir().unwrap());
    let arguments = ["-q", "-x", "4", "-s", "4", "-k", "1M", "--no-conf", "-o", "a", &url];
    fetches("aria2c", &arguments, place.path(), "a", &file);
}

#[test]
fn curl_speaks_http_2_by_prior_knowledge_and_by_upgrade_not_at_all() {
    let file = contents(3_000_001, 4);
    let stand = Stand::new(&[("f", &file)]);
    let (url, place) = (stand.url("/f"), tempfile::tempdir().unwrap());
    let place = place.path();
    let Some(version) = run("curl", &["--version"], place) else { return };
    if !String::from_utf8_lossy(&version.stdout).contains("HTTP2") {
        return eprintln!("skipped: this curl has no HTTP/2");
    }
    let known = "--http2-prior-knowledge";
    fetches("curl", &["-sSfo", "a", known, &url], place, "a", &file);
    fetches("curl", &["-sSfo", "b", known, "-r", "7-99", &url], place, "b", &file[7..100]);
    std::fs::write(place.join("c"), &file[..1_234_567]).unwrap();
    fetches("curl", &["-sSfC", "-", "-o", "c", known, &url], place, "c", &file);
    fetches("curl", &["-sSfo", "d", "--http2", &url], place, "d", &file);
    let arguments = ["-sSI", known, "-o", "e", "-w", "%{http_version} %{http_code}", &url];
    if let Some(output) = run("curl", &arguments, place) {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "2 200");
    }
}

#[test]
fn h2load_gets_all_answers_over_many_streams() {
    let file = contents(100_003, 5);
    let stand = Stand::new(&[("f", &file)]);
    let (url, place) = (stand.url("/f"), tempfile::tempdir().unwrap());
    let arguments = ["-n", "200", "-c", "4", "-m", "20", "-t", "1", &url];
    let Some(output) = run("h2load", &arguments, place.path()) else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("200 succeeded, 0 failed, 0 errored, 0 timeout"), "{said}");
    stand.until(|now| now.connections == 0 && now.served_bytes == 200 * 100_003);
}
