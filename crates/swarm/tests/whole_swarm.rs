//! Whole swarms complete, and every rule of the profile makes a difference.

mod util;

use flashcrowd_base::Span;
use flashcrowd_swarm::profile::named;
use flashcrowd_swarm::{Profile, Torrent};
use std::fmt::Write;
use util::{Make, secs, torrent};

fn mainline() -> Profile {
    named("mainline-4.0.2").unwrap()
}

#[test]
fn a_swarm_completes_under_every_profile() {
    let mut table =
        String::from("profile           mean s  last s  up MB  blocks  haves  cancels\n");
    for profile in flashcrowd_swarm::profile::all() {
        let name = profile.name.clone();
        let mut swarm = Make::new(profile, 12, torrent(12)).build();
        assert!(swarm.run(secs(4000)), "{name} does not end");
        let last = swarm.logs.iter().filter_map(|log| log.completed).max().unwrap();
        let up: u64 = swarm.peers.iter().map(|peer| peer.bytes_up()).sum();
        writeln!(
            table,
            "{name:16} {:7.1} {:7.1} {:6.1} {:7} {:6} {:8}",
            swarm.mean_completion(),
            last.seconds(),
            up as f64 / 1e6,
            swarm.received("piece"),
            swarm.received("have"),
            swarm.received("cancel"),
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}
