use super::Sender;
use crate::congestion::{Controller, EcnFeedback};
use crate::tcp::config::Config;
use crate::tcp::delivery::Delivery;
use crate::tcp::ecn::{Feedback, ace, newly_marked};
use crate::tcp::recovery::Phase;
use crate::tcp::segment::{Flags, Segment};
use flashcrowd_base::Time;

/// ECN feedback from the other end.
impl Sender {
    /// The agreement of the handshake, and the first value of the counter of marked packets.
    pub(in crate::tcp) fn agree_marks(&mut self, feedback: Feedback, cep: u8) {
        self.feedback = feedback;
        self.cep = cep;
    }

    /// ECN flags of new data (RFC 3168): ECT(0), and CWR once after a reduction.
    #[inline]
    pub(super) fn ecn_flags(&mut self) -> Flags {
        match self.feedback {
            Feedback::None | Feedback::Accurate => Flags::default(),
            Feedback::Classic if std::mem::take(&mut self.cwr_due) => Flags::ECT_0 | Flags::CWR,
            Feedback::Classic => Flags::ECT_0,
        }
    }

    /// Whether the segment is an ECN-Echo (RFC 3168).
    #[inline]
    pub(super) fn is_ece(&self, segment: &Segment) -> bool {
        self.feedback == Feedback::Classic && segment.flags.contains(Flags::ECE)
    }

    /// Whether the segment carries ECN feedback.
    #[inline]
    pub(super) fn has_ecn_feedback(&self, segment: &Segment) -> bool {
        match self.feedback {
            Feedback::None => false,
            Feedback::Classic => self.is_ece(segment),
            Feedback::Accurate => true,
        }
    }

    /// Takes the ECN feedback of a segment that is not older than the last one. The window is reduced
    /// at most once per window of data (RFC 3168, section 6.1.2; Linux: tcp_enter_cwr). CWR is due once
    /// per window, too, whatever the controller did: BBR keeps its window, CUBIC does at the least that
    /// it knows, and a receiver that gets no CWR echoes for ever.
    #[cold]
    pub(super) fn on_marks(
        &mut self,
        config: &Config,
        now: Time,
        segment: &Segment,
        delivery: &Delivery,
    ) {
        let mss = u64::from(self.mss);
        let marked = match self.feedback {
            Feedback::None => return,
            Feedback::Classic => delivery.bytes,
            Feedback::Accurate => {
                let packets = delivery.bytes.div_ceil(mss);
                let marked = newly_marked(self.cep, ace(segment.flags), packets);
                self.cep = self.cep.wrapping_add(marked as u8);
                self.delivered_marked += marked as u32;
                if marked == 0 {
                    return;
                }
                (marked * mss).min(delivery.bytes)
            }
        };
        let prior = self.controller.window();
        let loss = self.loss(config);
        self.controller.on_ecn(&EcnFeedback {
            now,
            acked: delivery.bytes,
            marked,
            first: self.phase == Phase::Open,
            window: loss.window,
            in_flight: loss.in_flight,
            una: self.snd_una,
            nxt: self.snd_nxt,
        });
        if self.phase == Phase::Open {
            let target = self.controller.window();
            self.phase = Phase::Cwr;
            self.repairs.recovery.begin(config.reduction, prior, target, self.snd_nxt);
            // A mark is never spurious.
            self.repairs.recovery.can_undo = false;
            self.repairs.recovery.force = false;
            self.cwr_due = true;
            let in_flight = self.in_flight();
            self.repairs.recovery.on_ack(config.reduction, mss, delivery.bytes, in_flight, false);
        }
    }
}
