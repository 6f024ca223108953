use flashcrowd_base::{Probability, RandomStream, Span};
use flashcrowd_link::{Conditions, Direction, Loss, LossModel, Side};
use flashcrowd_plan as plan;
use std::ops::Range;

/// A step of a route that is the pair's own piece of path; any other is the index of a shared link.
pub(crate) const PAIR: u32 = u32::MAX;

/// The way from one host to another.
#[derive(Debug)]
pub(crate) struct Route {
    /// First step in the topology's list of steps, and how many.
    pub(crate) first: u32,
    pub(crate) len: u16,
    /// Its two links, where it is two queues with a constant delay between them: then their steps need no look.
    pub(crate) through: Option<[u32; 2]>,
    pub(crate) core: u32,
    /// The hosts at its ends; of a route that pairs share, those that asked first.
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The delay of the pair's own piece, where that is constant.
    pub(crate) constant: Option<Span>,
    /// The pair's own piece, where it is not.
    pub(crate) own: Option<Box<PairPath>>,
}

/// The piece of path that belongs to an ordered pair of hosts.
#[derive(Debug)]
pub(crate) struct PairPath {
    /// The draws of the pair, in place of the core's conditions.
    pub(crate) drawn: Option<Drawn>,
    pub(crate) direction: Direction,
}

impl Route {
    pub(crate) fn range(&self) -> Range<usize> {
        self.first as usize..self.first as usize + usize::from(self.len)
    }
}

/// The draws of a pair of hosts from the distributions of its core.
#[derive(Debug)]
pub(crate) struct Drawn {
    one_way: Option<Span>,
    loss: Option<Probability>,
    pub(crate) conditions: Conditions,
}

impl Drawn {
    /// The same draw for both directions of a pair.
    pub(crate) fn new(seed: u64, core: &plan::CorePath, from: u32, to: u32) -> Option<Drawn> {
        let draw = core.draw.as_ref()?;
        let pair = u64::from(from.min(to)) << 32 | u64::from(from.max(to));
        let mut stream = RandomStream::new(seed, "pair", pair);
        let rtt = draw.rtt_s.as_ref().map(|rtt| Span::from_seconds(rtt.draw(&mut stream)));
        let loss = draw.loss.as_ref().map(|loss| loss.draw(&mut stream).clamp(0.0, 1.0));
        let mut drawn = Drawn {
            one_way: rtt.map(|rtt| rtt / 2),
            loss: loss.and_then(Probability::new),
            conditions: Conditions::default(),
        };
        drawn.apply(&core.conditions);
        Some(drawn)
    }

    /// Takes over what was not drawn.
    pub(crate) fn apply(&mut self, core: &Conditions) {
        self.conditions = core.clone();
        if let Some(delay) = self.one_way {
            self.conditions.delay_ns = delay;
        }
        if let Some(probability) = self.loss {
            let model = LossModel::Bernoulli { probability };
            self.conditions.loss = Some(Loss { side: Side::Receiver, model });
        }
    }
}
