use std::time::Duration;

/// Longest chunk: what is queued when the transfer is stopped has to arrive first.
const CHUNK_BYTES: usize = 64 * 1024;
/// Sending at a rate, a chunk is this much time, in milliseconds: some grains of a timer.
const CHUNK_MILLIS: u64 = 10;
/// A chunk is this long at least: about a packet.
const MIN_BYTES: usize = 1400;

/// Token bucket without depth: how much may have been written after how long, at a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateLimit {
    bits_per_second: Option<u64>,
}

impl RateLimit {
    pub(super) fn new(bits_per_second: Option<u64>) -> RateLimit {
        RateLimit { bits_per_second }
    }

    /// Bytes to write at once.
    pub(super) fn chunk(self) -> usize {
        let Some(rate) = self.bits_per_second else { return CHUNK_BYTES };
        let bytes = usize::try_from(rate / 8000 * CHUNK_MILLIS).unwrap_or(usize::MAX);
        bytes.clamp(MIN_BYTES, CHUNK_BYTES)
    }

    /// How long after the first byte the next may be written, when `written` have been.
    pub(super) fn due(self, written: u64) -> Duration {
        match self.bits_per_second {
            Some(rate) if rate > 0 => {
                let nanos = u128::from(written) * 8_000_000_000 / u128::from(rate);
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_their_time() {
        let rate_limit = RateLimit::new(Some(8_000_000));
        assert_eq!((rate_limit.chunk(), rate_limit.due(0)), (10_000, Duration::ZERO));
        assert_eq!(rate_limit.due(1_000_000), Duration::from_secs(1));
        assert_eq!(RateLimit::new(Some(1)).chunk(), MIN_BYTES);
        assert_eq!(RateLimit::new(Some(u64::MAX)).chunk(), CHUNK_BYTES);
        assert_eq!(RateLimit::new(Some(1)).due(u64::MAX), Duration::from_nanos(u64::MAX));
        assert_eq!(
            (RateLimit::new(None).chunk(), RateLimit::new(None).due(9)),
            (CHUNK_BYTES, Duration::ZERO)
        );
    }
}
