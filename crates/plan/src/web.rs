use crate::check::{ends, require};
use crate::{Error, Plan, TransportChoice};
use flashcrowd_base::{RandomStream, Span};
use serde::{Deserialize, Serialize};

/// Users who fetch pages over fresh connections and read each before they ask for the next one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Unique name.
    pub name: String,
    /// The host of the users; it opens the connections.
    pub from: u32,
    /// The host that has the pages.
    pub to: u32,
    /// The transport of the connections; none for TCP with each host's own stack.
    pub transport: Option<TransportChoice>,
    /// Users at the host, independent of each other.
    pub users: u32,
    /// Connections that each page opens at once. Each asks for an equal part of the page.
    pub connections: u32,
    /// Length of a request.
    pub request_bytes: u64,
    /// Length of the pages.
    pub page: PageSize,
    /// Time from the end of a page to the request for the next one.
    pub reading: Reading,
    /// When it starts.
    pub start_ns: Span,
    /// Each user asks for the first page at a random instant of this window after `start_ns`.
    pub spread_ns: Span,
    /// When it stops; pages that are under way are given up.
    pub stop_ns: Option<Span>,
}

/// Distribution of the length of pages: a lognormal body, and a bounded Pareto tail in place of the
/// part of the body beyond its begin (Barford and Crovella 1998, for files).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PageSize {
    /// Median of the body.
    pub median_bytes: u64,
    /// Standard deviation of the logarithm of the body; 0 for pages that all are as the median.
    pub sigma: f64,
    /// Where the tail begins.
    pub tail_from_bytes: u64,
    /// Shape of the tail; the heavier the smaller.
    pub tail_shape: f64,
    /// Where the tail ends.
    pub largest_bytes: u64,
}

/// Distribution of the time for which a user reads a page (OFF time).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reading {
    /// Exponential.
    Exponential {
        /// Mean.
        mean_ns: Span,
    },
    /// Pareto, bounded.
    Pareto {
        /// Least time.
        least_ns: Span,
        /// Shape.
        shape: f64,
        /// Longest time.
        longest_ns: Span,
    },
}

/// Users of one web workload: more is surely a mistake.
const MAX_USERS: u32 = 100_000;
/// Connections of a page: browsers open 6 to a host at most.
const MAX_CONNECTIONS: u32 = 100;

impl Web {
    /// Logs of connections may be about it.
    pub(crate) const OPENS_CONNECTIONS: bool = true;
    /// One process plays the users and the server.
    pub(crate) const ONE_PROCESS: bool = true;

    pub(crate) fn hosts(&self) -> Vec<u32> {
        vec![self.from, self.to]
    }

    pub(crate) fn check(&self, plan: &Plan, path: &str) -> Result<(), Error> {
        ends(plan, self.from, self.to, path)?;
        TransportChoice::check(self.transport, plan, format_args!("{path}.transport"))?;
        let few = self.users <= MAX_USERS;
        require(few, format_args!("{path}.users"), format_args!("must be at most {MAX_USERS}"))?;
        let some = (1..=MAX_CONNECTIONS).contains(&self.connections);
        let place = format!("{path}.connections");
        require(some, &place, format_args!("must be between 1 and {MAX_CONNECTIONS}"))?;
        let asks = (1..=1 << 20).contains(&self.request_bytes);
        let allowed = "must be between 1 and 1048576";
        require(asks, format_args!("{path}.request_bytes"), allowed)?;
        self.page.check(&format!("{path}.page"))?;
        self.reading.check(&format!("{path}.reading"))?;
        let order = self.stop_ns.is_none_or(|stop| stop > self.start_ns);
        require(order, format_args!("{path}.stop_ns"), "must be after start_ns")
    }
}

impl PageSize {
    /// Longer pages are surely a mistake.
    const MAX_BYTES: u64 = 1 << 40;

    fn check(&self, path: &str) -> Result<(), Error> {
        require(self.median_bytes > 0, format_args!("{path}.median_bytes"), "must not be zero")?;
        let spread = (0.0..=10.0).contains(&self.sigma);
        require(spread, format_args!("{path}.sigma"), "must be between 0 and 10")?;
        let begins = self.tail_from_bytes >= self.median_bytes;
        let allowed = "must be at least median_bytes";
        require(begins, format_args!("{path}.tail_from_bytes"), allowed)?;
        let shaped = (0.01..=100.0).contains(&self.tail_shape);
        require(shaped, format_args!("{path}.tail_shape"), "must be between 0.01 and 100")?;
        let ends = (self.tail_from_bytes..=Self::MAX_BYTES).contains(&self.largest_bytes);
        let (place, max) = (format!("{path}.largest_bytes"), Self::MAX_BYTES);
        require(ends, &place, format_args!("must be between tail_from_bytes and {max}"))
    }

    /// Mean length of a page: of the body the part below the tail's begin, of the tail all, with the
    /// body's weight beyond.
    pub fn mean(&self) -> f64 {
        let (median, from) = (self.median_bytes as f64, self.tail_from_bytes as f64);
        if self.sigma == 0.0 {
            return median;
        }
        let cut = libm::log(from / median) / self.sigma;
        let body = median * libm::exp(self.sigma * self.sigma / 2.0) * phi(cut - self.sigma);
        let tail = pareto_mean(from, self.largest_bytes as f64, self.tail_shape);
        // With a wide spread the exponential is beyond all numbers, and the part below next to none.
        let body = if body.is_finite() { body } else { 0.0 };
        (body + phi(-cut) * tail).clamp(1.0, self.largest_bytes as f64)
    }

