//! Downloads over several connections: what is recorded of them.

use flashcrowd_workload::{Downloads, Ended};
use pyo3::prelude::*;
use std::sync::Mutex;

use super::{Named, at, held, named};
use crate::plan::Plan;

/// The downloads of a run, each by its place among all. A program plays them and tells how far it is.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct DownloadRules {
    downloads: Mutex<Downloads>,
    plan: Plan,
}

#[pymethods]
impl DownloadRules {
    /// Those of a plan, in a run with a seed.
    #[new]
    fn new(plan: &Plan, seed: u64) -> DownloadRules {
        let downloads = Mutex::new(Downloads::new(plan.data(), seed));
        DownloadRules { downloads, plan: plan.clone() }
    }

    /// The place of the download of a workload, and when it starts.
    fn download(&self, workload: u32) -> Option<(usize, f64)> {
        let downloads = held(&self.downloads);
        let place = downloads.place_of(workload)?;
        Some((place, downloads.downloads[place].start.seconds()))
    }

    /// A download starts.
    fn begin(&self, now_s: f64, place: usize) {
        held(&self.downloads).downloads[place].begin(at(now_s));
    }

    /// The progress of a server, by its place in the list of them: connections that were opened and lost, ranges
    /// that were asked for, and bytes with the instants of the first request, byte and the last byte.
    #[expect(clippy::too_many_arguments)]
    fn observe(
        &self,
        place: usize,
        server: usize,
        connections: u32,
        lost: u32,
        ranges: u32,
        bytes: u64,
        instants_s: (Option<f64>, Option<f64>, Option<f64>),
    ) {
        let server = &mut held(&self.downloads).downloads[place].servers[server];
        (server.connections, server.lost, server.ranges) = (connections, lost, ranges);
        server.bytes = bytes;
        let (asked, first, last) = instants_s;
        server.asked = asked.map(at);
        server.first_byte = first.map(at);
        server.last_byte = last.map(at);
    }

    /// A download is over: whole ("whole"), stopped, or without a server ("lost"). Whether that is new.
    fn end(&self, now_s: f64, place: usize, how: &str) -> bool {
        let how = match how {
            "whole" => Ended::Whole,
            "stopped" => Ended::Stopped,
            _ => Ended::Lost,
        };
        held(&self.downloads).downloads[place].end(at(now_s), how)
    }

    /// Whether all have ended.
    fn is_done(&self) -> bool {
        held(&self.downloads).is_done()
    }

    /// The least progress of all.
    fn progress(&self) -> f64 {
        held(&self.downloads).progress()
    }

    /// A line for each that has not ended.
    fn unfinished(&self) -> Vec<String> {
        held(&self.downloads).unfinished()
    }

    /// A line for each that lost its last connection, or of which no byte arrived.
    fn undelivered(&self, now_s: f64) -> Vec<String> {
        held(&self.downloads).undelivered(at(now_s))
    }

    /// Bytes of files that have arrived.
    fn payload_bytes(&self) -> u64 {
        held(&self.downloads).payload_bytes()
    }

    /// The tables `fetches` and `fetch_servers` by name, as their columns by name.
    fn tables(&self) -> Vec<Named> {
        let tables = held(&self.downloads).tables(self.plan.data());
        tables.into_iter().map(named).collect()
    }
}
