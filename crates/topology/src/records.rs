//! The records of links, in all engines: values of series, and the tables `links` and `queues`.

use crate::{LinkUse, LinkWindow, QueueLength, QueueLengths, SharedLink, Topology};
use flashcrowd_base::Time;
use flashcrowd_plan::Sampled;
use flashcrowd_workload::{Column, Sample, Table, names};

impl<K> Topology<K> {
    /// The present value of a series of links, for each with a rate that is played here.
    pub fn sample(&mut self, now: Time, what: Sampled) -> Vec<(u32, Sample)> {
        let all = (0u32..).zip(self.links());
        let rated = all.filter(|(_, link)| link.is_rated() && !link.is_elsewhere());
        let rated: Vec<u32> = rated.map(|(number, _)| number).collect();
        let mut value = |number: u32| {
            let link = self.link_mut(number);
            match what {
                Sampled::QueuePackets => Sample::Level(f64::from(link.queued_packets(now))),
                Sampled::QueueDelay => Sample::Level(link.queueing_delay(now).seconds()),
                _ => Sample::Bits(link.sent(now).bits),
            }
        };
        rated.into_iter().map(|number| (number, value(number))).collect()
    }
}

impl LinkWindow {
    /// The table `links`, of those that are played here.
    pub fn table<'a, K: 'a>(
        &self,
        links: impl Iterator<Item = &'a SharedLink<K>>,
        now: Time,
    ) -> Table {
        let own = links.enumerate().filter(|(_, link)| !link.is_elsewhere());
        let rows: Vec<(&str, LinkUse)> =
            own.map(|(index, link)| (link.name(), self.used(index, link, now))).collect();
        let counts =
            |of: fn(&LinkUse) -> u64| Column::U64(rows.iter().map(|(_, used)| of(used)).collect());
        let waits = rows.iter().map(|(_, used)| used.mean_wait_s).collect();
        let max = rows.iter().map(|(_, used)| used.max_packets).collect();
        let utilisation = rows.iter().map(|(_, used)| used.utilisation).collect();
        Table {
            name: "links",
            columns: vec![
                ("link", names(rows.iter().map(|(name, _)| *name))),
                ("packets", counts(|used| used.packets)),
                ("bytes", counts(|used| used.bytes)),
                ("dropped", counts(|used| used.dropped)),
                ("lost", counts(|used| used.lost)),
                ("mean_queue_delay_s", Column::MaybeF64(waits)),
                ("max_queue_packets", Column::U32(max)),
                ("utilisation", Column::MaybeF64(utilisation)),
            ],
        }
    }
}

impl QueueLengths {
    /// The table `queues`.
    pub fn table(&self) -> Table {
        let rows: Vec<QueueLength<'_>> = self.rows().collect();
        let counts = |of: fn(&QueueLength<'_>) -> u64| Column::U64(rows.iter().map(of).collect());
        Table {
            name: "queues",
            columns: vec![
                ("owner", names(rows.iter().map(|row| row.owner))),
                ("way", names(rows.iter().map(|row| row.way))),
                ("packets", Column::U32(rows.iter().map(|row| row.packets).collect())),
                ("count", counts(|row| row.count)),
                ("online", counts(|row| row.online)),
            ],
        }
    }
}
