//! Watches and steers a client from another thread.

use crate::events::{Event, LONGEST_GAP, Progress};
use crate::wake::Waker;
use flashcrowd_base::Time;
use flashcrowd_swarm::UploadLimit;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An order to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Join,
    Limit(UploadLimit),
    Leave { told: bool },
}

/// Most events that wait to be taken; older ones are forgotten.
const MOST_EVENTS: usize = 1_000_000;

/// The state that a client and its handles share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    progress: Mutex<Progress>,
    pieces: Mutex<Vec<u8>>,
    gaps: Mutex<BTreeMap<u32, u64>>,
    events: Mutex<VecDeque<Event>>,
    commands: Mutex<VecDeque<Command>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn next_command(&self) -> Option<Command> {
        lock(&self.commands).pop_front()
    }
    /// Whether it is to leave, which stays in the queue.
    pub(crate) fn is_leaving(&self) -> bool {
        lock(&self.commands).iter().any(|it| matches!(it, Command::Leave { .. }))
    }
    pub(crate) fn set_progress(&self, progress: Progress) {
        *lock(&self.progress) = progress;
    }
    pub(crate) fn set_pieces(&self, pieces: Vec<u8>) {
        *lock(&self.pieces) = pieces;
    }
    pub(crate) fn has_piece(&self, piece: u32) {
        if let Some(byte) = lock(&self.pieces).get_mut(piece as usize / 8) {
            *byte |= 0x80 >> (piece % 8);
        }
    }
    pub(crate) fn note(&self, event: Event) {
        let mut events = lock(&self.events);
        if events.len() == MOST_EVENTS {
            events.pop_front();
        }
        events.push_back(event);
    }
    pub(crate) fn gaps(&self) -> BTreeMap<u32, u64> {
        lock(&self.gaps).clone()
    }
    pub(crate) fn note_gap(&self, since: Time, now: Time) {
        let millis = (now.nanos().saturating_sub(since.nanos()) / 1_000_000).min(LONGEST_GAP);
        *lock(&self.gaps).entry(millis as u32).or_default() += 1;
    }
}

/// Watches and steers a client from another thread.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) waker: Waker,
}

impl Handle {
    fn tell(&self, command: Command) {
        lock(&self.shared.commands).push_back(command);
        self.waker.wake();
    }
    /// It enters its swarm, once it has looked at what is on the disk.
    pub fn join(&self) {
        self.tell(Command::Join);
    }
    /// Its upload limit changes.
    pub fn limit(&self, upload: UploadLimit) {
        self.tell(Command::Limit(upload));
    }
    /// It closes its connections, and ends when its tracker knows. It ends at once if `told` is false, and at
    /// the second call.
    pub fn leave(&self, told: bool) {
        self.tell(Command::Leave { told });
    }
    /// Its state.
    pub fn progress(&self) -> Progress {
        lock(&self.shared.progress).clone()
    }
    /// The pieces that it has, as in a BITFIELD.
    pub fn pieces(&self) -> Vec<u8> {
        lock(&self.shared.pieces).clone()
    }
    /// Events since the last call.
    pub fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut *lock(&self.shared.events)).into()
    }
    /// A histogram of the gaps between two sends of block bytes over one connection, in milliseconds.
    pub fn send_gaps(&self) -> BTreeMap<u32, u64> {
        self.shared.gaps()
    }
}
