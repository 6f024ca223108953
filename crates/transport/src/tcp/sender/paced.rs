use super::Sender;
use crate::congestion::{Controller, RateSample, SentData};
use crate::tcp::delivery::Delivery;
use crate::tcp::recovery::Phase;
use flashcrowd_base::{RandomStream, Rate, Time};

/// Pacing, and samples of the delivery rate, for the connections that have either.
impl Sender {
    /// Whether packets may be held back by pacing.
    pub(in crate::tcp) fn paces(&self) -> bool {
        self.paced.is_some()
    }

    /// When the packet that pacing holds back may be sent.
    pub(in crate::tcp) fn pace_at(&self) -> Time {
        self.paced.as_ref().map_or(Time::NEVER, |paced| paced.pacer.wake_at())
    }

    /// The pacing timer may have expired: sending is polled again.
    pub(in crate::tcp) fn wake(&mut self, now: Time) {
        if let Some(paced) = &mut self.paced
            && now >= paced.pacer.wake_at()
        {
            paced.pacer.wait(false);
        }
    }

    /// The controller draws from this stream.
    pub(in crate::tcp) fn draw_from(&mut self, stream: RandomStream) {
        if let Some(own) = self.controller.stream() {
            *own = stream;
        }
    }

    /// Whether there is something to send, and pacing holds it back.
    #[inline(never)]
    pub(super) fn is_held_by_pacing(&mut self, now: Time) -> bool {
        let in_flight = self.in_flight();
        let full = in_flight >= self.window();
        let ready = self.snd_nxt < self.write_end || self.has_unretransmitted() || self.tlp_due;
        let ready = ready || (self.closed && self.snd_nxt == self.write_end);
        let Some(paced) = &mut self.paced else { return false };
        let free = paced.pacer.is_free(now);
        paced.pacer.wait(ready && !free);
        if ready && !free {
            self.limited_now |= full;
        }
        ready && !free
    }

    /// New data from `seq` to SND.NXT was sent and is on the scoreboard.
    #[inline(never)]
    pub(super) fn pace_new(&mut self, now: Time, seq: u64) {
        let mss = u64::from(self.mss);
        let outstanding = self.outstanding();
        let (bytes, una, nxt) = (self.snd_nxt - seq, self.snd_una, self.snd_nxt);
        let in_flight = self.in_flight();
        let srtt = self.rtt.smoothed();
        let Some(paced) = &mut self.paced else { return };
        if let Some(sampler) = &mut paced.sampler {
            self.controller.on_sent(&SentData {
                now,
                bytes,
                in_flight: in_flight.saturating_sub(bytes),
                app_limited: sampler.is_app_limited(),
            });
            let mut end = seq;
            while end < nxt {
                let idle = end == una;
                end = nxt.min(end + mss);
                sampler.on_sent(now, end, in_flight - (nxt - end), idle);
            }
        }
        let segments = bytes.div_ceil(mss) as u32;
        paced.on_sent(now, bytes, segments, &self.controller, srtt, outstanding);
    }

    /// Data was retransmitted.
    #[inline(never)]
    pub(super) fn pace_retransmission(&mut self, now: Time, seq: u64, bytes: u64, segments: u32) {
        let (in_flight, outstanding) = (self.in_flight(), self.outstanding());
        let srtt = self.rtt.smoothed();
        let Some(paced) = &mut self.paced else { return };
        if let Some(sampler) = &mut paced.sampler {
            sampler.on_retransmitted(seq, seq + bytes, in_flight);
        }
        paced.on_sent(now, bytes, segments, &self.controller, srtt, outstanding);
    }

    /// The rate in force, if there is one.
    pub(in crate::tcp) fn pacing_rate(&self) -> Option<Rate> {
        let (srtt, outstanding) = (self.rtt.smoothed(), self.outstanding());
        self.paced.as_ref()?.rate(&self.controller, srtt, outstanding)
    }

