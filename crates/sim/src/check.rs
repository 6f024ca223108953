use crate::plan::{Arrivals, Carrier, Departure, FORMAT, Network, Plan, Swarm, What, Workload};
use crate::{Error, Torrent};
use flashcrowd_base::Span;
use flashcrowd_link::Conditions;

/// Refuses a plan that contradicts itself, naming the place. What passes runs to its end without a
/// panic.
pub(crate) fn check(plan: &Plan) -> Result<(), Error> {
    require(plan.format == FORMAT, "format", format_args!("must be {FORMAT}"))?;
    require(!plan.stop.horizon_ns.is_zero(), "stop.horizon_ns", "must be more than zero")?;
    require(!plan.stop.stall_ns.is_zero(), "stop.stall_ns", "must be more than zero")?;
    for (i, stack) in plan.stacks.iter().enumerate() {
        stack
            .check()
            .map_err(|error| Error::plan(format!("stacks[{i}].{}", error.field), error.reason))?;
    }
    for (i, utp) in plan.utps.iter().enumerate() {
        utp.check()
            .map_err(|error| Error::plan(format!("utps[{i}].{}", error.field), error.reason))?;
    }
    network(plan, &plan.network)?;
    for (i, workload) in plan.workloads.iter().enumerate() {
        check_workload(plan, workload, &format!("workloads[{i}]"))?;
    }
    timeline(plan)?;
    let measures = &plan.measures;
    for (i, series) in measures.series.iter().enumerate() {
        let path = format!("measures.series[{i}].every_ns");
        require(!series.every_ns.is_zero(), &path, "must be more than zero")?;
    }
    let pieces = measures.pieces_ns.is_none_or(|every| !every.is_zero());
    require(pieces, "measures.pieces_ns", "must be more than zero")?;
    let queues = measures.queues_ns.is_none_or(|every| !every.is_zero());
    require(queues, "measures.queues_ns", "must be more than zero")
}

fn require(holds: bool, path: &str, message: impl ToString) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::plan(path, message)) }
}

fn index(value: u32, len: usize, path: &str) -> Result<(), Error> {
    require((value as usize) < len, path, format_args!("{value} does not exist: there are {len}"))
}

fn network(plan: &Plan, network: &Network) -> Result<(), Error> {
    let groups = network.groups.len();
    for (i, host) in network.hosts.iter().enumerate() {
        let path = format!("network.hosts[{i}]");
        index(host.group, groups, &format!("{path}.group"))?;
        index(host.stack, plan.stacks.len(), &format!("{path}.stack"))?;
        for link in host.up.iter().chain(&host.down) {
            index(*link, network.links.len(), &format!("{path} link"))?;
        }
        let short = host.up.len() + host.down.len() <= MOST_STEPS;
        require(short, &path, format_args!("has more than {MOST_STEPS} links"))?;
    }
    for (i, link) in network.links.iter().enumerate() {
        conditions(&link.conditions, &format!("network.links[{i}].conditions"))?;
    }
    for (i, link) in network.links.iter().enumerate() {
        let Some(delay) = link.delay else { continue };
        let path = format!("network.links[{i}].delay");
        let order = delay.least_ns <= delay.most_ns;
        require(order, &format!("{path}.least_ns"), "must be at most most_ns")?;
        let sane = delay.most_ns <= LONGEST_DELAY;
        require(sane, &format!("{path}.most_ns"), "must be at most an hour")?;
    }
    for (i, core) in network.cores.iter().enumerate() {
        let path = format!("network.cores[{i}]");
        core_conditions(&core.conditions, &format!("{path}.conditions"))?;
        for link in &core.links {
            index(*link, network.links.len(), &format!("{path}.links"))?;
        }
        require(
            core.links.len() <= MOST_STEPS,
            &path,
            format_args!("has more than {MOST_STEPS} links"),
        )?;
    }
    let square = network.core_of.len() == groups * groups;
    require(square, "network.core_of", "must have one entry for each ordered pair of groups")?;
    network.core_of.iter().try_for_each(|core| index(*core, network.cores.len(), "network.core_of"))
}

/// Links of a host, or of a core: more is surely a mistake, and a route counts its steps in 16 bits.
const MOST_STEPS: usize = 1000;
/// Longer delays are surely a mistake, and sums of them could reach the end of time.
const LONGEST_DELAY: Span = Span::from_secs(3600);

fn conditions(conditions: &Conditions, path: &str) -> Result<(), Error> {
    let short = conditions.delay_ns <= LONGEST_DELAY
        && conditions.jitter.is_none_or(|jitter| jitter.spread_ns <= LONGEST_DELAY);
    require(short, path, "delay and jitter must be at most one hour")?;
    let queue = conditions.queue;
    let limited = queue.packets.is_some() || queue.bytes.is_some();
    require(
        conditions.rate_bps.is_some() || !limited,
        path,
        "a queue needs a rate: without one nothing ever waits",
    )?;
    let room = queue.packets != Some(0) && queue.bytes != Some(0);
    require(room, path, "a queue has room for at least the packet in transmission")
}

