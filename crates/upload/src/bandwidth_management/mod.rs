//! The bandwidth management of BitTorrent mainline 5.0.9 (2007), the nearest relative of Adaptive-DRC: both estimators
//! of congestion in its tree, by their sources. Its probes went twice a second to the farthest router that the paths to
//! up to 60 peers share; here the first reflector replaces that router.

pub(crate) mod chebyshev;
pub(crate) mod deviation;

/// The last `max` round trips.
#[derive(Clone, Debug)]
struct Window {
    values: Vec<f64>,
    max: usize,
}

impl Window {
    fn new(max: u32) -> Window {
        Window { values: Vec::with_capacity(max as usize + 1), max: max as usize }
    }
    fn push(&mut self, value: f64) {
        self.values.push(value);
        if self.values.len() > self.max {
            self.values.remove(0);
        }
    }
    /// Mean and standard deviation; zeros of nothing.
    fn moments(&self) -> (f64, f64) {
        crate::moments::mean_and_deviation(&self.values).unwrap_or((0.0, 0.0))
    }
}