    /// Draws the length of a page. Every call takes three values of the stream.
    pub fn draw(&self, stream: &mut RandomStream) -> u64 {
        let (normal, unit) = (stream.normal(), stream.unit());
        let body = self.median_bytes as f64 * libm::exp(self.sigma * normal);
        let (from, to) = (self.tail_from_bytes as f64, self.largest_bytes as f64);
        let bytes = if body <= from { body } else { pareto(from, to, self.tail_shape, unit) };
        (libm::round(bytes) as u64).max(1)
    }
}

impl Reading {
    fn check(&self, path: &str) -> Result<(), Error> {
        let day = Span::from_secs(86_400);
        match self {
            Reading::Exponential { mean_ns } => {
                require(*mean_ns <= day, format_args!("{path}.mean_ns"), "must be at most a day")
            }
            Reading::Pareto { least_ns, shape, longest_ns } => {
                let some = !least_ns.is_zero();
                require(some, format_args!("{path}.least_ns"), "must be more than zero")?;
                let shaped = (0.01..=100.0).contains(shape);
                require(shaped, format_args!("{path}.shape"), "must be between 0.01 and 100")?;
                let order = (*least_ns..=day).contains(longest_ns);
                let allowed = "must be between least_ns and a day";
                require(order, format_args!("{path}.longest_ns"), allowed)
            }
        }
    }

    /// Mean reading time in seconds.
    pub fn mean_s(&self) -> f64 {
        match self {
            Reading::Exponential { mean_ns } => mean_ns.seconds(),
            Reading::Pareto { least_ns, shape, longest_ns } => {
                pareto_mean(least_ns.seconds(), longest_ns.seconds(), *shape)
            }
        }
    }

    /// Draws a reading time. Every call takes one value of the stream.
    pub fn draw(&self, stream: &mut RandomStream) -> Span {
        match self {
            Reading::Exponential { mean_ns } => stream.exponential(*mean_ns),
            Reading::Pareto { least_ns, shape, longest_ns } => {
                let (min, longest) = (least_ns.seconds(), longest_ns.seconds());
                Span::from_seconds(pareto(min, longest, *shape, stream.unit()))
            }
        }
    }
}

/// The value of a bounded Pareto distribution below which the fraction `unit` lies.
fn pareto(min: f64, max: f64, shape: f64, unit: f64) -> f64 {
    let beyond = 1.0 - unit * (1.0 - libm::pow(min / max, shape));
    (min * libm::pow(beyond, -1.0 / shape)).min(max)
}

/// Mean of a bounded Pareto distribution, by its formula.
fn pareto_mean(min: f64, max: f64, shape: f64) -> f64 {
    let ratio = max / min;
    if ratio < 1.0 + 1e-6 {
        return min;
    }
    let whole = 1.0 - libm::pow(ratio, -shape);
    let span = match shape {
        1.0 => libm::log(ratio),
        _ => shape / (shape - 1.0) * (1.0 - libm::pow(ratio, 1.0 - shape)),
    };
    (min * span / whole).clamp(min, max)
}

/// The standard normal distribution function.
fn phi(x: f64) -> f64 {
    libm::erfc(-x / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(draw: impl FnMut(u32) -> f64) -> f64 {
        let count = 1_000_000;
        (0..count).map(draw).sum::<f64>() / f64::from(count)
    }

    /// Of the body the part below the tail's begin, of the tail all, with the body's weight beyond.
    #[test]
    fn the_mean_of_pages_is_what_the_formulas_say() {
        let (median, sigma, from, shape, max) = (2_652e3, 0.9, 10e6, 1.1, 100e6);
        let page = PageSize {
            median_bytes: median as u64,
            sigma,
            tail_from_bytes: from as u64,
            tail_shape: shape,
            largest_bytes: max as u64,
        };
        let cut = libm::log(from / median) / sigma;
        let body = median * libm::exp(sigma * sigma / 2.0) * phi(cut - sigma);
        let expected = body + phi(-cut) * pareto_mean(from, max, shape);
        let mut stream = RandomStream::new(1, "test", 0);
        let mut beyond = 0;
        let found = mean(|_| {
            let bytes = page.draw(&mut stream);
            beyond += u32::from(bytes > from as u64);
            assert!(bytes <= max as u64);
            bytes as f64
        });
        assert!((found / expected - 1.0).abs() < 0.01, "{found} for {expected}");
        assert!((page.mean() / expected - 1.0).abs() < 1e-9, "{}", page.mean());
        assert!((f64::from(beyond) / 1e6 / phi(-cut) - 1.0).abs() < 0.02, "{beyond}");
    }

    #[test]
    fn pages_without_a_spread_are_all_alike() {
        let (median_bytes, largest_bytes) = (123_456, 1 << 30);
        let page = PageSize {
            median_bytes,
            sigma: 0.0,
            tail_from_bytes: median_bytes,
            tail_shape: 1.1,
            largest_bytes,
        };
        let mut stream = RandomStream::new(1, "test", 0);
        assert!((0..1000).all(|_| page.draw(&mut stream) == median_bytes));
    }

    #[test]
    fn the_mean_of_reading_times_is_what_the_formulas_say() {
        let mut stream = RandomStream::new(1, "test", 0);
        let exponential = Reading::Exponential { mean_ns: Span::from_secs(30) };
        let found = mean(|_| exponential.draw(&mut stream).seconds());
        assert!((found / 30.0 - 1.0).abs() < 0.01, "{found}");
        let (least_ns, longest_ns) = (Span::from_secs(1), Span::from_secs(1000));
        let pareto = Reading::Pareto { least_ns, shape: 1.5, longest_ns };
        let found = mean(|_| pareto.draw(&mut stream).seconds());
        let expected = pareto_mean(1.0, 1000.0, 1.5);
        assert!((found / expected - 1.0).abs() < 0.02, "{found} for {expected}");
    }
}