fn core_conditions(core: &Conditions, path: &str) -> Result<(), Error> {
    require(core.rate_bps.is_none(), path, "a pair's own piece of path has no rate: use a link")?;
    conditions(core, path)
}

fn check_workload(plan: &Plan, workload: &Workload, path: &str) -> Result<(), Error> {
    let hosts = plan.network.hosts.len();
    match workload {
        Workload::Swarm(swarm) => check_swarm(plan, swarm, path),
        Workload::Transfer(transfer) => {
            index(transfer.from, hosts, &format!("{path}.from"))?;
            index(transfer.to, hosts, &format!("{path}.to"))?;
            carrier(plan, transfer.transport, &format!("{path}.transport"))?;
            require(
                transfer.size_bytes != Some(0),
                &format!("{path}.size_bytes"),
                "must not be zero",
            )?;
            let order = transfer.stop_ns.is_none_or(|stop| stop > transfer.start_ns);
            require(order, &format!("{path}.stop_ns"), "must be after start_ns")
        }
        Workload::Ping(ping) => {
            index(ping.from, hosts, &format!("{path}.from"))?;
            index(ping.to, hosts, &format!("{path}.to"))?;
            let often = ping.interval_ns >= Span::from_micros(1);
            require(often, &format!("{path}.interval_ns"), "must be at least a microsecond")?;
            require(
                ping.size_bytes <= 65_535,
                &format!("{path}.size_bytes"),
                "must be at most 65535",
            )
        }
    }
}

fn carrier(plan: &Plan, carrier: Option<Carrier>, path: &str) -> Result<(), Error> {
    match carrier {
        None => Ok(()),
        Some(Carrier::Tcp(stack)) => index(stack, plan.stacks.len(), path),
        Some(Carrier::Utp(utp)) => index(utp, plan.utps.len(), path),
    }
}

fn check_swarm(plan: &Plan, swarm: &Swarm, path: &str) -> Result<(), Error> {
    let hosts = plan.network.hosts.len();
    Torrent::new(swarm.size_bytes, swarm.piece_bytes, swarm.block_bytes)
        .map_err(|error| Error::plan(path, error))?;
    if let Some(tracker) = swarm.tracker {
        index(tracker, hosts, &format!("{path}.tracker"))?;
    }
    for (i, population) in swarm.populations.iter().enumerate() {
        let path = format!("{path}.populations[{i}]");
        index(population.profile, plan.profiles.len(), &format!("{path}.profile"))?;
        carrier(plan, population.transport, &format!("{path}.transport"))?;
        carrier(plan, population.data, &format!("{path}.data"))?;
        for host in &population.hosts {
            index(*host, hosts, &format!("{path}.hosts"))?;
        }
        if let Arrivals::Times { at_ns } = &population.arrivals {
            let matched = at_ns.len() == population.hosts.len();
            require(matched, &format!("{path}.arrivals"), "must have one instant for each host")?;
        }
        if let Departure::AfterShare { share } = population.departure {
            let sane = share.is_finite() && share >= 0.0;
            require(sane, &format!("{path}.departure.share"), "must not be negative")?;
        }
    }
    Ok(())
}

fn timeline(plan: &Plan) -> Result<(), Error> {
    for (i, change) in plan.timeline.iter().enumerate() {
        let path = format!("timeline[{i}]");
        match &change.what {
            What::Link { link, conditions: new } => {
                index(*link, plan.network.links.len(), &format!("{path}.link"))?;
                conditions(new, &format!("{path}.conditions"))?;
                let old = &plan.network.links[*link as usize].conditions;
                let same = old.rate_bps.is_some() == new.rate_bps.is_some();
                require(same, &path, "a link neither gains nor loses its rate while it runs")?;
            }
            What::Core { core, conditions: new } => {
                index(*core, plan.network.cores.len(), &format!("{path}.core"))?;
                core_conditions(new, &format!("{path}.conditions"))?;
            }
            What::Stop { workload } => index(*workload, plan.workloads.len(), &path)?,
            What::Upload { workload, population, .. } => {
                index(*workload, plan.workloads.len(), &path)?;
                let Workload::Swarm(swarm) = &plan.workloads[*workload as usize] else {
                    return Err(Error::plan(path, "the workload is not a swarm"));
                };
                index(*population, swarm.populations.len(), &path)?;
            }
            What::TransferRate { workload, .. } => {
                index(*workload, plan.workloads.len(), &path)?;
                let transfer = matches!(plan.workloads[*workload as usize], Workload::Transfer(_));
                require(transfer, &path, "the workload is not a transfer")?;
            }
        }
    }
    Ok(())
}
