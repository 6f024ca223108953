use crate::Forecast;
use crate::load::{Load, ROW_BYTES};
use crate::outlook::Outlook;
use flashcrowd_plan::Ping;

impl Forecast for Ping {
    /// Both ways, whatever else there is.
    fn share(&self, outlook: &mut Outlook<'_>) {
        outlook.reserve_datagrams(self.from, self.to, self.size_bytes, self.interval_ns);
    }

    /// A run does not wait for it.
    fn end_s(&self, _index: usize, _outlook: &Outlook<'_>) -> Option<f64> {
        None
    }

    /// Requests, and their answers: one each an interval. Every one is remembered.
    fn load(&self, index: usize, outlook: &Outlook<'_>, end_s: f64) -> Load {
        let active_s = outlook.active_s(index, self.start_ns, self.stop_ns, end_s);
        let times = active_s / self.interval_ns.seconds();
        let arriving = |forth, back| (1.0 - forth) * (2.0 - back);
        outlook.datagrams(self.from, self.to, times, ROW_BYTES, arriving)
    }
}
