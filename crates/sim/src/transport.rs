use flashcrowd_base::Time;
use flashcrowd_transport::tcp::{self, State, Stats};

/// What carries a socket's stream. A socket holds it in place: a box would be a cache miss more for
/// each packet, which is what runs of hundreds of peers spend their time on.
pub(crate) enum Transport {
    Tcp(tcp::Connection),
}

macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            Transport::Tcp($inner) => $call,
        }
    };
}

/// What every transport can do, by the names that they share; see [`tcp::Connection`].
impl Transport {
    #[inline]
    pub(crate) fn on_timer(&mut self, now: Time) {
        each!(self, t => t.on_timer(now))
    }
    #[inline]
    pub(crate) fn write(&mut self, now: Time, bytes: u64) -> u64 {
        each!(self, t => t.write(now, bytes))
    }
    #[inline]
    pub(crate) fn write_space(&self) -> u64 {
        each!(self, t => t.write_space())
    }
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        each!(self, t => t.unsent())
    }
    #[inline]
    pub(crate) fn unacknowledged(&self) -> u64 {
        each!(self, t => t.unacknowledged())
    }
    #[inline]
    pub(crate) fn readable(&self) -> u64 {
        each!(self, t => t.readable())
    }
    #[inline]
    pub(crate) fn read(&mut self, now: Time, bytes: u64) {
        each!(self, t => t.read(now, bytes))
    }
    #[inline]
    pub(crate) fn close(&mut self, now: Time) {
        each!(self, t => t.close(now))
    }
    #[inline]
    pub(crate) fn abort(&mut self, now: Time) {
        each!(self, t => t.abort(now))
    }
    #[inline]
    pub(crate) fn is_established(&self) -> bool {
        each!(self, t => t.is_established())
    }
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        each!(self, t => t.is_closed())
    }
    /// Whether nothing more will come of it: it is closed, or only waits for stray packets.
    pub(crate) fn is_over(&self) -> bool {
        each!(self, t => matches!(t.state(), State::Closed { .. } | State::TimeWait))
    }
    #[inline]
    pub(crate) fn peer_closed(&self) -> bool {
        each!(self, t => t.peer_closed())
    }
    #[inline]
    pub(crate) fn has_acknowledgement(&self) -> bool {
        each!(self, t => t.has_acknowledgement())
    }
    #[inline]
    pub(crate) fn stats(&self) -> Stats {
        each!(self, t => t.stats())
    }
    /// Reads a little of every part; see [`tcp::Connection::touch`].
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        each!(self, t => t.touch())
    }
    /// The same for what it points to.
    #[inline]
    pub(crate) fn touch_beyond(&self) -> u64 {
        each!(self, t => t.touch_beyond())
    }
}
