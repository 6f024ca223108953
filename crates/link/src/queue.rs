use crate::{Cake, Choke, CoDel, Drr, FqCoDel, Pie, Red, Sfq};
use flashcrowd_base::{Refusal, Settings};
use serde::{Deserialize, Serialize};

/// Where packets wait for a link with a rate, and who decides which of them are sent, marked or
/// dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind")]
#[expect(
    missing_docs,
    reason = "each discipline says what it is, and the schema takes it from there"
)]
pub enum Queue {
    /// First in, first out; what finds it full is dropped.
    #[serde(rename = "drop-tail")]
    DropTail(QueueLimit),
    #[serde(rename = "codel")]
    CoDel(Box<CoDel>),
    #[serde(rename = "fq-codel")]
    FqCoDel(Box<FqCoDel>),
    #[serde(rename = "pie")]
    Pie(Box<Pie>),
    #[serde(rename = "red")]
    Red(Box<Red>),
    #[serde(rename = "choke")]
    Choke(Box<Choke>),
    #[serde(rename = "sfq")]
    Sfq(Box<Sfq>),
    #[serde(rename = "drr")]
    Drr(Box<Drr>),
    #[serde(rename = "cake")]
    Cake(Box<Cake>),
}

/// Limits of a drop-tail queue; the packet in transmission counts. Both may be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QueueLimit {
    /// The most packets.
    pub packets: Option<u32>,
    /// The most bytes, framing included.
    pub bytes: Option<u64>,
}

impl Default for Queue {
    /// A drop-tail queue without limits.
    fn default() -> Queue {
        Queue::DropTail(QueueLimit::default())
    }
}

impl From<QueueLimit> for Queue {
    fn from(limit: QueueLimit) -> Queue {
        Queue::DropTail(limit)
    }
}

macro_rules! from_parameters {
    ($($discipline:ident),*) => {
        $(impl From<$discipline> for Queue {
            fn from(parameters: $discipline) -> Queue {
                Queue::$discipline(Box::new(parameters))
            }
        })*
    };
}
from_parameters!(CoDel, FqCoDel, Pie, Red, Choke, Sfq, Drr, Cake);

impl Queue {
    /// A drop-tail queue of at most `max` packets, the one in transmission included.
    pub fn packets(max: u32) -> Queue {
        Queue::DropTail(QueueLimit { packets: Some(max), bytes: None })
    }

    /// Whether it decides by itself, at the time at which packets leave it, or is plain drop-tail.
    pub fn is_managed(&self) -> bool {
        !matches!(self, Queue::DropTail(_))
    }

    /// Refuses parameters that cannot be.
    ///
    /// # Errors
    /// The first such parameter.
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            Queue::DropTail(limit) if limit.packets == Some(0) || limit.bytes == Some(0) => {
                let allowed = "room for at least the packet in transmission";
                Err(Refusal::new("packets", 0, allowed))
            }
            Queue::DropTail(_) => Ok(()),
            Queue::CoDel(codel) => codel.check_bounds(),
            Queue::FqCoDel(fq) => fq.check_bounds(),
            Queue::Pie(pie) => pie.check_bounds(),
            Queue::Red(red) => red.check_bounds().and_then(|()| red.check()),
            Queue::Choke(choke) => choke.check_bounds().and_then(|()| choke.check()),
            Queue::Sfq(sfq) => sfq.check_bounds(),
            Queue::Drr(drr) => drr.check_bounds(),
            Queue::Cake(cake) => cake.check_bounds(),
        }
    }
}
