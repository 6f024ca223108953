//! Content servers: which clients come and go, what they have, when they get no further, and the tables about both.

mod ledger;
mod rows;

pub use ledger::{Ledger, Status};
pub use rows::{Counts, Row, table};

use crate::{Outcome, Table, is_due, lost};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::{self as plan, Plan, Visit, Window, Windowed, Workload};
use std::ops::Range;
use std::sync::Arc;

/// All content servers of a run, with their clients.
#[derive(Clone, Debug)]
pub struct Origins {
    /// Each by its place.
    pub origins: Vec<Origin>,
    /// How long nothing may arrive at any client of a server.
    stall: Span,
    /// Which downloads count, if not all of the run.
    window: Option<Window>,
}

/// A content server.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Index of the workload among the plan's.
    pub workload: u32,
    /// What the plan says of it.
    pub spec: Arc<plan::Origin>,
    clients: Vec<Client>,
    /// Clients that have not come, that are here, and that have their file.
    to_come: u32,
    online: u32,
    completed: u32,
    /// When a client last came, or got a block.
    last_progress: Time,
    stopped: bool,
}

/// A client of a content server, by its number.
#[derive(Clone, Debug)]
struct Client {
    visit: Visit,
    arrived: Option<Time>,
    completed: Option<Time>,
    left: Option<Time>,
    /// Whether it lost its connection before it had its file.
    is_lost: bool,
    /// Whole blocks that have come, and their bytes.
    blocks: u32,
    bytes: u64,
}

impl Origins {
    /// Those of a plan, before anything has happened, in a run with this seed.
    pub fn new(plan: &Plan, seed: u64) -> Origins {
        let mut origins = Vec::new();
        for (workload, spec) in (0..).zip(&plan.workloads) {
            let Workload::Origin(spec) = spec else { continue };
            origins.push(Origin::new(workload, Arc::new(spec.clone()), seed));
        }
        let window = plan.measures.window(Windowed::Origins).cloned();
        Origins { origins, stall: plan.stop.stall_ns, window }
    }

    /// The place of the content server that is this workload.
    pub fn place_of(&self, workload: u32) -> Option<usize> {
        self.origins.iter().position(|origin| origin.workload == workload)
    }

    /// Whether all clients have come and gone.
    pub fn is_done(&self) -> bool {
        self.origins.iter().all(Origin::has_ended)
    }

    /// Why a server gets no further, if one does not.
    pub fn stalled(&self, now: Time) -> Option<String> {
        self.origins.iter().find_map(|origin| origin.stalled(now, self.stall))
    }

    /// Which part of what all clients want has arrived.
    pub fn progress(&self) -> f64 {
        let wanted: u64 = self.origins.iter().map(Origin::wanted_bytes).sum();
        if wanted == 0 { 1.0 } else { self.payload_bytes() as f64 / wanted as f64 }
    }

    /// A line for each server whose clients have not all ended.
    pub fn unfinished(&self) -> Vec<String> {
        let open = self.origins.iter().filter(|origin| !origin.has_ended());
        open.map(Origin::unfinished).collect()
    }

    /// A line for each server whose clients lack something; `outcome` is how the run ended, as far as is known.
    pub fn undelivered(&self, now: Time, outcome: Option<&Outcome>) -> Vec<String> {
        let is_cut = outcome.is_some_and(Outcome::is_cut);
        self.origins.iter().filter_map(|origin| origin.undelivered(now, is_cut)).collect()
    }

    /// Bytes of blocks that have arrived.
    pub fn payload_bytes(&self) -> u64 {
        self.origins.iter().flat_map(|origin| &origin.clients).map(|client| client.bytes).sum()
    }

    /// The tables `downloads` and `origins` about the servers at these places. `counts` is what each had done when
    /// it began to count, and at the end of that.
    pub fn tables(
        &self,
        plan: &Plan,
        places: Range<usize>,
        counts: Vec<(Counts, Counts)>,
    ) -> [Table; 2] {
        let origins = &self.origins[places];
        let counted = |client: &Client| {
            let began = client.arrived.map(|_| Time::START + client.visit.at);
            began.is_some_and(|at| self.window.as_ref().is_none_or(|window| window.holds(at)))
        };
        [rows::downloads(plan, origins, counted), rows::origins(plan, origins, counts, counted)]
    }
}

