use crate::amounts::scaled;
use crate::clock::Clock;
use crate::listing::escaped;
use crate::map::{Cell, FileMap};
use crate::meters::Snapshot;
use flashcrowd_base::{Span, Time};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// The shortest time of a rate: people who look at the same time see the same.
const MIN: Span = Span::from_secs(1);
/// Files that are shown.
const MAX_FILES: usize = 50;

/// It loads nothing from elsewhere, and reloads every two seconds. The colour of a cell shows how much of it is in
/// memory, and its tooltip the number; cells of the active region are underlined.
const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<meta http-equiv=\"refresh\" content=\"2\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<title>flashcrowd serve</title>
<style>
:root { color-scheme: light dark }
body { font: 1rem/1.4 system-ui, sans-serif; margin: 1.5rem auto; max-width: 60rem; padding: 0 1rem }
h1 { font-size: 1.25em }
h2 { font-size: 1.1em; margin: 1.5em 0 0; overflow-wrap: anywhere }
p { margin: 0.2em 0 }
th { text-align: left; font-weight: normal; padding-right: 2em }
.map { border-collapse: collapse; width: 100%; table-layout: fixed; margin-top: 0.4em }
.map td { height: 1.6em; padding: 0; border: 1px solid #8884 }
.map .region { border-bottom: 3px solid }
</style>
<h1>flashcrowd serve</h1>
";

/// The totals up to an instant, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    at: Time,
    sent: u64,
    served: u64,
    read: u64,
}

/// The server's activity, as a page for people. Rates are of the time between the last two looks at
/// it.
#[derive(Debug)]
pub(crate) struct Live {
    clock: Clock,
    looks: Mutex<[Totals; 2]>,
}

impl Live {
    pub(crate) fn new() -> Live {
        Live { clock: Clock::started(), looks: Mutex::default() }
    }

    /// The page in HTML.
    pub(crate) fn page(&self, now: &Snapshot, maps: &[FileMap]) -> String {
        let [before, after] = self.look(now);
        let span_s = after.at.since(before.at).seconds();
        let rate = |amount: u64, unit: &str| {
            if span_s > 0.0 { scaled(amount as f64 / span_s, unit) } else { "-".into() }
        };
        let sent = after.sent.saturating_sub(before.sent);
        let served = after.served.saturating_sub(before.served);
        let read = after.read.saturating_sub(before.read);
        let ratio =
            if served > 0 { format!("{:.2}", read as f64 / served as f64) } else { "-".into() };
        let mut page = HEAD.to_owned();
        page.push_str("<table>\n");
        for (name, value) in [
            ("downloads", now.clients.to_string()),
            ("of these wait for the disk", now.waiting.to_string()),
            ("connections", now.connections.to_string()),
            ("network", rate(8 * sent, "bit/s")),
            ("disk", rate(read, "B/s")),
            ("miss ratio", ratio),
            ("disk queue", now.queued_reads.to_string()),
            ("disk errors so far", now.disk_errors.to_string()),
            ("contents in memory", scaled(now.memory_bytes as f64, "B")),
        ] {
            // Writing into a string does not fail.
            let _ = writeln!(page, "<tr><th>{name}<td>{value}");
        }
        let _ = writeln!(page, "</table>\n<p>Rates are of {span_s:.1} s.");
        for map in maps.iter().take(MAX_FILES) {
            put_map(&mut page, map);
        }
        if maps.len() > MAX_FILES {
            let more = maps.len() - MAX_FILES;
            let _ = writeln!(page, "<p>And {more} file{} more.", if more == 1 { "" } else { "s" });
        }
        page
    }

    /// The last two looks, of which the later one is now, unless the one before was just now.
    fn look(&self, now: &Snapshot) -> [Totals; 2] {
        let at = self.clock.now();
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if at.since(looks[1].at) >= MIN {
            let Snapshot { sent_bytes: sent, served_bytes: served, read_bytes: read, .. } = *now;
            *looks = [looks[1], Totals { at, sent, served, read }];
        }
        *looks
    }
}

fn put_map(page: &mut String, map: &FileMap) {
    let name = escaped(&map.name.to_string_lossy());
    let bytes = |count: u64| scaled(count as f64, "B");
    let _ = write!(
        page,
        "<h2>{name}</h2>\n<p>{}, downloads: {}, in memory: {}",
        bytes(map.length()),
        map.clients,
        bytes(map.resident)
    );
    if let Some(region) = &map.region {
        let end = if region.end > map.length() { region.end - map.length() } else { region.end };
        let _ = write!(page, ", active region: from {} to {}", bytes(region.start), bytes(end));
    }
    page.push_str("\n<table class=\"map\"><tr>\n");
    for Cell { bytes: range, percent, is_active } in map.cells() {
        let region = if is_active { "region" } else { "" };
        let _ = writeln!(
            page,
            "<td class=\"{region}\" style=\"background: hsl(210 80% 45% / {percent}%)\" \
             title=\"from {} to {}: {percent} %\">",
            bytes(range.start),
            bytes(range.end)
        );
    }
    page.push_str("</table>\n");
}
