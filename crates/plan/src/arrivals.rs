use crate::Error;
use crate::check::require;
use crate::rate_clock::{RateClock, RateStep};
use flashcrowd_base::{RandomStream, Span};
use serde::{Deserialize, Serialize};

/// When the peers or clients of a population come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// Together, each at a random instant of a window.
    FlashCrowd {
        /// Begin of the window.
        start_ns: Span,
        /// Its length; zero for exactly together.
        spread_ns: Span,
    },
    /// One after another with exponential gaps.
    Poisson {
        /// Begin; the first peer comes one gap later.
        start_ns: Span,
        /// Mean gap.
        gap_ns: Span,
    },
    /// At these instants, one for each host.
    Times {
        /// The instants.
        at_ns: Vec<Span>,
    },
    /// At these instants, one for each host, and not for longer than until others: a leecher without
    /// the file by then leaves without it.
    Sessions {
        /// The instants at which they come.
        at_ns: Vec<Span>,
        /// When each leaves at the latest; none for one that stays as long as its departure says.
        leave_ns: Vec<Option<Span>>,
    },
    /// One after another, at a rate that changes: a Poisson process whose rate is a step function.
    Rates {
        /// From each of these instants on its rate holds, until the next one; the first is zero.
        steps: Vec<RateStep>,
        /// After this time the steps begin again; none if the last rate holds for ever.
        period_ns: Option<Span>,
    },
}

/// Fewer arrivals than this in a period, or in a second at the rate that holds for ever, are a mistake:
/// the last of the peers would come after years.
const MIN_ARRIVALS: f64 = 1e-6;

impl Arrivals {
    pub(crate) fn check(&self, hosts: usize, path: &str) -> Result<(), Error> {
        match self {
            Arrivals::FlashCrowd { .. } | Arrivals::Poisson { .. } => Ok(()),
            Arrivals::Times { at_ns } => {
                require(at_ns.len() == hosts, path, "must have one instant for each host")
            }
            Arrivals::Sessions { at_ns, leave_ns } => {
                let matched = at_ns.len() == hosts && leave_ns.len() == hosts;
                require(matched, path, "must have two instants for each host")?;
                let mut both = at_ns.iter().zip(leave_ns);
                let lasts = both.all(|(at, leave)| leave.is_none_or(|leave| leave > *at));
                require(lasts, path, "must have nobody leave before it came")
            }
            Arrivals::Rates { steps, period_ns } => {
                let first = steps.first().is_some_and(|step| step.at_ns == Span::ZERO);
                require(first, path, "must have a first step at zero")?;
                let rises = steps.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns);
                require(rises, path, "must have steps in order of time")?;
                let sane = steps.iter().all(|step| step.per_s.is_finite() && step.per_s >= 0.0);
                require(sane, path, "must have rates of zero or more")?;
                let last = steps[steps.len() - 1];
                let Some(period) = *period_ns else {
                    let comes = last.per_s >= MIN_ARRIVALS;
                    return require(comes, path, "must end with a rate of more than zero");
                };
                require(period > last.at_ns, path, "must have all steps within the period")?;
                let ends = steps[1..].iter().map(|step| step.at_ns).chain([period]);
                let expected = steps.iter().zip(ends);
                let expected: f64 = expected
                    .map(|(step, end)| step.per_s * (end.seconds() - step.at_ns.seconds()))
                    .sum();
                let comes = expected >= MIN_ARRIVALS * period.seconds().max(1.0);
                require(comes, path, "must have a rate of more than zero somewhere")
            }
        }
    }

    /// When each of the hosts comes, one after the other, and when it leaves at the latest. Draws from `stream`,
    /// which is to be of this population alone.
    pub fn instants(
        &self,
        hosts: usize,
        mut stream: RandomStream,
    ) -> impl Iterator<Item = (Span, Option<Span>)> + '_ {
        let mut last = Span::ZERO;
        let mut clock = match self {
            Arrivals::Rates { steps, period_ns } => Some(RateClock::new(steps, *period_ns)),
            _ => None,
        };
        (0..hosts).map(move |place| match self {
            Arrivals::FlashCrowd { start_ns, spread_ns } => {
                (*start_ns + stream.between(Span::ZERO, *spread_ns), None)
            }
            Arrivals::Poisson { start_ns, gap_ns } => {
                last += stream.exponential(*gap_ns);
                (*start_ns + last, None)
            }
            Arrivals::Times { at_ns } => (at_ns[place], None),
            Arrivals::Sessions { at_ns, leave_ns } => (at_ns[place], leave_ns[place]),
            Arrivals::Rates { .. } => {
                let gap = stream.exponential(Span::from_secs(1)).seconds();
                (Span::from_seconds(clock.as_mut().map_or(0.0, |it| it.after(gap))), None)
            }
        })
    }
}
