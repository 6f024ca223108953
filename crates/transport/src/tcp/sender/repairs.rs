use crate::tcp::recovery::Recovery;
use std::ops::{Deref, DerefMut};

/// A sender's state of its losses, in a box that the first change makes: most connections of a
/// swarm never lose anything.
#[derive(Clone, Debug, Default)]
pub(in crate::tcp) struct Repairs(Option<Box<State>>);

/// See [`Repairs`].
#[derive(Clone, Debug)]
pub(in crate::tcp) struct State {
    pub(super) recovery: Recovery,
    pub(in crate::tcp) counters: Counters,
}

/// Counters of the sending half.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Counters {
    pub(in crate::tcp) bytes_retransmitted: u64,
    pub(in crate::tcp) segments_retransmitted: u32,
    pub(in crate::tcp) timeouts: u32,
    pub(in crate::tcp) recoveries: u32,
    pub(in crate::tcp) undone: u32,
}

/// Nothing was ever lost.
static NOTHING: State = State {
    recovery: Recovery::NONE,
    counters: Counters {
        bytes_retransmitted: 0,
        segments_retransmitted: 0,
        timeouts: 0,
        recoveries: 0,
        undone: 0,
    },
};

impl Deref for Repairs {
    type Target = State;

    fn deref(&self) -> &State {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for Repairs {
    fn deref_mut(&mut self) -> &mut State {
        self.0.get_or_insert_with(|| Box::new(NOTHING.clone()))
    }
}
