use super::active_stream::lock;
use super::conduit::Conduit;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

/// Connections that may wait at once for their callers' first words. More than the demultiplexer lets one
/// network have, so that one network alone cannot push the others out.
const MAX_WAITING: usize = 512;

/// Connections whose callers have not sent their request yet. They take no place of a stream; when there
/// are too many, the one that has waited longest is ended.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// By order of arrival.
    connections: Mutex<(u64, BTreeMap<u64, Weak<Conduit>>)>,
}

impl Waiting {
    /// A connection waits from now on; its place.
    pub(super) fn enter(&self, conduit: &Arc<Conduit>) -> u64 {
        let mut connections = lock(&self.connections);
        let (next, waiting) = &mut *connections;
        *next += 1;
        waiting.insert(*next, Arc::downgrade(conduit));
        if waiting.len() > MAX_WAITING
            && let Some((_, oldest)) = waiting.pop_first()
            && let Some(oldest) = oldest.upgrade()
        {
            oldest.abort();
        }
        *next
    }

    /// It waits no more. Whether it still had its place.
    pub(super) fn leave(&self, place: u64) -> bool {
        lock(&self.connections).1.remove(&place).is_some()
    }

    /// Ends all that wait.
    pub(super) fn dismiss(&self) {
        for (_, conduit) in std::mem::take(&mut lock(&self.connections).1) {
            if let Some(conduit) = conduit.upgrade() {
                conduit.abort();
            }
        }
    }
}