impl Origin {
    fn new(workload: u32, spec: Arc<plan::Origin>, seed: u64) -> Origin {
        let client = |visit| Client {
            visit,
            arrived: None,
            completed: None,
            left: None,
            is_lost: false,
            blocks: 0,
            bytes: 0,
        };
        let clients: Vec<Client> = spec.visits(seed, workload).into_iter().map(client).collect();
        Origin {
            workload,
            to_come: clients.len() as u32,
            clients,
            online: 0,
            completed: 0,
            last_progress: Time::START,
            stopped: false,
            spec,
        }
    }

    /// Who comes, when, and for what: its clients by number.
    pub fn visits(&self) -> impl Iterator<Item = Visit> {
        self.clients.iter().map(|client| client.visit)
    }

    /// Clients that are here.
    pub fn online(&self) -> u32 {
        self.online
    }

    /// Whether the timeline has stopped it: it serves nothing any more.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// A client comes, once; false if it goes at once, as the server was stopped.
    pub fn come(&mut self, now: Time, number: u32) -> bool {
        self.to_come -= 1;
        if !self.stopped {
            self.clients[number as usize].arrived = Some(now);
            self.online += 1;
            self.last_progress = now;
        }
        !self.stopped
    }

    /// Bytes of its file have come at a client, none of them twice. Of a block they come in order. The client goes when
    /// it has all; whether it does.
    pub fn receive(&mut self, now: Time, number: u32, bytes: Range<u64>) -> bool {
        let client = &mut self.clients[number as usize];
        if !client.is_online() {
            return false;
        }
        let (size, block) = (self.spec.files.size_bytes, u64::from(self.spec.settings.block_bytes));
        // Bytes of the blocks that end there or before.
        let whole = |end: u64| if end == size { size } else { end - end % block };
        let (from, to) = (whole(bytes.start), whole(bytes.end));
        if to > from {
            client.blocks += (to - from).div_ceil(block) as u32;
            client.bytes += to - from;
            self.last_progress = now;
        }
        let has_all = client.bytes == size;
        if has_all {
            client.completed = Some(now);
            client.left = Some(now);
            self.completed += 1;
            self.online -= 1;
        }
        has_all
    }

    /// A client leaves without its file, if it is here; whether it is.
    pub fn leave(&mut self, now: Time, number: u32) -> bool {
        let client = &mut self.clients[number as usize];
        let is_online = client.is_online();
        if is_online {
            client.left = Some(now);
            self.online -= 1;
        }
        is_online
    }

    /// A client loses its connection, and leaves.
    pub fn lose(&mut self, now: Time, number: u32) {
        if self.leave(now, number) {
            self.clients[number as usize].is_lost = true;
        }
    }

    /// The timeline stops it: its clients leave, and others go as soon as they come. Those that leave.
    pub fn stop(&mut self, now: Time) -> Vec<u32> {
        self.stopped = true;
        (0..self.clients.len() as u32).filter(|number| self.leave(now, *number)).collect()
    }

    fn has_ended(&self) -> bool {
        self.online == 0 && (self.to_come == 0 || self.stopped)
    }

    fn wanted_bytes(&self) -> u64 {
        self.clients.len() as u64 * self.spec.files.size_bytes
    }

    fn stalled(&self, now: Time, stall: Span) -> Option<String> {
        let Origin { online, last_progress: since, .. } = self;
        let idle = *online > 0 && now.since(*since) >= stall;
        let name = &self.spec.name;
        idle.then(|| {
            format!("origin {name}: no block reached any of {online} clients since {since}")
        })
    }

    fn unfinished(&self) -> String {
        let (done, all) = (self.completed, self.clients.len());
        format!("origin {}: {done} of {all} downloads are complete", self.spec.name)
    }

    fn undelivered(&self, now: Time, is_cut: bool) -> Option<String> {
        let whose = format!("origin {}", self.spec.name);
        let came = || {
            let numbered = (0u32..).zip(&self.clients);
            numbered.filter_map(|(number, client)| Some((number, client, client.arrived?)))
        };
        let total = came().count();
        let gone = came().filter(|(_, client, _)| client.is_lost).map(|(number, client, _)| {
            let (at, bytes) = (client.left.unwrap_or(now).seconds(), client.bytes);
            format!("client {number} at {at:.1} s after {bytes} bytes")
        });
        let gone = lost(&whose, total, "clients", gone);
        let due = came().any(|(_, _, arrived)| is_due(arrived, now));
        let is_silent = !is_cut && due && came().all(|(_, client, _)| client.blocks == 0);
        let silent = || format!("{whose}: no block arrived at {total} clients");
        gone.or_else(|| is_silent.then(silent))
    }
}

impl Client {
    fn is_online(&self) -> bool {
        self.arrived.is_some() && self.left.is_none()
    }
}
