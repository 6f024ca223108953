use super::{App, DatagramContent, PING, Saying, World};
use crate::kernel::{Datagram, Event};
use flashcrowd_plan::{Change, Plan, What};
use flashcrowd_workload::{self as workload, Table};

/// Echo requests at fixed intervals, in virtual time.
pub(crate) struct Pings {
    rules: workload::Pings,
}

const REQUEST: u8 = 0;
const REPLY: u8 = 1;

impl Pings {
    pub(crate) fn new(plan: &Plan, _world: &mut World) -> Pings {
        Pings { rules: workload::Pings::new(plan) }
    }

    fn hosts(&self, ping: u32, code: u8) -> [u32; 2] {
        let spec = &self.rules.all[ping as usize].spec;
        if code == REPLY { [spec.to, spec.from] } else { [spec.from, spec.to] }
    }

    fn echo(&self, world: &mut World, ping: u32, number: u64, code: u8) {
        let [from, to] = self.hosts(ping, code);
        let bytes = self.rules.all[ping as usize].spec.size_bytes;
        let datagram = Datagram { app: PING, code, index: ping, words: [number, 0], bytes };
        world.send_datagram(from, to, &datagram);
    }
}

impl App for Pings {
    fn begin(&mut self, world: &mut World) {
        for (index, ping) in (0..).zip(&self.rules.all) {
            world.schedule(ping.next_due(), PING, 0, index);
        }
    }

    /// Sends a request and schedules the next one.
    fn on_event(&mut self, world: &mut World, event: Event) {
        let ping = &mut self.rules.all[event.index() as usize];
        let Some(number) = ping.send(world.now) else { return };
        let next = ping.next_due();
        self.echo(world, event.index(), number, REQUEST);
        world.schedule(next, PING, 0, event.index());
    }

    /// A request reached the answering host, or an answer the asking one.
    fn on_datagram(&mut self, world: &mut World, datagram: Datagram) {
        let (ping, number) = (datagram.index, datagram.words[0]);
        if datagram.code == REQUEST {
            return self.echo(world, ping, number, REPLY);
        }
        self.rules.all[ping as usize].answer(number, world.now);
    }

    fn change(&mut self, _world: &mut World, change: &Change) {
        if let What::Stop { workload } = change.what {
            self.rules.stop(workload);
        }
    }

    fn undelivered(&self, world: &World) -> Vec<String> {
        self.rules.undelivered(world.now)
    }

    fn says(&self, datagram: &Datagram) -> Option<Saying> {
        let Datagram { code, index, words: [number, _], .. } = *datagram;
        let content = DatagramContent::Echo {
            reply: code == REPLY,
            identifier: index as u16 + 1,
            sequence: number as u16,
        };
        Some(Saying { hosts: self.hosts(index, code), content })
    }

    fn tables(&self, _world: &World) -> Vec<Table> {
        vec![self.rules.table()]
    }
}
