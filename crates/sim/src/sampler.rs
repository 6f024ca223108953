use crate::engine::Sim;
use crate::event::Event;
use crate::plan::{Plan, Sampled};
use crate::transfers::Transfers;
use crate::transport::Stats;
use flashcrowd_base::{Span, Time};

/// Time series and the evolution of pieces, sampled at fixed intervals.
pub(crate) struct Sampler {
    tasks: Vec<Task>,
    pub(crate) rows: Vec<Sample>,
    pub(crate) pieces: Vec<Pieces>,
}

enum Task {
    Series {
        what: Sampled,
        every: Span,
        /// The counters at the last sample, for rates.
        last: Vec<u64>,
    },
    Pieces {
        every: Span,
    },
    Queues {
        every: Span,
    },
}

/// One value of one series.
pub(crate) struct Sample {
    pub(crate) what: Sampled,
    /// Index of the link, flow or swarm.
    pub(crate) source: u32,
    pub(crate) at: Time,
    pub(crate) value: f64,
}

/// How many pieces the leechers of a population have.
pub(crate) struct Pieces {
    pub(crate) swarm: u32,
    pub(crate) population: u32,
    pub(crate) at: Time,
    pub(crate) leechers: u32,
    pub(crate) mean: f64,
    pub(crate) min: u32,
    pub(crate) max: u32,
}

impl Sampler {
    pub(crate) fn new(plan: &Plan) -> Sampler {
        let measures = &plan.measures;
        let series = measures.series.iter().map(|series| Task::Series {
            what: series.what,
            every: series.every_ns,
            last: Vec::new(),
        });
        let pieces = measures.pieces_ns.iter().map(|every| Task::Pieces { every: *every });
        let queues = measures.queues_ns.iter().map(|every| Task::Queues { every: *every });
        let tasks = series.chain(pieces).chain(queues).collect();
        Sampler { tasks, rows: Vec::new(), pieces: Vec::new() }
    }
}

