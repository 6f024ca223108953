use super::capture::PacketTrace;
use super::connection_log::ConnectionLogs;
use super::transport::Transport;
use flashcrowd_base::Time;
use flashcrowd_plan::Measures;
use flashcrowd_workload::RttEstimates;

/// Measurements per packet or per send: histograms and round-trip times of each class of sockets, as
/// the paper of Rao et al. (2010) plots them, a trace, logs. Nothing is kept that was not asked for.
pub(crate) struct Monitor {
    payloads: bool,
    gaps: bool,
    rtts: bool,
    pub(crate) classes: Vec<Class>,
    /// The trace of the packets that captured ends send, if there is one.
    pub(crate) trace: Option<PacketTrace>,
    /// Whether the trace, a [`Tap`](super::Tap) or a log has to see every packet that is sent.
    pub(super) watches_packets: bool,
    /// Logs of connections, if they are asked for.
    pub(crate) logs: Option<ConnectionLogs>,
}

/// Histograms of a class, that is of sockets that are counted together: those of one population, say.
pub(crate) struct Class {
    /// The workload, and the group of its members that own the sockets.
    pub(crate) workload: String,
    pub(crate) group: String,
    /// Segments by payload length.
    pub(crate) payloads: Vec<u64>,
    /// Sends by whole milliseconds since the last one on the same connection.
    pub(crate) gaps: Vec<u64>,
    pub(crate) rtts: RttEstimates,
}

impl Class {
    /// The bins of one of its histograms, with its names.
    pub(crate) fn bins<'a>(
        &'a self,
        counts: &'a [u64],
    ) -> impl Iterator<Item = (&'a str, &'a str, u32, u64)> {
        let bins = (0u32..).zip(counts);
        bins.map(|(bin, count)| (self.workload.as_str(), self.group.as_str(), bin, *count))
    }
}

/// The class of sockets that are not counted.
pub(crate) const NO_CLASS: u32 = u32::MAX;

impl Monitor {
    pub(crate) fn new(measures: &Measures) -> Monitor {
        Monitor {
            payloads: measures.payloads,
            gaps: measures.send_gaps,
            rtts: measures.rtts,
            classes: Vec::new(),
            trace: PacketTrace::new(measures),
            watches_packets: measures.packets_ns.is_some()
                || measures.capture.is_some()
                || measures.connections.is_some(),
            logs: ConnectionLogs::new(measures),
        }
    }
    /// How many classes there are, so the number of the next one.
    pub(crate) fn classes(&self) -> u32 {
        self.classes.len() as u32
    }
    pub(crate) fn add_class(&mut self, workload: &str, group: &str) {
        self.classes.push(Class {
            workload: workload.to_owned(),
            group: group.to_owned(),
            payloads: Vec::new(),
            gaps: Vec::new(),
            rtts: RttEstimates::default(),
        });
    }

    /// A segment with `len` bytes of payload goes out; those without are not counted.
    pub(crate) fn payload(&mut self, class: u32, len: u32) {
        if self.payloads
            && len > 0
            && let Some(class) = self.classes.get_mut(class as usize)
        {
            count(&mut class.payloads, len as usize);
        }
    }

    /// Whether payloads have to be reported.
    pub(crate) fn watches_payloads(&self) -> bool {
        self.payloads
    }

    /// Whether sends have to be reported.
    pub(crate) fn watches_sends(&self) -> bool {
        self.gaps || self.rtts
    }

    /// An owner writes to a connection what counts as a send; the one before was at `last`.
    pub(crate) fn send(
        &mut self,
        class: u32,
        last: Option<Time>,
        now: Time,
        transport: Option<&Transport>,
    ) {
        let Some(class) = self.classes.get_mut(class as usize) else { return };
        if let (true, Some(last)) = (self.gaps, last) {
            let millis = (now - last).nanos() / 1_000_000;
            count(&mut class.gaps, (millis as usize).min(LONGEST_GAP));
        }
        let srtt = transport.and_then(|transport| transport.stats().srtt);
        if let (true, Some(srtt)) = (self.rtts, srtt) {
            class.rtts.add(srtt, 1);
        }
    }
}

/// Longer gaps, in milliseconds, share the last bin.
const LONGEST_GAP: usize = 3_600_000;

fn count(bins: &mut Vec<u64>, bin: usize) {
    if bins.len() <= bin {
        bins.resize(bin + 1, 0);
    }
    bins[bin] += 1;
}
