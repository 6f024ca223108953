use super::{App, CALL, DatagramContent, Saying, World};
use crate::kernel::{Datagram, Event};
use flashcrowd_base::Time;
use flashcrowd_plan::{self as plan, Change, Plan, What};
use flashcrowd_workload::{self as workload, Table};

/// Streams of datagrams at a constant rate, both ways, in virtual time.
pub(crate) struct Calls<'p> {
    plan: &'p Plan,
    rules: workload::Calls,
}

impl<'p> Calls<'p> {
    pub(crate) fn new(plan: &'p Plan, _world: &mut World) -> Calls<'p> {
        Calls { plan, rules: workload::Calls::new(plan) }
    }
}

impl App for Calls<'_> {
    fn begin(&mut self, world: &mut World) {
        for (index, call) in (0..).zip(&self.rules.all) {
            world.schedule(call.next_due(), CALL, 0, index);
        }
    }

    /// Both hosts send a packet.
    fn on_event(&mut self, world: &mut World, event: Event) {
        let call = &mut self.rules.all[event.index() as usize];
        let Some(number) = call.send() else { return };
        let plan::Call { from, to, size_bytes: bytes, .. } = call.spec;
        let (words, next) = ([number, world.now.nanos()], call.next_due());
        for (code, (from, to)) in (0..).zip([(from, to), (to, from)]) {
            let datagram = Datagram { app: CALL, code, index: event.index(), words, bytes };
            world.send_datagram(from, to, &datagram);
        }
        world.schedule(next, CALL, 0, event.index());
    }

    fn on_datagram(&mut self, world: &mut World, datagram: Datagram) {
        let [number, sent] = datagram.words;
        let delay = world.now - Time::from_nanos(sent);
        let call = &mut self.rules.all[datagram.index as usize];
        call.arrive(usize::from(datagram.code), number, delay);
    }

    fn change(&mut self, _world: &mut World, change: &Change) {
        if let What::Stop { workload } = change.what {
            self.rules.stop(workload);
        }
    }

    fn undelivered(&self, world: &World) -> Vec<String> {
        self.rules.undelivered(self.plan, world.now)
    }

    fn says(&self, datagram: &Datagram) -> Option<Saying> {
        let Datagram { code, index, words: [number, sent], .. } = *datagram;
        let spec = &self.rules.all[index as usize].spec;
        let hosts = if code == 0 { [spec.from, spec.to] } else { [spec.to, spec.from] };
        let content = DatagramContent::Rtp {
            call: index,
            source: index << 1 | u32::from(code),
            sequence: number as u16,
            sent: Time::from_nanos(sent),
        };
        Some(Saying { hosts, content })
    }

    fn tables(&self, _world: &World) -> Vec<Table> {
        vec![self.rules.table(self.plan)]
    }
}
