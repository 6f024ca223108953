use flashcrowd_base::RandomStream;
use twox_hash::xxhash3_128::Hasher;

/// Bytes before content repeats. A prime, so that a range that is moved by any usual size differs.
const PERIOD: usize = 1_048_573;

/// Bytes that look random and follow from a seed: any part can be computed from it.
#[derive(Clone, Debug)]
pub struct Content {
    period: Vec<u8>,
}

impl Content {
    /// The content of this seed.
    pub fn new(seed: u64) -> Content {
        let mut stream = RandomStream::new(seed, "utp-content", 0);
        let mut period = Vec::with_capacity(PERIOD + 8);
        while period.len() < PERIOD {
            period.extend_from_slice(&stream.bits().to_le_bytes());
        }
        period.truncate(PERIOD);
        Content { period }
    }

    /// Some of the bytes from `offset`, at least one and at most `max`.
    pub fn slice(&self, offset: u64, max: usize) -> &[u8] {
        let at = (offset % PERIOD as u64) as usize;
        &self.period[at..PERIOD.min(at.saturating_add(max.max(1)))]
    }

    /// The digest of the first `bytes` bytes.
    pub fn digest(&self, bytes: u64) -> Digest {
        let mut digest = Digest::default();
        let mut at = 0;
        while at < bytes {
            let slice = self.slice(at, usize::try_from(bytes - at).unwrap_or(usize::MAX));
            digest.update(slice);
            at += slice.len() as u64;
        }
        digest
    }
}

/// XXH3 with 128 bits: finds every accident that changes, loses, doubles or moves bytes, and takes
/// little time compared with a system call. Not against a forger.
pub struct Digest(Hasher);

impl Default for Digest {
    fn default() -> Digest {
        Digest(Hasher::new())
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest({:032x})", self.value())
    }
}

impl Digest {
    /// Takes more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The digest of what was taken so far.
    pub fn value(&self) -> u128 {
        self.0.finish_128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_xxh3_and_does_not_depend_on_the_slices() {
        // The test vectors of the algorithm's authors: nothing at all, with seed 0.
        assert_eq!(Digest::default().value(), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
        let content = Content::new(7);
        let bytes = 2 * PERIOD as u64 + 12_345;
        let mut digest = Digest::default();
        let mut at = 0;
        for max in [1, 77, 4096, 700_000].into_iter().cycle() {
            let slice = content.slice(at, max.min((bytes - at) as usize));
            digest.update(slice);
            at += slice.len() as u64;
            if at == bytes {
                break;
            }
        }
        assert_eq!(digest.value(), content.digest(bytes).value());
        assert_ne!(digest.value(), content.digest(bytes - 1).value());
        assert_ne!(digest.value(), Content::new(8).digest(bytes).value());
    }
}
