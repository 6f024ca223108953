use flashcrowd_base::Time;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The monotonic clock as the origin's time, and the calendar for dates: the one place where clocks are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "here wall-clock time comes in")]
    pub(crate) fn started() -> Clock {
        Clock { start: Instant::now() }
    }

    /// The time since the start.
    #[allow(clippy::disallowed_methods, reason = "here wall-clock time comes in")]
    pub(crate) fn now(&self) -> Time {
        let nanos = Instant::now().duration_since(self.start).as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The calendar's time.
    #[allow(clippy::disallowed_methods, reason = "here wall-clock time comes in")]
    pub(crate) fn date() -> SystemTime {
        SystemTime::now()
    }

    /// Whole seconds since 1970.
    pub(crate) fn unix() -> u64 {
        Clock::date().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}

/// A time of the calendar in UTC, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: u64,
    /// From 1.
    pub(crate) month: u64,
    /// From 1.
    pub(crate) day: u64,
    /// Seconds of the day.
    second: u64,
}

/// Days of 400 years, after which the calendar repeats itself.
const ERA: u64 = 146_097;
/// The end of the year 9999; later times are shown as this one.
const LAST: u64 = 253_402_300_799;

impl Civil {
    /// Of a time in seconds since 1970.
    pub(crate) fn of(unix: u64) -> Civil {
        let unix = unix.min(LAST);
        // Years that begin in March, so that the day that some of them have more is the last one.
        let days = unix / 86_400 + 719_468;
        let (era, day) = (days / ERA, days % ERA);
        let year = (day - day / 1460 + day / 36_524 - day / (ERA - 1)) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = 400 * era + year + u64::from(month <= 2);
        Civil { year, month, day, second: unix % 86_400 }
    }

    /// As `10:00:00`.
    pub(crate) fn time(&self) -> String {
        let second = self.second;
        format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
    }

    /// As `2026-11-21 10:00`.
    pub(crate) fn minutes(&self) -> String {
        let Civil { year, month, day, second } = self;
        let (hour, minute) = (second / 3600, second / 60 % 60);
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As the library of HTTP's dates has it.
        #[test]
        fn dates_are_those_of_the_calendar(unix in 0..=LAST) {
            let date = Civil::of(unix);
            let (year, month, day) = (date.year, date.month, date.day);
            let said = httpdate::fmt_http_date(UNIX_EPOCH + std::time::Duration::from_secs(unix));
            const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
            let name = &MONTHS[3 * (month as usize - 1)..][..3];
            let expected = format!(", {day:02} {name} {year:04} {} GMT", date.time());
            prop_assert!(said.ends_with(&expected), "{said} {expected}");
        }
    }

    #[test]
    fn a_date_beyond_the_calendar_is_its_last() {
        assert_eq!(Civil::of(u64::MAX).minutes(), "9999-12-31 23:59");
    }
}
