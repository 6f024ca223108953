use super::super::send_queue::Fate;
use super::Sender;
use crate::congestion::{Controller, RateSample, SentData};
use flashcrowd_base::{RandomStream, Rate, Time};

/// Pacing, and samples of the delivery rate, for the connections that have either. The key of a
/// packet is its number.
impl Sender {
    /// The random stream of the controller, if it draws.
    pub(in super::super) fn random_stream(&mut self) -> Option<&mut RandomStream> {
        self.controller.stream()
    }

    /// Whether there is something to send, and pacing holds it back. Where the rate is the window
    /// per round trip, nothing waits while losses are repaired, nor with nothing in flight: round trips
    /// that end with a repair have its wait in them, and pacing a small window by them would keep the
    /// smoothed one long.
    pub(super) fn waits_for_its_time(&mut self, now: Time) -> bool {
        let free = self.controller.pacing_rate().is_none()
            && (self.send_queue.first() < self.recover || self.send_queue.in_flight == 0);
        let ready = !free && (self.has_unsent() || self.send_queue.has_retransmissions());
        let Some(paced) = &mut self.paced else { return false };
        let waits = ready && !paced.pacer.is_free(now);
        paced.pacer.wait(waits);
        self.pace_wake = paced.pacer.wake_at();
        self.blocked |= waits && self.send_queue.in_flight >= self.controller.window();
        waits
    }

    /// The rate in force, if there is one.
    pub(in super::super) fn pacing_rate(&self) -> Option<Rate> {
        let (srtt, in_flight) = (self.rtt.smoothed(), self.send_queue.in_flight);
        self.paced.as_ref()?.rate(&self.controller, srtt, in_flight)
    }

    /// Packet `seq` was sent for the first time.
    pub(super) fn pace_new(&mut self, now: Time, seq: u64, bytes: u64) {
        let in_flight = self.send_queue.in_flight;
        let srtt = self.rtt.smoothed();
        let Some(paced) = &mut self.paced else { return };
        if let Some(sampler) = &mut paced.sampler {
            self.controller.on_sent(&SentData {
                now,
                bytes,
                in_flight: in_flight - bytes,
                app_limited: sampler.is_app_limited(),
            });
            sampler.on_sent(now, seq, in_flight, self.send_queue.first() == seq);
        }
        paced.on_sent(now, bytes, 1, &self.controller, srtt, in_flight);
    }

    /// Packet `seq` was retransmitted.
    pub(super) fn pace_retransmission(&mut self, now: Time, seq: u64, bytes: u64) {
        let in_flight = self.send_queue.in_flight;
        let srtt = self.rtt.smoothed();
        let Some(paced) = &mut self.paced else { return };
        if let Some(sampler) = &mut paced.sampler {
            sampler.on_retransmitted(seq - 1, seq, in_flight);
        }
        paced.on_sent(now, bytes, 1, &self.controller, srtt, in_flight);
    }

    /// Before a write: marks rate samples as application-limited if the connection had nothing to send.
    pub(super) fn note_application_limit(&mut self) {
        let in_flight = self.send_queue.in_flight;
        let idle = self.unsent() < u64::from(self.packet)
            && in_flight < self.window()
            && !self.send_queue.has_retransmissions();
        if let Some(sampler) = self.paced.as_mut().and_then(|paced| paced.sampler.as_mut())
            && idle
        {
            sampler.limit(in_flight);
        }
    }

    /// The delivery-rate sample of an acknowledgement of `bytes`.
    pub(super) fn sample_rate(
        &mut self,
        now: Time,
        bytes: u64,
        newest: Option<(Time, u64)>,
    ) -> Option<RateSample> {
        let in_flight = self.send_queue.in_flight;
        let min = self.rtt.min();
        let done = self.send_queue.first() - 1;
        let sampler = self.paced.as_mut()?.sampler.as_mut()?;
        Some(sampler.on_delivered(now, bytes, newest, done, min, in_flight))
    }

    /// After the controller has taken a sample: while it withholds data, samples do not measure the path.
    pub(super) fn after_sample(&mut self) {
        let in_flight = self.send_queue.in_flight;
        if self.controller.is_withholding()
            && let Some(sampler) = self.paced.as_mut().and_then(|paced| paced.sampler.as_mut())
        {
            sampler.limit(in_flight);
        }
        if self.send_queue.first() >= self.recover
            && let Some(paced) = &mut self.paced
            && std::mem::take(&mut paced.recovering)
        {
            self.controller.on_recovered(u64::MAX);
        }
    }

    /// A loss is passed to the controller, whose recovery lasts until `recover`.
    pub(super) fn begin_recovery(&mut self) {
        if let Some(paced) = &mut self.paced {
            paced.recovering = self.controller.governs_recovery();
        }
    }

    /// Packet `seq` was found lost.
    pub(super) fn tell_loss(&mut self, now: Time, seq: u64) {
        let Some(packet) = self.send_queue.get(seq).filter(|packet| packet.fate != Fate::Delivered)
        else {
            return;
        };
        if let Some(sampler) = self.paced.as_mut().and_then(|paced| paced.sampler.as_mut())
            && let Some(lost) = sampler.on_lost(now, seq, u64::from(packet.len))
        {
            self.controller.on_lost(&lost);
        }
    }
}