impl Sim<'_> {
    pub(crate) fn begin_sampling(&mut self) {
        for task in 0..self.sampler.tasks.len() as u32 {
            self.queue.schedule(Time::START, Event::sample(task));
        }
    }

    pub(crate) fn sample(&mut self, task: u32) {
        let every = match &self.sampler.tasks[task as usize] {
            Task::Pieces { every } => {
                let every = *every;
                self.sample_pieces();
                every
            }
            Task::Queues { every } => {
                let every = *every;
                self.count_queues();
                every
            }
            Task::Series { what, every, .. } => {
                let (what, every) = (*what, *every);
                self.sample_series(task, what, every);
                every
            }
        };
        self.queue.schedule(self.now + every, Event::sample(task));
    }

    fn sample_series(&mut self, task: u32, what: Sampled, every: Span) {
        let now = self.now;
        let values = self.values(what);
        let Some(Task::Series { last, .. }) = self.sampler.tasks.get_mut(task as usize) else {
            return;
        };
        for (place, (source, value)) in values.into_iter().enumerate() {
            let value = match value {
                Value::Level(level) => level,
                Value::Bytes(bytes) => {
                    if last.len() <= place {
                        last.resize(place + 1, 0);
                    }
                    let before = std::mem::replace(&mut last[place], bytes);
                    (bytes - before) as f64 * 8.0 / every.seconds()
                }
            };
            self.sampler.rows.push(Sample { what, source, at: now, value });
        }
    }

    /// The present value for every source that has one.
    fn values(&mut self, what: Sampled) -> Vec<(u32, Value)> {
        let now = self.now;
        let flow_stats = |value: fn(Stats) -> f64| {
            let flows = 0..self.transfers.flows.len() as u32;
            flows.map(|flow| (flow, Value::Level(value(self.flow_stats(flow))))).collect()
        };
        let swarms = 0..self.swarms.all.len() as u32;
        match what {
            Sampled::QueuePackets => {
                let rated = self.rated_links();
                let mut level = |link| f64::from(self.network.queued_packets(link, now));
                rated.into_iter().map(|link| (link, Value::Level(level(link)))).collect()
            }
            Sampled::QueueDelay => self
                .network
                .links()
                .enumerate()
                .filter(|(_, link)| link.rate().is_some())
                .map(|(index, link)| {
                    (index as u32, Value::Level(link.queueing_delay(now).seconds()))
                })
                .collect(),
            Sampled::LinkRate => self
                .network
                .links()
                .enumerate()
                .filter(|(_, link)| link.rate().is_some())
                .map(|(index, link)| (index as u32, Value::Bytes(link.counters().bytes)))
                .collect(),
            Sampled::Goodput => self
                .transfers
                .flows
                .iter()
                .enumerate()
                .map(|(index, flow)| (index as u32, Value::Bytes(flow.received)))
                .collect(),
            Sampled::Window => flow_stats(|stats| stats.cwnd as f64),
            Sampled::Rtt => flow_stats(|stats| stats.srtt.seconds()),
            Sampled::SwarmRate => {
                swarms.map(|swarm| (swarm, Value::Bytes(self.swarm_bytes(swarm)))).collect()
            }
            Sampled::Online => {
                let online = |swarm: u32| f64::from(self.swarms.all[swarm as usize].online);
                swarms.map(|swarm| (swarm, Value::Level(online(swarm)))).collect()
            }
            Sampled::Completed => {
                let completed = |swarm: u32| f64::from(self.swarms.all[swarm as usize].completed);
                swarms.map(|swarm| (swarm, Value::Level(completed(swarm)))).collect()
            }
        }
    }

    fn rated_links(&self) -> Vec<u32> {
        let links = self.network.links().enumerate();
        links.filter(|(_, link)| link.rate().is_some()).map(|(index, _)| index as u32).collect()
    }

    /// Counts the pieces of every leecher that has arrived, of those that left when they left.
    fn sample_pieces(&mut self) {
        let mut populations: Vec<Pieces> = Vec::new();
        let arrived = self.swarms.peers.iter().filter(|peer| peer.arrived.is_some());
        for peer in arrived.filter(|peer| peer.is_leecher()) {
            let pieces = peer.progress().pieces;
            let same =
                |row: &&mut Pieces| (row.swarm, row.population) == (peer.swarm, peer.population);
            match populations.iter_mut().find(same) {
                Some(row) => {
                    row.leechers += 1;
                    row.mean += f64::from(pieces);
                    row.min = row.min.min(pieces);
                    row.max = row.max.max(pieces);
                }
                None => populations.push(Pieces {
                    swarm: peer.swarm,
                    population: peer.population,
                    at: self.now,
                    leechers: 1,
                    mean: f64::from(pieces),
                    min: pieces,
                    max: pieces,
                }),
            }
        }
        for row in &mut populations {
            row.mean /= f64::from(row.leechers);
        }
        self.sampler.pieces.extend(populations);
    }

    /// The name of the link, flow or swarm that a series is about.
    pub(crate) fn source_name(&self, what: Sampled, source: u32) -> String {
        match what {
            Sampled::QueuePackets | Sampled::QueueDelay | Sampled::LinkRate => self
                .network
                .links()
                .nth(source as usize)
                .map_or(String::new(), |link| link.name().to_owned()),
            Sampled::Goodput | Sampled::Window | Sampled::Rtt => {
                let flow = &self.transfers.flows[source as usize];
                let name = Transfers::spec(self.plan, flow.transfer).map_or("", |spec| &spec.name);
                format!("{name}/{}", flow.number)
            }
            Sampled::SwarmRate | Sampled::Online | Sampled::Completed => {
                self.swarms.spec(self.plan, source).map_or("", |spec| &spec.name).to_owned()
            }
        }
    }
}

enum Value {
    /// Recorded as it is.
    Level(f64),
    /// A count of bytes, recorded as the bits per second since the last sample.
    Bytes(u64),
}
