use crate::plan::Measures;
use flashcrowd_base::Time;

/// The packets that the sending ends of transfers put on the network, as a capture at the sender
/// would show them.
pub(crate) struct Trace {
    until: Time,
    pub(crate) packets: Vec<Sent>,
    /// For each flow, the offset up to which its stream has been sent.
    reached: Vec<u64>,
}

/// One packet of a trace.
pub(crate) struct Sent {
    pub(crate) flow: u32,
    pub(crate) at: Time,
    /// Size of the IP packet.
    pub(crate) ip_bytes: u32,
    /// How many of them are payload.
    pub(crate) payload_bytes: u32,
    /// Whether it carries something that has been sent before.
    pub(crate) again: bool,
}

impl Trace {
    /// A trace, if one is asked for.
    pub(crate) fn new(measures: &Measures) -> Option<Trace> {
        let until = Time::START + measures.packets_ns?;
        Some(Trace { until, packets: Vec::new(), reached: Vec::new() })
    }

    /// A flow sends a packet whose payload ends at offset `end` of its stream.
    pub(crate) fn sent(
        &mut self,
        flow: u32,
        at: Time,
        ip_bytes: u32,
        payload_bytes: u32,
        end: u64,
    ) {
        if at >= self.until {
            return;
        }
        let place = flow as usize;
        if self.reached.len() <= place {
            self.reached.resize(place + 1, 0);
        }
        let again = payload_bytes > 0 && end <= self.reached[place];
        self.reached[place] = self.reached[place].max(end);
        self.packets.push(Sent { flow, at, ip_bytes, payload_bytes, again });
    }
}
