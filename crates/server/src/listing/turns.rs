//! Which directory is read next, and for which address.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places to read directories. An address has one of them at a time, so that a crowd of one address waits behind itself.
#[derive(Debug)]
pub(crate) struct Turns {
    all: Arc<Semaphore>,
    /// The place of each address that reads or waits, by its number.
    of_one: Mutex<BTreeMap<u32, Weak<Semaphore>>>,
}

/// A turn; dropped, others have theirs.
#[derive(Debug)]
pub(crate) struct Turn {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_one: Option<OwnedSemaphorePermit>,
}

impl Turns {
    pub(crate) fn new(places: usize) -> Turns {
        Turns { all: Arc::new(Semaphore::new(places)), of_one: Mutex::default() }
    }

    /// Waits for the turn of an address.
    pub(crate) async fn take(&self, party: u32) -> Turn {
        // The semaphores are never closed, so that no wait for them fails.
        let of_one = self.of_one(party).acquire_owned().await.ok();
        let of_all = Arc::clone(&self.all).acquire_owned().await.ok();
        Turn { _of_all: of_all, _of_one: of_one }
    }

    fn of_one(&self, party: u32) -> Arc<Semaphore> {
        let mut of_one = self.of_one.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = of_one.get(&party).and_then(Weak::upgrade) {
            return place;
        }
        of_one.retain(|_, place| place.strong_count() > 0);
        let place = Arc::new(Semaphore::new(1));
        of_one.insert(party, Arc::downgrade(&place));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::yield_now;

    /// Takes turns for addresses in this order, each as soon as the one before it waits; gives the order in which they had them.
    async fn order(places: usize, parties: &[u32]) -> Vec<u32> {
        let turns = Arc::new(Turns::new(places));
        let had = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for &party in parties {
            let (turns, had) = (Arc::clone(&turns), Arc::clone(&had));
            tasks.push(tokio::spawn(async move {
                let turn = turns.take(party).await;
                had.lock().unwrap_or_else(PoisonError::into_inner).push(party);
                // It lasts until all have asked.
                for _ in 0..100 {
                    yield_now().await;
                }
                drop(turn);
            }));
            yield_now().await;
        }
        for task in tasks {
            task.await.expect("no task panics");
        }
        // Addresses that have gone are forgotten.
        turns.of_one(0);
        assert_eq!(turns.of_one.lock().unwrap_or_else(PoisonError::into_inner).len(), 1);
        had.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[tokio::test]
    async fn a_crowd_of_one_address_waits_behind_itself() {
        assert_eq!(order(1, &[1, 1, 1, 1, 2, 3]).await, [1, 2, 3, 1, 1, 1]);
        assert_eq!(order(2, &[1, 1, 1, 2, 2]).await[..2], [1, 2]);
    }

    #[tokio::test]
    async fn all_places_are_used() {
        let turns = Turns::new(2);
        let both = (turns.take(1).await, turns.take(2).await);
        assert_eq!(turns.all.available_permits(), 0);
        drop(both);
        assert_eq!(turns.all.available_permits(), 2);
    }
}
