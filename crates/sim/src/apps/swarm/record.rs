//! The records of swarms beyond their rules: unchokes, and the orders of upload controllers.

use super::*;
use flashcrowd_workload::{Column, names};

impl Swarms<'_> {
    pub(super) fn swarm_tables(&self, world: &World) -> Vec<Table> {
        let timeouts = world.timeouts();
        let timeouts = |(swarm, population, _): (u32, u32, bool)| {
            let class = self.all[swarm as usize].first_class + population;
            timeouts.get(class as usize).copied().unwrap_or(0)
        };
        let mut tables =
            self.rules.tables(self.plan, world.now, |peer| self.progress(peer), timeouts);
        tables.extend([self.unchokes(), self.web_seeds_table(world), self.control_table(world)]);
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

    fn unchokes(&self) -> Table {
        let rows = &self.unchokes;
        let peer = |row: &Unchoke| self.rules.peer(row.peer);
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
                ("idle_s", Column::F64(rows.iter().map(|row| row.idle.seconds()).collect())),
                ("bytes", Column::U64(rows.iter().map(|row| row.bytes).collect())),
                ("blocks", Column::U32(rows.iter().map(|row| row.blocks).collect())),
                ("cause", names(rows.iter().map(cause))),
            ],
        }
    }

    fn control_table(&self, world: &World) -> Table {
        let rows = &self.control_rows;
        let peer = |row: &ControlRow| self.rules.peer(row.peer);
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
