use super::{Ledbat, Params};

/// How a controller is made, and what it needs of its transport.
pub trait Build: Sized {
    /// Whether it needs [`Ack::one_way_delay`](super::Ack::one_way_delay).
    const NEEDS_ONE_WAY_DELAY: bool = false;
    /// Whether it needs [`Ack::rate`](super::Ack::rate), and the events `on_sent` and `on_lost`.
    const NEEDS_RATES: bool = false;
    /// Whether it draws from a [stream](super::Controller::stream) of its own.
    const DRAWS: bool = false;

    /// The table with which this controller of the LEDBAT family ships; the others need none.
    fn table() -> Option<Ledbat> {
        None
    }

    /// A controller at its first window.
    fn build(params: Params) -> Self;
}

/// In a box, where a controller is larger than most connections should carry.
impl<C: Build> Build for Box<C> {
    const NEEDS_ONE_WAY_DELAY: bool = C::NEEDS_ONE_WAY_DELAY;
    const NEEDS_RATES: bool = C::NEEDS_RATES;
    const DRAWS: bool = C::DRAWS;

    fn table() -> Option<Ledbat> {
        C::table()
    }

    fn build(params: Params) -> Self {
        Box::new(C::build(params))
    }
}

/// Writes [`Kind`] and [`AnyController`] from one list: a name in Rust, the name in files, the type.
macro_rules! controllers {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $type:ty;)+) => {
        /// The controllers there are.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Kind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)+
        }

        impl Kind {
            /// All of them.
            pub const ALL: [Kind; [$(Kind::$kind),+].len()] = [$(Kind::$kind),+];

            /// Its name in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)+
                }
            }

            /// The table with which this controller of the LEDBAT family ships; `None` for the
            /// others, which need none.
            pub fn ledbat(self) -> Option<Ledbat> {
                match self {
                    $(Kind::$kind => <$type as Build>::table(),)+
                }
            }

            /// Whether it needs [`Ack::one_way_delay`]. LEDBAT++ does with round trips.
            pub fn needs_one_way_delay(self) -> bool {
                match self {
                    $(Kind::$kind => <$type as Build>::NEEDS_ONE_WAY_DELAY,)+
                }
            }

            /// Whether it draws from a random stream of its own.
            pub fn draws(self) -> bool {
                match self {
                    $(Kind::$kind => <$type as Build>::DRAWS,)+
                }
            }

            /// Whether it needs [`Ack::rate`].
            pub fn needs_rates(self) -> bool {
                match self {
                    $(Kind::$kind => <$type as Build>::NEEDS_RATES,)+
                }
            }
        }

        /// One of the controllers. Those of most connections need no box.
        #[derive(Clone, Debug)]
        pub enum AnyController {
            $($(#[$doc])* $kind($type),)+
        }

        impl AnyController {
            /// A controller of this kind.
            ///
            /// # Panics
            ///
            /// Without [`Params::ledbat`] for one of the LEDBAT family. Configurations that pass
            /// their check have it.
            pub fn new(kind: Kind, params: Params) -> AnyController {
                match kind {
                    $(Kind::$kind => AnyController::$kind(Build::build(params)),)+
                }
            }
        }

        controllers!(@pass [$($kind)+]
            on_ack(&mut self, ack: &Ack) => (ack);
            on_sent(&mut self, sent: &SentData) => (sent);
            on_lost(&mut self, lost: &LostData) => (lost);
            on_loss(&mut self, loss: &Loss) => (loss);
            on_ecn(&mut self, marks: &EcnFeedback) => (marks);
            on_recovered(&mut self, limit: u64) => (limit);
            on_timeout(&mut self, loss: &Loss, again: bool) => (loss, again);
            on_idle(&mut self, now: Time) => (now);
            on_packet_size(&mut self, bytes: u32) => (bytes);
            on_undo(&mut self) => ();
            on_decay(&mut self, window: u64) => (window);
            on_resume(&mut self, now: Time, idle: Span) => (now, idle);
            stream(&mut self) -> Option<&mut RandomStream> => ();
            window(&self) -> u64 => ();
            threshold(&self) -> u64 => ();
            pacing_rate(&self) -> Option<Rate> => ();
            governs_recovery(&self) -> bool => ();
            is_withholding(&self) -> bool => ();
            state_name(&self) -> Option<&'static str> => ();
        );
    };
    (@pass $kinds:tt $($event:ident $arguments:tt $(-> $answer:ty)? => $call:tt;)+) => {
        impl Controller for AnyController {
            $(controllers!{@one $kinds $event $call $arguments $(-> $answer)?})+
        }
    };
    (@one [$($kind:ident)+] $event:ident $call:tt
        (&mut self $(, $name:ident: $type:ty)*) $(-> $answer:ty)?) => {
        #[inline]
        fn $event(&mut self $(, $name: $type)*) $(-> $answer)? {
            match self {
                $(AnyController::$kind(controller) => controller.$event $call,)+
            }
        }
    };
    (@one [$($kind:ident)+] $event:ident $call:tt (&self) -> $answer:ty) => {
        #[inline]
        fn $event(&self) -> $answer {
            match self {
                $(AnyController::$kind(controller) => controller.$event $call,)+
            }
        }
    };
}
