//! Plays packetdrill's scripts as they are: from the folder in `PACKETDRILL_SCRIPTS`, and below. Says for
//! each what became of it. The scripts are not ours; without a folder there is nothing to do.

mod language;
mod player;

use player::{Outcome, play};
use std::path::{Path, PathBuf};

/// What a script does, in words.
fn outcome(path: &Path) -> Outcome {
    let Ok(text) = std::fs::read_to_string(path) else {
        return Outcome::Unsupported(0, "not a text".into());
    };
    match language::parse(&text) {
        Ok(script) => play(&script, path.parent().unwrap_or(Path::new("."))),
        Err(error) => Outcome::Unsupported(error.line, error.what),
    }
}

fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
}

/// Scripts of packetdrill's own collection (gtests/net/tcp) that pass, and have to go on passing.
const PASSING: &str = include_str!("passing.txt");

#[test]
fn scripts_of_a_given_folder() {
    let Some(folder) = std::env::var_os("PACKETDRILL_SCRIPTS") else {
        println!("skipped: PACKETDRILL_SCRIPTS names no folder of scripts");
        return;
    };
    let folder = Path::new(&folder);
    let mut found = Vec::new();
    scripts(folder, &mut found);
    assert!(!found.is_empty(), "no .pkt file below {}", folder.display());
    let (mut passed, mut failed, mut unsupported) = (0, 0, 0);
    let mut broken = Vec::new();
    for path in &found {
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        let result = outcome(path);
        match &result {
            Outcome::Passed => passed += 1,
            Outcome::Failed(..) => failed += 1,
            Outcome::Unsupported(..) => unsupported += 1,
        }
        match &result {
            Outcome::Passed => println!("passed         {name}"),
            Outcome::Failed(line, why) => println!("failed         {name}:{line}: {why}"),
            Outcome::Unsupported(line, what) => println!("not supported  {name}:{line}: {what}"),
        }
        let known = PASSING.lines().any(|line| !line.is_empty() && path.ends_with(line));
        if known && result != Outcome::Passed {
            broken.push(name);
        }
    }
    println!("{passed} passed, {failed} failed, {unsupported} not supported");
    assert!(broken.is_empty(), "these passed before: {broken:?}");
}

/// A handshake, data, a loss and its repair, an end: in the words of the language.
const OURS: &str = "
--tolerance_usecs=5000
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7> // no timestamps
   +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
  +.1 < . 1:1(0) ack 1 win 512
   +0 accept(3, ..., ...) = 4
   +0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
   +0 read(4, ..., 100) = -1 EAGAIN (not yet)
   +0 write(4, ..., 5000) = 5000
   +0 > P. 1:5001(5000) ack 1
  +.1 < . 1:1(0) ack 1001 win 512 <sack 2001:5001,nop,nop>
   +0 > . 1001:2001(1000) ack 1
   +0 %{ assert tcpi_snd_ssthresh == 7, tcpi_snd_ssthresh
         assert tcpi_ca_state == TCP_CA_Recovery and tcpi_sacked == 3 }%
  +.1 < F. 1:1(0) ack 5001 win 512
   +0 > . 5001:5001(0) ack 2
   +0 read(4, ..., 100) = 0
   +0 close(4) = 0
   +0 > F. 5001:5001(0) ack 2
   +0 < . 2:2(0) ack 5002 win 512
   +0 < . 2:2(0) ack 5002 win 512
   +0 > R 5002:5002(0)
";

fn play_text(text: &str) -> Outcome {
    match language::parse(text) {
        Ok(script) => play(&script, Path::new(".")),
        Err(error) => Outcome::Unsupported(error.line, error.what),
    }
}

#[test]
fn the_player_plays() {
    assert_eq!(play_text(OURS), Outcome::Passed);
}

/// A player that lets everything pass proves nothing: each of these changes makes the script wrong.
#[test]
fn the_player_notices() {
    for (right, wrong) in [
        ("> P. 1:5001(5000)", "> P. 1:6001(6000)"),
        ("> . 1001:2001", "> . 2001:3001"),
        ("ack 1 <mss 1460,nop,nop,sackOK", "ack 1 <mss 1400,nop,nop,sackOK"),
        ("> S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop", "> S. 0:0(0) ack 1 <mss 1460,nop"),
        ("   +0 > . 1001:2001", " +.05 > . 1001:2001"),
        ("ssthresh == 7", "ssthresh == 8"),
        ("tcpi_sacked == 3", "tcpi_sacked == 4"),
        ("-1 EAGAIN", "0"),
        ("> F. 5001:5001(0) ack 2", "> . 5001:5001(0) ack 2"),
        ("> R 5002:5002(0)", "> R. 5002:5002(0)"),
        ("> . 5001:5001(0) ack 2", "> . 5001:5001(0) ack 2 <sack 1:2>"),
    ] {
        let script = OURS.replacen(right, wrong, 1);
        assert_ne!(script, OURS, "{right}");
        assert!(matches!(play_text(&script), Outcome::Failed(..)), "{wrong}");
    }
    for (right, unknown) in [("bind", "poll"), ("tcpi_sacked", "tcpi_pacing"), ("sackOK", "FO")] {
        let script = OURS.replacen(right, unknown, 1);
        assert!(matches!(play_text(&script), Outcome::Unsupported(..)), "{unknown}");
    }
}
