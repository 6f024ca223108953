use flashcrowd_base::Time;
use flashcrowd_plan::Measures;

/// A trace of the packets that captured ends send, as a capture at the sender would show them.
pub(crate) struct PacketTrace {
    until: Time,
    pub(crate) packets: Vec<TracedPacket>,
    /// The streams that are captured.
    pub(crate) streams: Vec<Captured>,
}

/// One stream whose packets are captured.
pub(crate) struct Captured {
    /// Its workload, and its number there.
    pub(crate) owner: String,
    pub(crate) number: u32,
    /// End of the sequence space sent (SYN, bytes, FIN), to detect retransmissions.
    reached: u64,
}

/// In place of the number of a stream: not captured.
pub(crate) const NOT_CAPTURED: u32 = u32::MAX;

/// One packet of a trace.
pub(crate) struct TracedPacket {
    /// Index of its stream.
    pub(crate) stream: u32,
    pub(crate) at: Time,
    /// Size of the IP packet.
    pub(crate) ip_bytes: u32,
    /// How many of them are payload.
    pub(crate) payload_bytes: u32,
    /// Whether it is a retransmission: carries data, a SYN or a FIN that was sent before.
    pub(crate) again: bool,
}

impl PacketTrace {
    /// A trace, if one is asked for.
    pub(crate) fn new(measures: &Measures) -> Option<PacketTrace> {
        let until = Time::START + measures.packets_ns?;
        Some(PacketTrace { until, packets: Vec::new(), streams: Vec::new() })
    }

    /// A stream whose packets are to be captured; its number here.
    pub(crate) fn add(&mut self, owner: &str, number: u32) -> u32 {
        self.streams.push(Captured { owner: owner.to_owned(), number, reached: 0 });
        self.streams.len() as u32 - 1
    }

    /// A captured stream sends a packet. `end`: the end of its SYN, data or FIN in sequence space, in
    /// which the SYN is number 0, the first byte 1; none for a pure acknowledgement.
    pub(crate) fn sent(
        &mut self,
        stream: u32,
        at: Time,
        ip_bytes: u32,
        payload_bytes: u32,
        end: Option<u64>,
    ) {
        if at >= self.until {
            return;
        }
        let Some(known) = self.streams.get_mut(stream as usize) else { return };
        let again = end.is_some_and(|end| end <= known.reached);
        known.reached = known.reached.max(end.unwrap_or(0));
        self.packets.push(TracedPacket { stream, at, ip_bytes, payload_bytes, again });
    }
}
