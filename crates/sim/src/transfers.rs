use crate::engine::{Application, Sim};
use crate::event::Event;
use crate::plan::{self, Plan, Workload};
use crate::sockets::Owner;
use crate::tally::NO_CLASS;
use crate::transport::Stats;
use flashcrowd_base::{Rate, Span, Stream, Time};

/// All flows of all transfers.
pub(crate) struct Transfers {
    pub(crate) flows: Vec<Flow>,
}

/// One flow of a transfer.
pub(crate) struct Flow {
    pub(crate) transfer: u32,
    /// Its number in the transfer.
    pub(crate) number: u32,
    start: Time,
    stop: Option<Time>,
    rate: Option<Rate>,
    size: Option<u64>,
    /// What the application still wants to send; `None` for no end.
    unsent: Option<u64>,
    /// What a limited application has produced and not written yet.
    backlog: u64,
    ticking: bool,
    /// The sending end, while it stands.
    pub(crate) socket: Option<u32>,
    pub(crate) received: u64,
    pub(crate) started: Option<Time>,
    pub(crate) ended: Option<Time>,
    /// Its transport's counters when it ended.
    last: Stats,
}

/// What a limited application writes at a time: one segment's worth.
const CHUNK: u64 = 1448;

impl Transfers {
    pub(crate) fn new(plan: &Plan, seed: u64) -> Transfers {
        let mut flows = Vec::new();
        for (index, workload) in plan.workloads.iter().enumerate() {
            let Workload::Transfer(spec) = workload else { continue };
            let mut stream = Stream::new(seed, "transfer", index as u64);
            for number in 0..spec.flows {
                let late = stream.between(Span::ZERO, spec.spread_ns);
                flows.push(Flow {
                    transfer: index as u32,
                    number,
                    start: Time::START + spec.start_ns + late,
                    stop: spec.stop_ns.map(|stop| Time::START + stop),
                    rate: spec.rate_bps,
                    size: spec.size_bytes,
                    unsent: spec.size_bytes,
                    backlog: 0,
                    ticking: false,
                    socket: None,
                    received: 0,
                    started: None,
                    ended: None,
                    last: Stats::default(),
                });
            }
        }
        Transfers { flows }
    }

    pub(crate) fn spec(plan: &Plan, transfer: u32) -> Option<&plan::Transfer> {
        match &plan.workloads[transfer as usize] {
            Workload::Transfer(spec) => Some(spec),
            _ => None,
        }
    }
}

impl Flow {
    fn is_finite(&self) -> bool {
        self.unsent.is_some() || self.stop.is_some()
    }
}

