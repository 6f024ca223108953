//! The rows about swarms: downloads, populations, and counts of pieces.

use super::account::{Part, Spent};
use super::{Have, Peer, Pieces, Progress, Swarms, View};
use crate::{Column, Table, names, seconds};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::Plan;
use flashcrowd_swarm::Download;
use std::collections::BTreeMap;

/// The peers of one role in one population.
#[derive(Default)]
struct Sum {
    peers: u32,
    completed: u32,
    up: u64,
    down: u64,
    wasted: u64,
    spent: Spent,
}

/// Number of a swarm, index of a population, and whether it is about its leechers.
type Group = (u32, u32, bool);

impl Swarms {
    /// Counts the pieces of every leecher that has arrived. One that has left counts with those that it had then.
    pub fn count_pieces(&mut self, now: Time, of: impl Fn(u32) -> Option<Progress>) {
        let mut populations: Vec<Pieces> = Vec::new();
        let arrived = (0..).zip(&self.peers).filter(|(_, peer)| peer.arrived.is_some());
        for (number, peer) in arrived.filter(|(_, peer)| peer.is_leecher()) {
            let pieces = of(number).unwrap_or(peer.last).pieces;
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
                    at: now,
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
        if let Some(every) = self.measures.pieces {
            self.due.push((now + every, super::Due::Census));
        }
    }

    /// The tables `downloads`, `populations`, `pieces` and `have`. `timeouts` are the retransmission timeouts of
    /// a population.
    pub fn tables(
        &self,
        plan: &Plan,
        now: Time,
        of: impl Fn(u32) -> Option<Progress>,
        timeouts: impl Fn(Group) -> u64,
    ) -> Vec<Table> {
        vec![
            self.downloads(plan, &of),
            self.populations(now, &of, timeouts),
            self.pieces(),
            self.have(),
        ]
    }

    /// Name of a swarm, and of one of its populations.
    fn place(&self, swarm: u32, population: u32) -> (&str, &str) {
        let spec = &self.all[swarm as usize].spec;
        (&spec.name, &spec.populations[population as usize].name)
    }

    fn downloads(&self, plan: &Plan, of: impl Fn(u32) -> Option<Progress>) -> Table {
        let leechers = (0..).zip(&self.peers).filter(|(_, peer)| peer.is_leecher());
        let came: Vec<(u32, &Peer)> = leechers.filter(|(_, it)| it.arrived.is_some()).collect();
        let peers = || came.iter().map(|(_, peer)| *peer);
        let place = |peer: &Peer| self.place(peer.swarm, peer.population);
        let host = |peer: &Peer| plan.network.name_of(peer.host);
        let done = |(number, peer): &(u32, &Peer)| of(*number).unwrap_or(peer.last);
        let progress: Vec<Progress> = came.iter().map(done).collect();
        let duration = |peer: &Peer| Some(peer.completed?.since(peer.arrived?).seconds());
        let arrived = |peer: &Peer| peer.arrived.unwrap_or(Time::START).seconds();
        Table {
            name: "downloads",
            columns: vec![
                ("swarm", names(peers().map(|peer| place(peer).0))),
                ("population", names(peers().map(|peer| place(peer).1))),
                ("host", names(peers().map(host))),
                ("peer", Column::U32(peers().map(|peer| peer.id.0).collect())),
                ("arrived_s", Column::F64(peers().map(arrived).collect())),
                (
                    "completed_s",
                    Column::MaybeF64(peers().map(|peer| seconds(peer.completed)).collect()),
                ),
                ("left_s", Column::MaybeF64(peers().map(|peer| seconds(peer.left)).collect())),
                ("duration_s", Column::MaybeF64(peers().map(duration).collect())),
                ("downloaded_bytes", Column::U64(progress.iter().map(|p| p.down).collect())),
                ("uploaded_bytes", Column::U64(progress.iter().map(|p| p.up).collect())),
                ("pieces", Column::U32(progress.iter().map(|p| p.pieces).collect())),
            ],
        }
    }

    /// Everything about the seeds and the leechers of each population, in the order of the plan.
    fn sums(&self, now: Time, of: impl Fn(u32) -> Option<Progress>) -> BTreeMap<Group, Sum> {
        let mut sums: BTreeMap<Group, Sum> = BTreeMap::new();
        for (number, peer) in (0..).zip(&self.peers) {
            let sum = sums.entry((peer.swarm, peer.population, peer.is_leecher())).or_default();
            if peer.arrived.is_none() {
                continue;
            }
            let progress = of(number).unwrap_or(peer.last);
            sum.peers += 1;
            sum.completed += u32::from(peer.completed.is_some());
            sum.up += progress.up;
            sum.down += progress.down;
            sum.wasted += self.wasted(peer, &progress);
            let demand = &self.all[peer.swarm as usize].demand;
            sum.spent.add(&peer.account.spent(peer.is_online().then_some((now, demand))));
        }
        sums
    }

    fn populations(
        &self,
        now: Time,
        of: impl Fn(u32) -> Option<Progress>,
        timeouts: impl Fn(Group) -> u64,
    ) -> Table {
        let rows: Vec<(Group, Sum)> = self.sums(now, of).into_iter().collect();
        let groups = || rows.iter().map(|(group, _)| *group);
        let sums = || rows.iter().map(|(_, sum)| sum);
        let role = |(.., leechers): Group| if leechers { "leecher" } else { "seed" };
        let spans = |of: fn(&Spent) -> Span| {
            Column::F64(sums().map(|sum| of(&sum.spent).seconds()).collect())
        };
        let download =
            |state: Download| Column::MaybeF64(sums().map(|sum| sum.spent.share(state)).collect());
        // What waits inside of a program cannot be seen from outside.
        let within = |spent: &Spent, part: Span| match self.view {
            View::Inside => part.of(spent.needed),
            View::Outside => None,
        };
        let idle = |((.., leechers), sum): &(Group, Sum)| {
            if *leechers { None } else { within(&sum.spent, sum.spent.idle) }
        };
        let limited = |sum: &Sum| within(&sum.spent, sum.spent.limited);
        Table {
            name: "populations",
            columns: vec![
                ("swarm", names(groups().map(|(swarm, kind, _)| self.place(swarm, kind).0))),
                ("population", names(groups().map(|(swarm, kind, _)| self.place(swarm, kind).1))),
                ("role", names(groups().map(role))),
                ("peers", Column::U32(sums().map(|sum| sum.peers).collect())),
                ("completed", Column::U32(sums().map(|sum| sum.completed).collect())),
                ("uploaded_bytes", Column::U64(sums().map(|sum| sum.up).collect())),
                ("downloaded_bytes", Column::U64(sums().map(|sum| sum.down).collect())),
                ("wasted_bytes", Column::U64(sums().map(|sum| sum.wasted).collect())),
                ("timeouts", Column::U64(groups().map(timeouts).collect())),
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
        let rows = || self.pieces.iter();
        let place = |row: &Pieces| self.place(row.swarm, row.population);
        Table {
            name: "pieces",
            columns: vec![
                ("swarm", names(rows().map(|row| place(row).0))),
                ("population", names(rows().map(|row| place(row).1))),
                ("t_s", Column::F64(rows().map(|row| row.at.seconds()).collect())),
                ("leechers", Column::U32(rows().map(|row| row.leechers).collect())),
                ("mean", Column::F64(rows().map(|row| row.mean).collect())),
                ("min", Column::U32(rows().map(|row| row.min).collect())),
                ("max", Column::U32(rows().map(|row| row.max).collect())),
            ],
        }
    }

    fn have(&self) -> Table {
        let mut rows: Vec<&Have> = self.have.iter().collect();
        rows.sort_by_key(|row| row.at);
        let rows = || rows.iter().copied();
        let peer = |row: &Have| &self.peers[row.peer as usize];
        let place = |row: &Have| self.place(peer(row).swarm, peer(row).population);
        Table {
            name: "have",
            columns: vec![
                ("swarm", names(rows().map(|row| place(row).0))),
                ("population", names(rows().map(|row| place(row).1))),
                ("peer", Column::U32(rows().map(|row| peer(row).id.0).collect())),
                ("piece", Column::U32(rows().map(|row| row.piece).collect())),
                ("t_s", Column::F64(rows().map(|row| row.at.seconds()).collect())),
            ],
        }
    }
}
