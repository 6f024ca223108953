//! What is recorded of swarms: counts of pieces, samples, tables.

use super::account::{Spent, Sum};
use super::*;
use crate::table::{Column, names, seconds};

impl Swarms<'_> {
    /// Counts the pieces of every leecher that has arrived, of those that left when they left.
    pub(super) fn count_pieces(&mut self, world: &mut World) {
        let mut populations: Vec<Pieces> = Vec::new();
        let arrived = self.peers.iter().filter(|peer| peer.arrived.is_some());
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
                    at: world.now,
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
        self.pieces.extend(populations);
        if let Some(every) = self.plan.measures.pieces_ns {
            self.schedule(world, world.now + every, Code::Census, 0);
        }
    }

    pub(super) fn sample_swarms(&self, what: Sampled) -> Vec<(u32, Sample)> {
        let swarms = 0..self.all.len() as u32;
        match what {
            Sampled::SwarmRate => {
                swarms.map(|swarm| (swarm, Sample::Bytes(self.swarm_bytes(swarm)))).collect()
            }
            Sampled::Online => {
                let online = |swarm: u32| f64::from(self.all[swarm as usize].online);
                swarms.map(|swarm| (swarm, Sample::Level(online(swarm)))).collect()
            }
            Sampled::Completed => {
                let completed = |swarm: u32| f64::from(self.all[swarm as usize].completed);
                swarms.map(|swarm| (swarm, Sample::Level(completed(swarm)))).collect()
            }
            Sampled::UploadLimit => {
                let online = (0u32..).zip(&self.peers).filter(|(_, peer)| peer.machine.is_some());
                let bps = |limit| match limit {
                    UploadLimit::Unlimited => None,
                    UploadLimit::Nothing => Some(0.0),
                    UploadLimit::Rate(rate) => Some(rate.bps() as f64),
                };
                let limits = online.filter_map(|(peer, _)| Some((peer, bps(self.limit(peer))?)));
                limits.map(|(peer, bps)| (peer, Sample::Level(bps))).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn swarm_tables(&self, world: &World) -> Vec<Table> {
        let mut tables = vec![
            self.downloads(world),
            self.populations(world),
            self.pieces(),
            self.unchokes(),
            self.have(),
            self.web_seeds_table(world),
            self.control_table(world),
        ];
        tables.extend(self.disks_table(world));
        tables
    }

    /// Name of a swarm, and of one of its populations.
    fn place(&self, swarm: u32, population: u32) -> (&str, &str) {
        self.spec(swarm).map_or(("", ""), |spec| {
            let population = spec.populations.get(population as usize);
            (&spec.name, population.map_or("", |population| &population.name))
        })
    }

    fn downloads(&self, world: &World) -> Table {
        let leechers = self.peers.iter().filter(|peer| peer.is_leecher());
        let peers: Vec<&Peer> = leechers.filter(|peer| peer.arrived.is_some()).collect();
        let place = |peer: &Peer| self.place(peer.swarm, peer.population);
        let progress: Vec<_> = peers.iter().map(|peer| peer.progress()).collect();
        let duration = |peer: &Peer| Some((peer.completed? - peer.arrived?).seconds());
        Table {
            name: "downloads",
            columns: vec![
                ("swarm", names(peers.iter().map(|peer| place(peer).0))),
                ("population", names(peers.iter().map(|peer| place(peer).1))),
                (
                    "host",
                    names(peers.iter().map(|peer| world.network.host(peer.host).name.as_str())),
                ),
                ("peer", Column::U32(peers.iter().map(|peer| peer.id.0).collect())),
                (
                    "arrived_s",
                    Column::F64(
                        peers.iter().map(|p| p.arrived.unwrap_or(Time::START).seconds()).collect(),
                    ),
                ),
                (
                    "completed_s",
                    Column::MaybeF64(peers.iter().map(|peer| seconds(peer.completed)).collect()),
                ),
                ("left_s", Column::MaybeF64(peers.iter().map(|peer| seconds(peer.left)).collect())),
                ("duration_s", Column::MaybeF64(peers.iter().map(|peer| duration(peer)).collect())),
                ("downloaded_bytes", Column::U64(progress.iter().map(|p| p.down).collect())),
                ("uploaded_bytes", Column::U64(progress.iter().map(|p| p.up).collect())),
                ("pieces", Column::U32(progress.iter().map(|p| p.pieces).collect())),
            ],
        }
    }

    fn populations(&self, world: &World) -> Table {
        let rows: Vec<_> = self.sums(world).into_iter().collect();
        let place = |swarm, population| self.place(swarm, population);
        let role = |leechers: bool| if leechers { "leecher" } else { "seed" };
        let timeouts = world.timeouts();
        let timeouts = |swarm: u32, population: u32| {
            let class = self.all[swarm as usize].first_class + population;
            timeouts.get(class as usize).copied().unwrap_or(0)
        };
        let share =
            |part: Span, of: Span| (!of.is_zero()).then(|| part.nanos() as f64 / of.nanos() as f64);
        let sums = || rows.iter().map(|(_, sum)| sum);
        let spans = |of: fn(&Spent) -> Span| {
            Column::F64(rows.iter().map(|(_, sum)| of(&sum.spent).seconds()).collect())
        };
        let download = |state: Download| {
            let part = |sum: &Sum| sum.spent.download[state as usize];
            Column::MaybeF64(sums().map(|it| share(part(it), it.spent.downloading())).collect())
        };
        let idle = |(key, sum): &((u32, u32, bool), Sum)| {
            if key.2 { None } else { share(sum.spent.idle, sum.spent.needed) }
        };
        let limited = |sum: &Sum| share(sum.spent.limited, sum.spent.needed);
        Table {
            name: "populations",
            columns: vec![
                ("swarm", names(rows.iter().map(|((swarm, kind, _), _)| place(*swarm, *kind).0))),
                (
                    "population",
                    names(rows.iter().map(|((swarm, kind, _), _)| place(*swarm, *kind).1)),
                ),
                ("role", names(rows.iter().map(|((.., leechers), _)| role(*leechers)))),
                ("peers", Column::U32(sums().map(|sum| sum.peers).collect())),
                ("completed", Column::U32(sums().map(|sum| sum.completed).collect())),
                ("uploaded_bytes", Column::U64(sums().map(|sum| sum.up).collect())),
                ("downloaded_bytes", Column::U64(sums().map(|sum| sum.down).collect())),
                ("wasted_bytes", Column::U64(sums().map(|sum| sum.wasted).collect())),
                (
                    "timeouts",
                    Column::U64(
                        rows.iter().map(|((swarm, kind, _), _)| timeouts(*swarm, *kind)).collect(),
                    ),
                ),
                ("online_s", spans(|spent| spent.online)),
                ("downloading_s", spans(Spent::downloading)),
                ("alone_share", download(Download::Alone)),
                ("uninterested_share", download(Download::Uninterested)),
                ("choked_share", download(Download::Choked)),
                ("unchoked_share", download(Download::Unchoked)),
                ("needed_s", spans(|spent| spent.needed)),
                ("idle_share", Column::MaybeF64(rows.iter().map(idle).collect())),
                ("limited_share", Column::MaybeF64(sums().map(limited).collect())),
            ],
        }
    }

    fn pieces(&self) -> Table {
        let rows = &self.pieces;
        let place = |row: &Pieces| self.place(row.swarm, row.population);
        Table {
            name: "pieces",
            columns: vec![
                ("swarm", names(rows.iter().map(|row| place(row).0))),
                ("population", names(rows.iter().map(|row| place(row).1))),
                ("t_s", Column::F64(rows.iter().map(|row| row.at.seconds()).collect())),
                ("leechers", Column::U32(rows.iter().map(|row| row.leechers).collect())),
                ("mean", Column::F64(rows.iter().map(|row| row.mean).collect())),
                ("min", Column::U32(rows.iter().map(|row| row.min).collect())),
                ("max", Column::U32(rows.iter().map(|row| row.max).collect())),
            ],
        }
    }

    fn have(&self) -> Table {
        let rows = &self.have;
        let peer = |row: &Have| &self.peers[row.peer as usize];
        let place = |row: &Have| self.place(peer(row).swarm, peer(row).population);
        Table {
            name: "have",
            columns: vec![
                ("swarm", names(rows.iter().map(|row| place(row).0))),
                ("population", names(rows.iter().map(|row| place(row).1))),
                ("peer", Column::U32(rows.iter().map(|row| peer(row).id.0).collect())),
                ("piece", Column::U32(rows.iter().map(|row| row.piece).collect())),
                ("t_s", Column::F64(rows.iter().map(|row| row.at.seconds()).collect())),
            ],
        }
    }

    fn unchokes(&self) -> Table {
        let rows = &self.unchokes;
        let peer = |row: &Unchoke| &self.peers[row.peer as usize];
        let place = |row: &Unchoke| self.place(peer(row).swarm, peer(row).population);
        let cause = |row: &Unchoke| match row.cause {
            UnchokeEnd::Idle => "idle",
            UnchokeEnd::Rotation => "rotation",
            UnchokeEnd::Outranked => "outranked",
            UnchokeEnd::NotInterested => "not-interested",
            UnchokeEnd::Disconnected => "disconnected",
        };
        Table {
            name: "unchokes",
            columns: vec![
                ("swarm", names(rows.iter().map(|row| place(row).0))),
                ("population", names(rows.iter().map(|row| place(row).1))),
                ("peer", Column::U32(rows.iter().map(|row| peer(row).id.0).collect())),
                ("remote", Column::U32(rows.iter().map(|row| row.remote.0).collect())),
                ("seeding", Column::U32(rows.iter().map(|row| u32::from(row.seeding)).collect())),
                ("start_s", Column::F64(rows.iter().map(|row| row.started.seconds()).collect())),
                ("end_s", Column::F64(rows.iter().map(|row| row.ended.seconds()).collect())),
                ("bytes", Column::U64(rows.iter().map(|row| row.bytes).collect())),
                ("blocks", Column::U32(rows.iter().map(|row| row.blocks).collect())),
                ("cause", names(rows.iter().map(cause))),
            ],
        }
    }

    fn control_table(&self, world: &World) -> Table {
        let rows = &self.control_rows;
        let peer = |row: &ControlRow| &self.peers[row.peer as usize];
        let place = |row: &ControlRow| self.place(peer(row).swarm, peer(row).population);
        let host = |row: &ControlRow| world.network.host(peer(row).host).name.as_str();
        let spans = |of: fn(&ControlRow) -> Option<Span>| {
            Column::MaybeF64(rows.iter().map(|row| of(row).map(Span::seconds)).collect())
        };
        let rates = |way: usize| Column::F64(rows.iter().map(|row| row.rates[way] * 8.0).collect());
        let limit = |row: &ControlRow| row.limit.rate().map(|rate| rate.bps() as f64);
        Table {
            name: "control",
            columns: vec![
                ("swarm", names(rows.iter().map(|row| place(row).0))),
                ("population", names(rows.iter().map(|row| place(row).1))),
                ("host", names(rows.iter().map(host))),
                ("peer", Column::U32(rows.iter().map(|row| peer(row).id.0).collect())),
                ("t_s", Column::F64(rows.iter().map(|row| row.at.seconds()).collect())),
                ("limit_bps", Column::MaybeF64(rows.iter().map(limit).collect())),
                ("upload_bps", rates(0)),
                ("download_bps", rates(1)),
                ("phase", names(rows.iter().map(|row| row.state.phase.name()))),
                ("reason", names(rows.iter().map(|row| row.state.reason))),
                ("rtt_s", spans(|row| row.rtt)),
                ("base_rtt_s", spans(|row| row.base)),
                ("lost", Column::U32(rows.iter().map(|row| row.lost).collect())),
                ("delay_s", spans(|row| row.state.delay)),
                ("threshold_s", spans(|row| row.state.threshold)),
            ],
        }
    }
}
