//! Which profiles make sense.

use super::{Profile, RequestPipeline, Sharing, Slots, SuggestMode};
use flashcrowd_base::Span;
use thiserror::Error;

/// A value that no client could have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {value} is not allowed, {allowed}")]
pub struct ProfileError {
    /// Where in the profile.
    pub path: &'static str,
    /// What stands there.
    pub value: String,
    /// What may stand there.
    pub allowed: &'static str,
}

fn refuse(path: &'static str, value: impl ToString, allowed: &'static str) -> ProfileError {
    ProfileError { path, value: value.to_string(), allowed }
}

impl Profile {
    /// Looks for values that no client could have. A [`Peer`](crate::Peer) does not panic on
    /// them either: it takes the nearest that makes sense.
    pub fn check(&self) -> Result<(), ProfileError> {
        let spans = [
            ("connections.keepalive_ns", self.connections.keepalive_ns),
            ("connections.timeout_ns", self.connections.timeout_ns),
            ("connections.timeout_sweep_ns", self.connections.timeout_sweep_ns),
            ("announce.check_ns", self.announce.check_ns),
            ("meter.window_ns", self.meter.window_ns),
            ("choker.round_ns", self.choker.round_ns),
            ("choker.tick_ns", self.choker.tick_ns),
            ("connections.reconnect_ns", self.connections.reconnect_ns.unwrap_or(Span::MAX)),
            ("requests.block_timeout_ns", self.requests.block_timeout_ns.unwrap_or(Span::MAX)),
            ("requests.request_timeout_ns", self.requests.request_timeout_ns.unwrap_or(Span::MAX)),
            ("connections.turnover_ns", self.connections.turnover_ns.unwrap_or(Span::MAX)),
            ("connections.inactivity_ns", self.connections.inactivity_ns.unwrap_or(Span::MAX)),
            ("peer_exchange.interval_ns", self.peer_exchange.interval_ns),
            ("web_seeds.timeout_ns", self.web_seeds.timeout_ns),
            ("web_seeds.retry_ns", self.web_seeds.retry_ns),
            ("limiter.tick_ns", self.limiter.tick_ns.unwrap_or(Span::MAX)),
            ("limiter.window_ns", self.limiter.window_ns.unwrap_or(Span::MAX)),
        ];
        for (path, span) in spans {
            if span < Span::from_millis(1) {
                return Err(refuse(path, span.nanos(), "at least a millisecond"));
            }
        }
        let counts = [
            ("connections.max_initiate", self.connections.max_initiate),
            ("connections.max_connections", self.connections.max_connections),
            (
                "connections.opened_per_second",
                self.connections.opened_per_second.unwrap_or(u32::MAX),
            ),
            ("peer_exchange.max_entries", self.peer_exchange.max_entries),
            ("peer_exchange.max_named", self.peer_exchange.max_named),
            ("requests.block_bytes", self.requests.block_bytes),
            ("requests.max_queue", self.requests.max_queue),
            ("choker.optimistic_rounds", self.choker.optimistic_rounds),
            ("choker.rank_rounds", self.choker.rank_rounds),
            ("choker.newcomer_weight", self.choker.newcomer_weight),
            ("web_seeds.request_bytes", self.web_seeds.request_bytes),
            ("limiter.write_unit", self.limiter.write_unit),
            ("limiter.unlimited_write_unit", self.limiter.unlimited_write_unit),
            ("limiter.quota.low_watermark", self.limiter.quota.low_watermark),
        ];
        for (path, count) in counts {
            if count == 0 {
                return Err(refuse(path, count, "at least 1"));
            }
        }
        if self.choker.rank_rounds > 2 {
            return Err(refuse("choker.rank_rounds", self.choker.rank_rounds, "1 or 2"));
        }
        // Their product with the number of neighbours has to fit.
        if self.choker.newcomer_weight > 1_000_000 {
            let value = self.choker.newcomer_weight;
            return Err(refuse("choker.newcomer_weight", value, "at most 1000000"));
        }
        if self.choker.slots == Slots::Fixed(0) {
            return Err(refuse("choker.slots.fixed", 0, "at least 1"));
        }
        if self.requests.max_block_bytes < self.requests.block_bytes {
            let value = self.requests.max_block_bytes;
            return Err(refuse("requests.max_block_bytes", value, "at least block_bytes"));
        }
        let max = match self.requests.backlog {
            RequestPipeline::Mainline { initial } => initial,
            RequestPipeline::Fixed(number) => number,
            RequestPipeline::QueueTime { max, min, .. } if min > max => {
                return Err(refuse("requests.backlog.queue-time.min", min, "at most max"));
            }
            RequestPipeline::SlowStart { max, min, .. } if min > max => {
                return Err(refuse("requests.backlog.slow-start.min", min, "at most max"));
            }
            RequestPipeline::QueueTime { max, .. } | RequestPipeline::SlowStart { max, .. } => max,
        };
        if max > self.requests.max_queue {
            return Err(refuse("requests.backlog", max, "at most max_queue requests"));
        }
        if self.requests.backlog == RequestPipeline::Fixed(0) {
            return Err(refuse("requests.backlog.fixed", 0, "at least 1"));
        }
        let shares = [
            ("connections.turnover_share", self.connections.turnover_share),
            ("connections.turnover_cutoff", self.connections.turnover_cutoff),
        ];
        for (path, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(refuse(path, share, "between 0 and 1"));
            }
        }
        let factors = [
            ("picker.partials_per_neighbour", self.picker.partials_per_neighbour),
            ("limiter.quota.watermark_factor", self.limiter.quota.watermark_factor),
        ];
        for (path, factor) in factors {
            if !(factor >= 0.0 && factor.is_finite()) {
                return Err(refuse(path, factor, "at least 0"));
            }
        }
        if let (Some(window), Sharing::Quota) = (self.limiter.window_ns, self.limiter.sharing) {
            let allowed = "null, or sharing \"turns\"";
            return Err(refuse("limiter.window_ns", window.nanos(), allowed));
        }
        let quota = &self.limiter.quota;
        if quota.watermark < quota.low_watermark {
            let value = quota.watermark;
            return Err(refuse("limiter.quota.watermark", value, "at least low_watermark"));
        }
        if quota.header_bytes > 500 {
            let value = quota.header_bytes;
            return Err(refuse("limiter.quota.header_bytes", value, "at most 500"));
        }
        if self.fast.suggest == SuggestMode::ReadCache && !self.fast.enabled {
            let allowed = "none, or the Fast extension (fast.enabled)";
            return Err(refuse("fast.suggest", "read-cache", allowed));
        }
        let (low, high) = (self.announce.retry_growth_min, self.announce.retry_growth_max);
        if !(low >= 1.0 && low.is_finite()) {
            return Err(refuse("announce.retry_growth_min", low, "at least 1"));
        }
        if !(high >= low && high.is_finite()) {
            return Err(refuse("announce.retry_growth_max", high, "at least retry_growth_min"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{all, named};
    use super::*;

    #[test]
    fn every_profile_that_ships_is_sound_and_survives_json() {
        for profile in all() {
            assert_eq!(profile.check(), Ok(()));
            let json = serde_json::to_string(&profile).unwrap();
            assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), profile);
        }
    }

    #[test]
    fn unknown_and_missing_keys_are_errors() {
        let json = serde_json::to_value(named("modern").unwrap()).unwrap();
        let mut unknown = json.clone();
        unknown["picker"]["surprise"] = 1.into();
        assert!(serde_json::from_value::<Profile>(unknown).is_err());
        let mut missing = json;
        missing["picker"].as_object_mut().unwrap().remove("strict_priority");
        assert!(serde_json::from_value::<Profile>(missing).is_err());
    }

    #[test]
    fn errors_name_the_place_the_value_and_what_is_allowed() {
        let mut profile = named("mainline-4.0.2").unwrap();
        profile.requests.max_block_bytes = 100;
        let error = profile.check().unwrap_err().to_string();
        assert_eq!(error, "requests.max_block_bytes: 100 is not allowed, at least block_bytes");
        let mut profile = named("mainline-4.0.2").unwrap();
        profile.choker.round_ns = Span::ZERO;
        assert_eq!(profile.check().unwrap_err().path, "choker.round_ns");
        let mut profile = named("mainline-4.0.2").unwrap();
        profile.announce.retry_growth_min = f64::NAN;
        assert_eq!(profile.check().unwrap_err().path, "announce.retry_growth_min");
    }

    #[test]
    fn bounds_are_allowed_and_what_is_beyond_them_is_not() {
        let with = |backlog| {
            let mut profile = named("modern").unwrap();
            profile.requests.max_queue = 10;
            profile.requests.backlog = backlog;
            profile.check().err().map(|error| error.path)
        };
        let queue = |min, max| {
            let queue_time_ns = Span::from_secs(3);
            with(RequestPipeline::QueueTime { queue_time_ns, min, max })
        };
        assert_eq!((queue(10, 10), queue(2, 11)), (None, Some("requests.backlog")));
        assert_eq!(queue(3, 2), Some("requests.backlog.queue-time.min"));
        assert_eq!(
            (with(RequestPipeline::Fixed(10)), with(RequestPipeline::Fixed(1))),
            (None, None)
        );
        assert_eq!(with(RequestPipeline::Fixed(0)), Some("requests.backlog.fixed"));
        assert_eq!(with(RequestPipeline::Mainline { initial: 11 }), Some("requests.backlog"));
        let with = |change: fn(&mut Profile)| {
            let mut profile = named("ns2-2011").unwrap();
            change(&mut profile);
            profile.check().err().map(|error| error.path)
        };
        assert_eq!(with(|p| p.choker.rank_rounds = 3), Some("choker.rank_rounds"));
        assert_eq!(with(|p| p.choker.newcomer_weight = 1_000_000), None);
        assert_eq!(with(|p| p.choker.newcomer_weight = 1_000_001), Some("choker.newcomer_weight"));
        assert_eq!(with(|p| p.choker.tick_ns = Span::from_millis(1)), None);
        assert_eq!(with(|p| p.choker.tick_ns = Span::from_micros(999)), Some("choker.tick_ns"));
        assert_eq!(with(|p| p.choker.slots = Slots::Fixed(0)), Some("choker.slots.fixed"));
        assert_eq!(with(|p| p.limiter.write_unit = 0), Some("limiter.write_unit"));
        assert_eq!(with(|p| p.announce.retry_growth_min = 1.0), None);
        let endless = with(|p| p.announce.retry_growth_min = f64::INFINITY);
        assert_eq!(endless, Some("announce.retry_growth_min"));
        let low = with(|p| p.announce.retry_growth_max = 1.3);
        assert_eq!(low, Some("announce.retry_growth_max"));
        assert_eq!(with(|p| p.fast.suggest = SuggestMode::ReadCache), Some("fast.suggest"));
    }

    /// Every span that has to be a millisecond may be one, and nothing less; every count may be 1.
    #[test]
    fn each_span_and_each_count_is_looked_at() {
        let with = |path: &str, value: serde_json::Value| {
            let mut json = serde_json::to_value(named("mainline-4.0.2").unwrap()).unwrap();
            let mut place = &mut json;
            for key in path.split('.') {
                place = place.get_mut(key).unwrap_or_else(|| panic!("{path} is in a profile"));
            }
            *place = value;
            let profile: Profile = serde_json::from_value(json).unwrap();
            profile.check().err().map(|error| error.path)
        };
        for path in [
            "connections.keepalive_ns",
            "connections.timeout_ns",
            "connections.timeout_sweep_ns",
            "announce.check_ns",
            "meter.window_ns",
            "choker.round_ns",
            "choker.tick_ns",
            "limiter.tick_ns",
            "limiter.window_ns",
            "connections.reconnect_ns",
            "requests.block_timeout_ns",
            "requests.request_timeout_ns",
            "web_seeds.timeout_ns",
            "web_seeds.retry_ns",
        ] {
            assert_eq!(with(path, 1_000_000.into()), None, "{path}");
            assert_eq!(with(path, 999_999.into()), Some(path));
        }
        for path in [
            "connections.max_initiate",
            "connections.max_connections",
            "choker.optimistic_rounds",
            "choker.rank_rounds",
            "choker.newcomer_weight",
            "web_seeds.request_bytes",
            "limiter.write_unit",
            "limiter.unlimited_write_unit",
            "limiter.quota.low_watermark",
        ] {
            assert_eq!(with(path, 1.into()), None, "{path}");
            assert_eq!(with(path, 0.into()), Some(path));
        }
        assert_eq!(with("choker.rank_rounds", 2.into()), None);
        for path in ["picker.partials_per_neighbour", "limiter.quota.watermark_factor"] {
            assert_eq!(with(path, 0.0.into()), None, "{path}");
            assert_eq!(with(path, (-0.1).into()), Some(path));
        }
        let path = "limiter.quota.header_bytes";
        assert_eq!((with(path, 500.into()), with(path, 501.into())), (None, Some(path)));
        let path = "limiter.quota.watermark";
        assert_eq!((with(path, 10240.into()), with(path, 10239.into())), (None, Some(path)));
        for path in ["requests.block_bytes", "requests.max_queue"] {
            assert_eq!(with(path, 0.into()), Some(path));
        }
    }

    #[test]
    fn a_queue_that_grows_has_bounds_in_order() {
        let with = |min, max| {
            let mut profile = named("libtorrent").unwrap();
            let queue_time_ns = Span::from_secs(3);
            profile.requests.backlog =
                RequestPipeline::SlowStart { queue_time_ns, first: 4, min, max };
            profile.check().err().map(|error| error.path)
        };
        assert_eq!((with(2, 2), with(2, 2000)), (None, None));
        assert_eq!(with(3, 2), Some("requests.backlog.slow-start.min"));
        assert_eq!(with(2, 2001), Some("requests.backlog"));
    }

    #[test]
    fn requests_and_retries_are_bounded_by_each_other() {
        let with = |change: fn(&mut Profile)| {
            let mut profile = named("mainline-4.0.2").unwrap();
            change(&mut profile);
            profile.check().err().map(|error| error.path)
        };
        assert_eq!(with(|p| p.requests.max_block_bytes = p.requests.block_bytes), None);
        let less = with(|p| p.requests.max_block_bytes = p.requests.block_bytes - 1);
        assert_eq!(less, Some("requests.max_block_bytes"));
        let growth = |min, max| {
            let mut profile = named("mainline-4.0.2").unwrap();
            profile.announce.retry_growth_min = min;
            profile.announce.retry_growth_max = max;
            profile.check().err().map(|error| error.path)
        };
        assert_eq!((growth(1.0, 1.0), growth(1.5, 2.0)), (None, None));
        assert_eq!(growth(0.99, 2.0), Some("announce.retry_growth_min"));
        for max in [1.49, f64::NAN, f64::INFINITY] {
            assert_eq!(growth(1.5, max), Some("announce.retry_growth_max"));
        }
    }

    #[test]
    fn the_wire_form_of_every_profile_is_known() {
        for profile in all() {
            let text = serde_json::to_string_pretty(&profile).unwrap();
            insta::assert_snapshot!(profile.name.as_str(), text);
        }
    }
}