impl Sim<'_> {
    pub(crate) fn begin_transfers(&mut self) {
        for (index, flow) in self.transfers.flows.iter().enumerate() {
            self.queue.schedule(flow.start, Event::flow_start(index as u32));
            if let Some(stop) = flow.stop {
                self.queue.schedule(stop, Event::flow_stop(index as u32));
            }
        }
    }

    pub(crate) fn start_flow(&mut self, index: u32) {
        let flow = &mut self.transfers.flows[index as usize];
        if flow.ended.is_some() {
            return;
        }
        flow.started = Some(self.now);
        let Some(spec) = Transfers::spec(self.plan, flow.transfer) else { return };
        let end = |host, owner| Application {
            host,
            carrier: spec.transport,
            owner,
            class: NO_CLASS,
            nagle: true,
            plenty: 0, // `pump` looks for itself.
        };
        let sender = end(spec.from, Owner::Sender { flow: index });
        let socket = self.open(sender, end(spec.to, Owner::Receiver { flow: index }));
        self.transfers.flows[index as usize].socket = Some(socket);
    }

    /// Writes as much as the application has and the socket takes; closes after the last byte.
    /// `flushed` if what the socket had to send has been sent at this instant, as far as the network
    /// lets it.
    pub(crate) fn pump(&mut self, index: u32, flushed: bool) {
        let flow = &mut self.transfers.flows[index as usize];
        let Some(socket) = flow.socket else { return };
        let end = self.sockets.get(socket);
        let Some(transport) = &end.transport else { return };
        if !end.announced {
            return;
        }
        if let (Some(_), false) = (flow.rate, flow.ticking) {
            flow.ticking = true;
            self.queue.schedule(self.now, Event::flow_tick(index));
        }
        let ready = match flow.rate {
            Some(_) => flow.backlog,
            None => flow.unsent.unwrap_or(u64::MAX),
        };
        let bytes = ready.min(flow.unsent.unwrap_or(u64::MAX)).min(transport.write_space());
        if bytes == 0 {
            return;
        }
        flow.backlog = flow.backlog.saturating_sub(bytes);
        flow.unsent = flow.unsent.map(|unsent| unsent - bytes);
        let finished = flow.unsent == Some(0);
        let held_back = flushed && transport.is_held_back() && !finished;
        self.sockets.write(socket, self.now, bytes, None);
        if finished && let Some(transport) = &mut self.sockets.get_mut(socket).transport {
            transport.close(self.now);
        }
        if !held_back {
            self.flush(socket);
        }
    }

    /// A limited application produces its next chunk.
    pub(crate) fn tick_flow(&mut self, index: u32) {
        let flow = &mut self.transfers.flows[index as usize];
        let (Some(rate), None) = (flow.rate, flow.ended) else {
            flow.ticking = false;
            return;
        };
        flow.backlog += CHUNK;
        self.queue.schedule(self.now + rate.transmission(CHUNK), Event::flow_tick(index));
        self.pump(index, false);
    }

    #[inline]
    pub(crate) fn flow_received(&mut self, index: u32, bytes: u64) {
        let flow = &mut self.transfers.flows[index as usize];
        flow.received += bytes;
        if bytes > 0 && Some(flow.received) == flow.size {
            self.end_flow(index);
        }
    }

    /// Notes the end of a flow and its counters.
    fn end_flow(&mut self, index: u32) {
        let last = self.flow_stats(index);
        let flow = &mut self.transfers.flows[index as usize];
        if flow.ended.is_none() {
            flow.ended = Some(self.now);
            flow.last = last;
        }
        self.finish_if_done();
    }

    /// Counters of the sending end, while it stands or when it ended.
    pub(crate) fn flow_stats(&self, index: u32) -> Stats {
        let flow = &self.transfers.flows[index as usize];
        let socket = flow.socket.filter(|_| flow.ended.is_none());
        let transport = socket.and_then(|socket| self.sockets.get(socket).transport.as_ref());
        transport.map_or(flow.last, |transport| transport.stats())
    }

    pub(crate) fn flow_closed(&mut self, index: u32) {
        self.end_flow(index);
        self.transfers.flows[index as usize].socket = None;
    }

    pub(crate) fn stop_flow(&mut self, index: u32) {
        self.end_flow(index);
        if let Some(socket) = self.transfers.flows[index as usize].socket.take() {
            if let Some(transport) = &mut self.sockets.get_mut(socket).transport {
                transport.abort(self.now);
            }
            self.close(socket);
        }
    }

    pub(crate) fn stop_transfer(&mut self, workload: u32) {
        for index in self.flows_of(workload) {
            self.stop_flow(index);
        }
    }

    pub(crate) fn set_flow_rate(&mut self, workload: u32, rate: Option<Rate>) {
        for index in self.flows_of(workload) {
            self.transfers.flows[index as usize].rate = rate;
            self.pump(index, false);
        }
    }

    fn flows_of(&self, workload: u32) -> Vec<u32> {
        let flows = self.transfers.flows.iter().enumerate();
        flows.filter(|(_, flow)| flow.transfer == workload).map(|(index, _)| index as u32).collect()
    }

    pub(crate) fn transfers_finite(&self) -> bool {
        self.transfers.flows.iter().any(Flow::is_finite)
    }
    pub(crate) fn transfers_done(&self) -> bool {
        self.transfers.flows.iter().all(|flow| !flow.is_finite() || flow.ended.is_some())
    }

    /// A line for each flow with a size that has not ended.
    pub(crate) fn unfinished_transfers(&self) -> Vec<String> {
        let open = |flow: &&Flow| flow.ended.is_none() && flow.unsent.is_some();
        let line = |flow: &Flow| {
            let spec = Transfers::spec(self.plan, flow.transfer)?;
            let size = flow.size.unwrap_or(0);
            let (name, number) = (&spec.name, flow.number);
            Some(format!("transfer {name} flow {number}: {} of {size} bytes", flow.received))
        };
        self.transfers.flows.iter().filter(open).filter_map(line).collect()
    }

    pub(crate) fn transfer_progress(&self) -> f64 {
        let share = |flow: &Flow| match (flow.ended, flow.stop) {
            (Some(_), _) => 1.0,
            (None, Some(stop)) => self.now.seconds() / stop.seconds().max(1e-9),
            (None, None) => {
                let size = flow.size.unwrap_or(1).max(1);
                flow.received as f64 / size as f64
            }
        };
        self.transfers.flows.iter().filter(|f| f.is_finite()).map(share).fold(1.0, f64::min)
    }
}