    /// The longest super-segment that pacing allows.
    pub(super) fn quantum(&self) -> u64 {
        let srtt = self.rtt.smoothed();
        self.paced.as_ref().map_or(u64::MAX, |paced| {
            paced.quantum(&self.controller, srtt, self.outstanding()).max(2 * u64::from(self.mss))
        })
    }

    /// Before a write: marks rate samples as application-limited if the connection had nothing to send
    /// (Linux: `tcp_rate_check_app_limited`).
    #[inline]
    pub(super) fn note_application_limit(&mut self) {
        if self.paced.is_some() {
            self.note_limit_of_samples();
        }
    }

    #[inline(never)]
    fn note_limit_of_samples(&mut self) {
        let in_flight = self.in_flight();
        let idle = self.unsent() < u64::from(self.mss)
            && in_flight < self.window()
            && !self.has_unretransmitted();
        if let Some(sampler) = self.paced.as_mut().and_then(|paced| paced.sampler.as_mut())
            && idle
        {
            sampler.limit(in_flight);
        }
    }

    /// The delivery-rate sample of an acknowledgement.
    #[inline(never)]
    pub(super) fn sample_rate(&mut self, now: Time, delivery: &Delivery) -> Option<RateSample> {
        let in_flight = self.in_flight();
        let min = self.rtt.min();
        let sampler = self.paced.as_mut()?.sampler.as_mut()?;
        let newest = delivery.newest;
        Some(sampler.on_delivered(now, delivery.bytes, newest, self.snd_una, min, in_flight))
    }

    /// After the controller has taken a sample: while it withholds data, samples do not measure the path.
    pub(super) fn after_sample(&mut self) {
        if self.controller.is_withholding() {
            let in_flight = self.in_flight();
            if let Some(sampler) = self.paced.as_mut().and_then(|paced| paced.sampler.as_mut()) {
                sampler.limit(in_flight);
            }
        }
    }

    /// Passes the segments that are newly lost to the rate sampler and the controller.
    #[inline(never)]
    pub(super) fn report_losses(&mut self, now: Time) {
        let Some(sampler) = self.paced.as_mut().and_then(|paced| paced.sampler.as_mut()) else {
            return;
        };
        for (end, len) in self.board.waiting() {
            if let Some(lost) = sampler.on_lost(now, end, u64::from(len)) {
                self.controller.on_lost(&lost);
            }
        }
    }

    /// A recovery was spurious.
    pub(super) fn forgive_losses(&mut self) {
        if let Some(sampler) = self.paced.as_mut().and_then(|paced| paced.sampler.as_mut()) {
            sampler.on_undo();
        }
    }

    /// Whether a timeout's recovery ends by the controller's word (Linux: `cong_control`).
    pub(super) fn ends_loss_phase(&self) -> bool {
        self.phase == Phase::Loss && self.controller.governs_recovery()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Kind;
    use crate::tcp::config::Config;
    use crate::tcp::profiles::linux_6;

    /// draft-ietf-ccwg-bbr, section 4.1: P.tx_in_flight of a segment is what was in flight when it left, itself
    /// included. Of a super-segment that is what comes before its end.
    #[test]
    fn each_segment_of_a_super_segment_knows_what_was_in_flight() {
        let config = Config { controller: Kind::BbrV3, tso_bytes: 65_536, ..linux_6() };
        let now = Time::START;
        let mut sender = Sender::new(&config, now, 1000, true, false);
        sender.open(now, 1 << 20);
        sender.write(&config, 4500);
        sender.close();
        let burst = sender.poll(&config, now, sender.paces()).expect("the window is ten segments");
        assert_eq!((burst.seq, burst.len), (0, 4500));
        let sampler = sender.paced.as_mut().and_then(|paced| paced.sampler.as_mut()).unwrap();
        // The FIN counts as a byte.
        let in_flight = [1000, 2000, 3000, 4000, 4501]
            .map(|end| sampler.on_lost(now, end, 500).map(|lost| lost.tx_in_flight));
        assert_eq!(in_flight, [1000, 2000, 3000, 4000, 4501].map(Some));
    }
}
