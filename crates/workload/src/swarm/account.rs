//! Time accounts of peers: in which states a download spent its time.

use flashcrowd_base::{Span, Time};
use flashcrowd_swarm::Download;

/// How long incomplete leechers of a swarm have been online: the time in which uploads matter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    leechers: u32,
    since: Time,
    total: Span,
}

impl Demand {
    /// The time until `now` in which there was one.
    fn until(&self, now: Time) -> Span {
        if self.leechers > 0 { self.total + now.since(self.since) } else { self.total }
    }
    /// An incomplete leecher came.
    pub(super) fn grow(&mut self, now: Time) {
        if self.leechers == 0 {
            self.since = now;
        }
        self.leechers += 1;
    }
    /// An incomplete leecher left, or is complete now.
    pub(super) fn shrink(&mut self, now: Time) {
        self.total = self.until(now);
        self.since = self.since.max(now);
        self.leechers -= 1;
    }
}

/// State of a seed's uploads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Uplink {
    /// No request is open, and all that it sent is acknowledged.
    #[default]
    Idle,
    /// Some requested blocks are not handed to a transport yet.
    Busy,
    /// All requested blocks are handed to its transports.
    Draining,
}

/// What a peer does between two observations.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// None while an incomplete client does not say how it gets on.
    download: Option<Download>,
    limited: bool,
    uplink: Uplink,
}

/// What one peer has spent its time on.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// Until when it is kept, by the clock and by the demand.
    kept: Time,
    kept_demand: Span,
    state: State,
    spent: Spent,
}

/// Times of one peer, or sums over several.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) online: Span,
    /// Online and incomplete, in the order of [`Download`].
    pub(super) download: [Span; 4],
    /// Online and incomplete, while the client did not say how it gets on.
    pub(super) unknown: Span,
    /// Online while a leecher was incomplete, and of that: with nothing to send, and held back by
    /// the own upload limit.
    pub(super) needed: Span,
    pub(super) idle: Span,
    pub(super) limited: Span,
}

impl Spent {
    pub(super) fn add(&mut self, other: &Spent) {
        self.online += other.online;
        self.unknown += other.unknown;
        self.needed += other.needed;
        self.idle += other.idle;
        self.limited += other.limited;
        for (sum, span) in self.download.iter_mut().zip(other.download) {
            *sum += span;
        }
    }
    pub(super) fn downloading(&self) -> Span {
        self.download.iter().fold(self.unknown, |sum, span| sum + *span)
    }
    /// The share of the download that was spent in a state, where it is known for all of it.
    pub(super) fn share(&self, state: Download) -> Option<f64> {
        let part = self.download[state as usize];
        self.unknown.is_zero().then(|| part.of(self.downloading())).flatten()
    }
}

/// One span as a share of another.
pub(super) trait Part {
    fn of(self, whole: Span) -> Option<f64>;
}

impl Part for Span {
    fn of(self, whole: Span) -> Option<f64> {
        (!whole.is_zero()).then(|| self.nanos() as f64 / whole.nanos() as f64)
    }
}

impl Account {
    /// A peer comes at `now`.
    pub(super) fn open(now: Time, demand: &Demand, download: Download) -> Account {
        let state = State { download: Some(download), ..State::default() };
        Account { kept: now, kept_demand: demand.until(now), state, spent: Spent::default() }
    }

    pub(super) fn uplink(&self) -> Uplink {
        self.state.uplink
    }

    /// Its download and its limit change.
    pub(super) fn stand(
        &mut self,
        now: Time,
        demand: &Demand,
        download: Option<Download>,
        limited: bool,
    ) {
        self.keep(now, demand);
        (self.state.download, self.state.limited) = (download, limited);
    }

    /// Its uploads change.
    pub(super) fn send(&mut self, now: Time, demand: &Demand, uplink: Uplink) {
        self.keep(now, demand);
        self.state.uplink = uplink;
    }

    /// Charges the time until now to its present state. An observation may be older than the one before it.
    fn keep(&mut self, now: Time, demand: &Demand) {
        let (span, until) = (now.since(self.kept), demand.until(now).max(self.kept_demand));
        let needed = Span::from_nanos(until.nanos() - self.kept_demand.nanos());
        (self.kept, self.kept_demand) = (self.kept.max(now), until);
        let (spent, state) = (&mut self.spent, self.state);
        spent.online += span;
        match state.download {
            Some(Download::Complete) => {}
            Some(download) => spent.download[download as usize] += span,
            None => spent.unknown += span,
        }
        spent.needed += needed;
        if state.uplink == Uplink::Idle {
            spent.idle += needed;
        }
        if state.limited {
            spent.limited += needed;
        }
    }

    /// What it has spent until now, if it is online.
    pub(super) fn spent(&self, now: Option<(Time, &Demand)>) -> Spent {
        let mut account = self.clone();
        if let Some((now, demand)) = now {
            account.keep(now, demand);
        }
        account.spent
    }
}
