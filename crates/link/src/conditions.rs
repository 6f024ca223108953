use crate::trace::{Service, Trace};
use crate::{Framing, Queue};
use flashcrowd_base::{Probability, Rate, Span};
use serde::{Deserialize, Serialize};

/// The conditions of one direction of a link. Pure data; the timeline may replace it while packets
/// are on the link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Serialisation rate in bit/s; without one, and without a trace, packets never wait and the link
    /// takes no event.
    pub rate_bps: Option<Rate>,
    /// In place of a rate, the line's rate over time; it begins when the line gets it. A plan names
    /// it beside the conditions, so that it is there once.
    #[serde(skip)]
    pub trace: Option<Trace>,
    /// Where packets wait. Only with a rate or a trace; a drop-tail queue without limits is endless.
    pub queue: Queue,
    /// Propagation delay.
    pub delay_ns: Span,
    /// Random extra delay.
    pub jitter: Option<Jitter>,
    /// Random loss.
    pub loss: Option<Loss>,
    /// The size of a packet on the wire.
    pub framing: Framing,
}

impl Conditions {
    /// The delay that a packet has at least behind the queue; with a normal jitter all but one in 700 have
    /// it (three standard deviations).
    pub fn min_delay(&self) -> Span {
        match self.jitter {
            Some(Jitter { shape: JitterShape::Normal, spread_ns, .. }) => {
                self.delay_ns.saturating_sub(spread_ns * 3)
            }
            _ => self.delay_ns,
        }
    }

    /// Whether packets wait here: there is a rate, or a trace.
    pub fn is_rated(&self) -> bool {
        self.rate_bps.is_some() || self.trace.is_some()
    }

    pub(crate) fn service(&self) -> Option<Service<'_>> {
        let traced = || self.trace.as_ref().map(Service::Trace);
        self.rate_bps.map(Service::Rate).or_else(traced)
    }
}

/// Random delay on top of the propagation delay, drawn for each packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// The shape of the distribution.
    pub shape: JitterShape,
    /// Width of the uniform distribution [0, width], or standard deviation of the normal one
    /// (around the propagation delay, cut off at no delay at all).
    pub spread_ns: Span,
    /// Whether packets may overtake each other; if not, a packet waits for the one before it.
    pub reorder: bool,
}

/// Distribution of the random delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum JitterShape {
    /// Uniform in [0, spread].
    Uniform,
    /// Normal with standard deviation `spread`.
    Normal,
}

/// Random loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Where packets are lost.
    pub side: Side,
    /// How they are lost.
    pub model: LossModel,
}

/// At which end of the link packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Before the queue: a lost packet has taken nothing of the link.
    Sender,
    /// After the queue: a lost packet has taken its share of the link.
    Receiver,
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossModel {
    /// Each packet independently.
    Bernoulli {
        /// Probability of loss.
        probability: Probability,
    },
    /// A two-state Markov chain that takes one step a packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability to go from the good to the bad state.
        to_bad: Probability,
        /// Probability to go from the bad to the good state.
        to_good: Probability,
        /// Probability of loss in the good state.
        loss_good: Probability,
        /// Probability of loss in the bad state.
        loss_bad: Probability,
    },
}
