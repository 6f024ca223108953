use crate::Ack;
use crate::discipline::pool::{Held, List, Pool};
use serde::{Deserialize, Serialize};

/// Which acknowledgements CAKE drops when later ones of the same connection wait behind them.
///
/// The rules of `sch_cake` are, in short: an acknowledgement that differs from a later one in ECE
/// or CWR is kept, as is one whose SACK ranges hold more bytes, or as many with no other number;
/// time stamps rise along a queue, so they are not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AckFilter {
    /// None.
    #[default]
    Off,
    /// The older one of two that a third makes superfluous: two in a row are always left.
    Conservative,
    /// The one just before a newcomer, too.
    Aggressive,
}

impl AckFilter {
    /// Removes the acknowledgement that the last packet of the queue makes superfluous.
    pub(super) fn superseded(self, pool: &mut Pool, list: &mut List) -> Option<Held> {
        if self == AckFilter::Off {
            return None;
        }
        let last = *pool.last(list)?;
        let newest = last.ack?;
        let (mut first, mut after, mut eligible) = (None, 0, 0);
        let mut found = false;
        for packet in pool.iter(list).filter(|packet| packet.tag != last.tag) {
            after += 1;
            let same = packet.flow.connection == last.flow.connection;
            let Some(ack) = packet.ack.filter(|_| same) else { continue };
            // One whose flags differ from the first's would lose what that says.
            if first.is_some_and(|(_, flags)| flags != ack.flags) {
                (first, eligible) = (None, eligible - 1);
            }
            if !says_all(&newest, &ack) {
                continue;
            }
            if first.is_none() {
                (first, after) = (Some((packet.tag, ack.flags)), 0);
            }
            eligible += 1;
            if eligible > 1 {
                found = true;
                break;
            }
        }
        let (tag, flags) = first?;
        found |= self == AckFilter::Aggressive && after == 0 && flags == newest.flags;
        if !found {
            return None;
        }
        pool.remove_first(list, |packet| packet.tag == tag)
    }
}

/// Whether a later acknowledgement says all that an older one does, which says nothing else.
fn says_all(newer: &Ack, older: &Ack) -> bool {
    let rises = newer.number.wrapping_sub(older.number) as i32;
    older.pure
        && rises >= 0
        && newer.sacked >= older.sacked
        && (rises > 0 || newer.sacked > older.sacked)
}
