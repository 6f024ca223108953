use crate::load::Own;
use flashcrowd_base::Quantiles;
use flashcrowd_link::{Conditions, LossModel};
use flashcrowd_plan::{CorePath, Link, Network};

/// The steps of the way from one host to another: shared links, and `None` for the pair's own piece.
pub(crate) fn steps(
    network: &Network,
    from: u32,
    to: u32,
) -> impl Iterator<Item = Option<u32>> + use<'_> {
    let (up, down) = (&network.hosts[from as usize].up, &network.hosts[to as usize].down);
    let first = up.iter().chain(&core(network, from, to).links).copied().map(Some);
    first.chain([None]).chain(down.iter().copied().map(Some))
}

/// The core path between the groups of two hosts.
pub(crate) fn core(network: &Network, from: u32, to: u32) -> &CorePath {
    let group = |host: u32| network.hosts[host as usize].group as usize;
    let index = network.core_of[group(from) * network.groups.len() + group(to)];
    &network.cores[index as usize]
}

/// The mean rate in bit/s, over the first `seconds` seconds, of a link like this; none where nothing
/// waits.
pub(crate) fn mean_bps(
    network: &Network,
    conditions: &Conditions,
    trace: Option<u32>,
    seconds: f64,
) -> Option<f64> {
    let trace = trace.and_then(|trace| network.traces.get(trace as usize));
    let traced = trace.map(|trace| trace.mean_bps(seconds));
    traced.or(conditions.rate_bps.map(|rate| rate.bps() as f64))
}

/// Its delay in seconds, or the mean of what is drawn.
pub(crate) fn delay_s(link: &Link) -> f64 {
    let fixed = link.conditions.delay_ns.seconds();
    link.delay.map_or(fixed, |drawn| (drawn.least_ns.seconds() + drawn.most_ns.seconds()) / 2.0)
}

/// Delay in seconds, share of packets lost, and of those that begin a burst of losses, one way,
/// of a pair in the middle.
pub(crate) fn expected(core: &CorePath) -> (f64, f64, f64) {
    let middle = |quantiles: &Quantiles| quantiles.at(0.5);
    let draw = core.draw.as_ref();
    let rtt = draw.and_then(|draw| draw.rtt_s.as_ref()).map(middle);
    let lost = draw.and_then(|draw| draw.loss.as_ref()).map(middle);
    let delay = rtt.map_or(core.conditions.delay_ns.seconds(), |rtt| rtt.max(0.0) / 2.0);
    let (loss, bursts) = lost.map_or_else(|| losses(&core.conditions), |lost| (lost, lost));
    (delay, loss.clamp(0.0, 1.0), bursts.clamp(0.0, 1.0))
}

/// The need of a pair of hosts for its own piece, as far as this core decides.
pub(crate) fn own(core: &CorePath, changes: bool) -> Own {
    let Conditions { jitter, loss, .. } = &core.conditions;
    let draws = jitter.is_some() || loss.is_some() || core.draw.is_some() || changes;
    if draws { Own::Draws } else { Own::Nothing }
}

/// Mean share of packets that conditions lose, and of those that begin a burst of losses.
pub(crate) fn losses(conditions: &Conditions) -> (f64, f64) {
    conditions.loss.map_or((0.0, 0.0), |loss| match loss.model {
        LossModel::Bernoulli { probability } => (probability.value(), probability.value()),
        LossModel::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
            let (to_bad, to_good) = (to_bad.value(), to_good.value());
            let (in_good, in_bad) = (loss_good.value(), loss_bad.value());
            // Where neither state is ever left, the first one is the good one.
            let sum = to_bad + to_good;
            let bad = if sum > 0.0 { to_bad / sum } else { 0.0 };
            let loss = bad * in_bad + (1.0 - bad) * in_good;
            (loss, loss.min((1.0 - bad) * (to_bad + in_good)))
        }
    })
}
