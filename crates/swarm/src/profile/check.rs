//! Which profiles make sense.

use super::{Profile, RequestPipeline, Sharing, SuggestMode};
use flashcrowd_base::{Refusal, Settings};

impl Profile {
    /// Looks for values that no client could have. A [`Peer`](crate::Peer) does not panic on
    /// them either: it takes the nearest that makes sense.
    ///
    /// # Errors
    /// The first such value.
    pub fn check(&self) -> Result<(), Refusal> {
        self.check_bounds()?;
        let max = match self.requests.backlog {
            RequestPipeline::Mainline { initial } => initial,
            RequestPipeline::Fixed(number) => number,
            RequestPipeline::QueueTime { max, min, .. } if min > max => {
                let allowed = format!("a number of at most max, {max}");
                return Err(Refusal::new("requests.backlog.queue-time.min", min, allowed));
            }
            RequestPipeline::SlowStart { max, min, .. } if min > max => {
                let allowed = format!("a number of at most max, {max}");
                return Err(Refusal::new("requests.backlog.slow-start.min", min, allowed));
            }
            RequestPipeline::QueueTime { max, .. } | RequestPipeline::SlowStart { max, .. } => max,
        };
        if max > self.requests.max_queue {
            let allowed = format!("at most max_queue requests, {}", self.requests.max_queue);
            return Err(Refusal::new("requests.backlog", max, allowed));
        }
        if let (Some(window), Sharing::Quota) = (self.limiter.window_ns, self.limiter.sharing) {
            let allowed = "\"none\", or sharing \"turns\"";
            return Err(Refusal::new("limiter.window_ns", window.nanos(), allowed));
        }
        if self.fast.suggest == SuggestMode::ReadCache && !self.fast.enabled {
            let allowed = "\"none\" where the client does not offer the extension";
            return Err(Refusal::new("fast.suggest", "read-cache", allowed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Slots, all, named};
    use super::*;
    use flashcrowd_base::Span;

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
        let place = "requests.max_block_bytes: 100 is not allowed, at least block_bytes, 16384";
        assert_eq!(error, place);
    }

    #[test]
    fn a_queue_of_requests_has_room_for_the_backlog() {
        let with = |backlog| {
            let mut profile = named("modern").unwrap();
            profile.requests.max_queue = 10;
            profile.requests.backlog = backlog;
            profile.check().err().map(|refusal| refusal.path)
        };
        let queue = |min, max| {
            let queue_time_ns = Span::from_secs(3);
            with(RequestPipeline::QueueTime { queue_time_ns, min, max })
        };
        let path = |text: &str| Some(text.to_owned());
        assert_eq!((queue(10, 10), queue(2, 11)), (None, path("requests.backlog")));
        assert_eq!(queue(3, 2), path("requests.backlog.queue-time.min"));
        assert_eq!(with(RequestPipeline::Fixed(10)), None);
        assert_eq!(with(RequestPipeline::Fixed(11)), path("requests.backlog"));
        assert_eq!(with(RequestPipeline::Fixed(0)), path("requests.backlog.fixed"));
        assert_eq!(with(RequestPipeline::Mainline { initial: 11 }), path("requests.backlog"));
    }

    #[test]
    fn rules_between_tables_hold() {
        let with = |change: fn(&mut Profile)| {
            let mut profile = named("ns2-2011").unwrap();
            change(&mut profile);
            profile.check().err().map(|refusal| refusal.path)
        };
        let path = |text: &str| Some(text.to_owned());
        assert_eq!(with(|p| p.fast.suggest = SuggestMode::ReadCache), path("fast.suggest"));
        let both: fn(&mut Profile) = |p| {
            p.limiter.window_ns = Some(Span::from_secs(10));
            p.limiter.sharing = Sharing::Quota;
        };
        assert_eq!(with(both), path("limiter.window_ns"));
        assert_eq!(with(|p| p.choker.slots = Slots::Fixed(0)), path("choker.slots.fixed"));
    }

    #[test]
    fn a_queue_that_grows_has_bounds_in_order() {
        let with = |min, max| {
            let mut profile = named("libtorrent").unwrap();
            let queue_time_ns = Span::from_secs(3);
            profile.requests.backlog =
                RequestPipeline::SlowStart { queue_time_ns, first: 4, min, max };
            profile.check().err().map(|refusal| refusal.path)
        };
        assert_eq!((with(2, 2), with(2, 2000)), (None, None));
        assert_eq!(with(3, 2).as_deref(), Some("requests.backlog.slow-start.min"));
        assert_eq!(with(2, 2001).as_deref(), Some("requests.backlog"));
    }
}
