//! How busy the uplink is, by how many probes wait. Whatever bursts a limiter makes, the part of the time in which a line is busy is
//! the rate that goes over it by its capacity (the utilisation law), and probes that come at all phases of the limiter's tick find it busy
//! as often. So the capacity is known roughly long before a queue stands, and a search need not run into one.

/// Probes that were answered, and those that waited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Occupancy {
    /// Rate by probes, summed over windows: what the line carried.
    carried: f64,
    waited: f64,
    /// The part of the last window in both.
    last: (f64, f64),
}

impl Occupancy {
    /// In a window with this upload, in bytes per second, `waited` of the answers waited.
    pub(super) fn note(&mut self, upload: f64, (waited, answers): (usize, usize)) {
        self.last = (upload * answers as f64, waited as f64);
        self.carried += self.last.0;
        self.waited += self.last.1;
    }

    /// Forgets the last window: others were about to fill the line, and probes waited for them.
    pub(super) fn withdraw(&mut self) {
        let (carried, waited) = std::mem::take(&mut self.last);
        self.carried -= carried;
        self.waited -= waited;
    }

    /// Windows of long ago count less and less: after half a minute a half, at two seconds a window.
    pub(super) fn fade(&mut self) {
        const KEPT: f64 = 1.0 - 1.0 / 22.0;
        self.carried *= KEPT;
        self.waited *= KEPT;
        self.last = (0.0, 0.0);
    }

    /// How many probes waited, those of long ago in part.
    pub(super) fn waits(&self) -> f64 {
        self.waited
    }

    /// The capacity in bytes per second. One more is taken to have waited than did (Laplace's rule): a few
    /// answers without a wait do not make a line endless. Nothing before an answer under load.
    pub(super) fn capacity(&self) -> Option<f64> {
        (self.carried > 0.0).then(|| self.carried / (self.waited + 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_withdrawn_says_nothing() {
        let (mut line, mut other) = (Occupancy::default(), Occupancy::default());
        for (upload, waited) in [(10e3, 1), (20e3, 5)] {
            line.note(upload, (waited, 10));
        }
        line.withdraw();
        other.note(10e3, (1, 10));
        assert_eq!(line.capacity(), other.capacity());
        // Once only: the window before it was not under the same suspicion.
        line.withdraw();
        assert_eq!(line.capacity(), other.capacity());
    }

    #[test]
    fn the_part_of_probes_that_wait_tells_the_capacity() {
        let mut line = Occupancy::default();
        assert_eq!(line.capacity(), None);
        // A line of 100 kB/s that carries 10, 20 and 40 kB/s, ten probes each.
        for (upload, waited) in [(10e3, 1), (20e3, 2), (40e3, 4)] {
            line.note(upload, (waited, 10));
        }
        let found = line.capacity().expect("there was load");
        assert!((80e3..100e3).contains(&found), "{found}");
    }
}
