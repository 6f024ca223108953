use crate::Forecast;
use crate::load::Load;
use crate::outlook::Outlook;
use flashcrowd_plan::Call;

/// Bytes that are remembered of a packet, with room for the list of them to grow.
const DELAY_BYTES: f64 = 16.0;

impl Forecast for Call {
    /// Both ways, whatever else there is.
    fn share(&self, outlook: &mut Outlook<'_>) {
        outlook.reserve_datagrams(self.from, self.to, self.size_bytes, self.interval_ns);
    }

    /// A run does not wait for it.
    fn end_s(&self, _index: usize, _outlook: &Outlook<'_>) -> Option<f64> {
        None
    }

    /// Packets of both directions: one each an interval. Every one is remembered.
    fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load {
        let active_s = outlook.active_s(index, self.start_ns, self.stop_ns, end_s);
        let times = active_s / self.interval_ns.seconds();
        let arriving = |forth, back| 2.0 - forth - back;
        outlook.datagrams(self.from, self.to, times, 2.0 * DELAY_BYTES, arriving)
    }
}
