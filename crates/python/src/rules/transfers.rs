//! Flows of transfers.

use flashcrowd_base::Span;
use flashcrowd_plan::{Sampled, Source};
use flashcrowd_workload::{End, Samples, Sender, Transfers};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use super::{Named, at, due_s, held, named};
use crate::plan::Plan;

/// The flows of the transfers of a run, each by its place among all.
#[pyclass(module = "flashcrowd._core", frozen)]
pub(crate) struct TransferRules {
    plan: Plan,
    state: Mutex<State>,
}

struct State {
    rules: Transfers,
    /// The last report of each sender.
    senders: Vec<Sender>,
    samples: Samples,
}

#[pymethods]
impl TransferRules {
    /// Those of a plan, in a run with a seed; with `own`, the flows from these hosts alone.
    #[new]
    #[pyo3(signature = (plan, seed, own = None))]
    fn new(plan: &Plan, seed: u64, own: Option<BTreeSet<u32>>) -> TransferRules {
        let plays = |host| own.as_ref().is_none_or(|own| own.contains(&host));
        let rules = Transfers::new(plan.data(), seed, plays);
        let senders = vec![Sender::default(); rules.flows.len()];
        let samples = Samples::new(&plan.data().measures.series, &[Source::Flows]);
        let state = Mutex::new(State { rules, senders, samples });
        TransferRules { plan: plan.clone(), state }
    }

    /// The flows of a workload: of each its place, its number in the workload, and when it starts.
    fn flows(&self, workload: u32) -> Vec<(usize, u32, f64)> {
        let state = self.state();
        let flow = |place: usize| {
            let flow = &state.rules.flows[place];
            (place, flow.number, flow.start.seconds())
        };
        state.rules.flows_of(workload).map(flow).collect()
    }

    /// A flow has started then.
    fn start(&self, at_s: f64, flow: usize) {
        self.state().rules.flows[flow].started = Some(at(at_s));
    }

    /// `received` bytes have arrived for a flow in all.
    fn receive(&self, flow: usize, received: u64) {
        self.state().rules.flows[flow].received = received;
    }

    /// The state of a flow's sending end; None for values that its transport does not report.
    #[allow(clippy::too_many_arguments, reason = "a row of what a sender says, by name")]
    #[pyo3(signature = (
        now_s, flow, *, segments, retransmits, timeouts, cwnd_bytes, srtt_s, min_rtt_s, own_delay_s
    ))]
    fn observe(
        &self,
        now_s: f64,
        flow: usize,
        segments: u64,
        retransmits: u64,
        timeouts: Option<u32>,
        cwnd_bytes: Option<u64>,
        srtt_s: Option<f64>,
        min_rtt_s: Option<f64>,
        own_delay_s: Option<f64>,
    ) {
        let mut state = self.state();
        state.senders[flow] = Sender {
            segments,
            retransmits,
            timeouts: timeouts.unwrap_or(0),
            cwnd: cwnd_bytes,
            srtt: srtt_s.map(Span::from_seconds),
            min_rtt: min_rtt_s.map(Span::from_seconds),
            own_delay: own_delay_s.map(Span::from_seconds),
        };
        if let Some(srtt) = state.senders[flow].srtt {
            state.rules.see_round_trip(at(now_s), flow, srtt);
        }
    }

    /// A flow is over: stopped, or its last byte is there, or its connection has ended it.
    fn end(&self, at_s: f64, flow: usize, stopped: bool) {
        let flow = &mut self.state().rules.flows[flow];
        let how = match (stopped, flow.is_whole()) {
            (_, true) => End::Whole,
            (true, false) => End::Stopped,
            (false, false) => End::Lost,
        };
        flow.end(at(at_s), how);
    }

    /// When the window of the table begins or ends, or a series is sampled; infinite if nothing of that is to come.
    fn due_s(&self) -> f64 {
        let State { rules, samples, .. } = &*self.state();
        due_s(rules.due().min(samples.due()))
    }

    /// Whether what is due by then needs the bytes of flows as they are, and not as they were a moment ago.
    fn counts_due(&self, now_s: f64) -> bool {
        let State { rules, samples, .. } = &*self.state();
        rules.due() <= at(now_s) || samples.is_due(at(now_s), Sampled::Goodput)
    }

    /// Takes down what was due by then.
    fn look(&self, now_s: f64) {
        let State { rules, senders, samples } = &mut *self.state();
        rules.look(at(now_s), |flow| senders[flow]);
        samples.look(at(now_s), |what| rules.sample(what, |flow| senders[flow]));
    }

    /// Flows that can end, and how many of them have.
    fn counts(&self) -> (usize, usize) {
        let state = self.state();
        let finite = state.rules.flows.iter().filter(|flow| flow.is_finite());
        let ended = finite.clone().filter(|flow| flow.ended.is_some());
        (finite.count(), ended.count())
    }

    /// A line for each flow with a size that has not ended.
    fn unfinished(&self) -> Vec<String> {
        self.state().rules.unfinished()
    }

    /// Lines for each transfer whose flows lost their connection, or of which no byte arrived.
    fn undelivered(&self, now_s: f64) -> Vec<String> {
        self.state().rules.undelivered(at(now_s))
    }

    /// The least progress of all flows that can end.
    fn progress(&self, now_s: f64) -> f64 {
        self.state().rules.progress(at(now_s))
    }

    /// Payload bytes that arrived.
    fn payload_bytes(&self) -> u64 {
        self.state().rules.payload_bytes()
    }

    /// The tables `transfers` and `series` by name, each as its columns by name.
    fn tables(&self, now_s: f64) -> Vec<Named> {
        let state = self.state();
        let table = state.rules.table(self.plan.data(), at(now_s), |flow| state.senders[flow]);
        let name = |what, flow| state.rules.source_name(what, flow).unwrap_or_default();
        vec![named(table), named(state.samples.table(name))]
    }
}

impl TransferRules {
    fn state(&self) -> MutexGuard<'_, State> {
        held(&self.state)
    }
}
