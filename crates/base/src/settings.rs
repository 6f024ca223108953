//! Tables of settings: a struct whose fields carry their meaning, their bounds and their form in study files.

use crate::{Probability, Rate, Span};
use std::fmt;

/// A value that a setting cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where it is, as a dotted path.
    pub path: String,
    /// The value, as a plan has it.
    pub value: String,
    /// The allowed values.
    pub allowed: String,
}

impl Refusal {
    /// Refuses a value.
    pub fn new(path: &str, value: impl ToString, allowed: impl ToString) -> Refusal {
        Refusal { path: path.to_owned(), value: value.to_string(), allowed: allowed.to_string() }
    }

    /// The same, seen from the table that has this one as `place`.
    #[must_use]
    pub fn inside(self, place: &str) -> Refusal {
        Refusal { path: format!("{place}.{}", self.path), ..self }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { path, value, allowed } = self;
        write!(f, "{path}: {value} is not allowed, {allowed}")
    }
}

impl std::error::Error for Refusal {}

/// A table of settings; [`settings!`](crate::settings) defines one.
pub trait Settings {
    /// Refuses a value outside the bounds of its field. What contradicts another field is another matter.
    ///
    /// # Errors
    /// The first such value.
    fn check_bounds(&self) -> Result<(), Refusal>;
}

impl<T: Settings> Settings for Option<T> {
    fn check_bounds(&self) -> Result<(), Refusal> {
        self.as_ref().map_or(Ok(()), Settings::check_bounds)
    }
}

/// A value that can have bounds. Of an option, they are those of the value that is given.
pub trait Bounded {
    /// The type of the bounds.
    type Value;
    /// The value, if one is given.
    fn given(&self) -> Option<&Self::Value>;
    /// A value or bound, as a plan has it.
    fn shown(value: &Self::Value) -> String;
}

impl<T: Bounded> Bounded for Option<T> {
    type Value = T::Value;
    fn given(&self) -> Option<&T::Value> {
        self.as_ref().and_then(T::given)
    }
    fn shown(value: &T::Value) -> String {
        T::shown(value)
    }
}

macro_rules! bounded {
    ($($number:ty: $shown:expr;)+) => {
        $(impl Bounded for $number {
            type Value = $number;
            fn given(&self) -> Option<&$number> {
                Some(self)
            }
            fn shown(value: &$number) -> String {
                let shown: fn(&$number) -> String = $shown;
                shown(value)
            }
        })+
    };
}
bounded! {
    u16: |it| it.to_string();
    u32: |it| it.to_string();
    u64: |it| it.to_string();
    f64: |it| it.to_string();
    Span: |it| it.nanos().to_string();
    Rate: |it| it.bps().to_string();
    Probability: |it| it.value().to_string();
}

/// Refuses a value for which a bound does not hold.
///
/// # Errors
/// The value, and the bound after `words`.
pub fn check_bound<T: Bounded>(
    path: &str,
    value: &T,
    words: &str,
    bound: T::Value,
    holds: fn(&T::Value, &T::Value) -> bool,
) -> Result<(), Refusal> {
    match value.given().filter(|it| !holds(it, &bound)) {
        None => Ok(()),
        Some(it) => {
            Err(Refusal::new(path, T::shown(it), format_args!("{words} {}", T::shown(&bound))))
        }
    }
}

/// Defines tables of settings: everything that is known of a field is at the field.
///
/// ```
/// flashcrowd_base::settings! {
///     /// What the table is about.
///     pub struct Timer {
///         /// What a person has to know: the first paragraph, which `explain` and the documentation show.
///         ///
///         /// Sources and details, for who reads the code.
///         #[min(1)]
///         #[max(100)]
///         pub retries: u32,
///         /// Another field.
///         #[min(flashcrowd_base::Span::from_millis(1))]
///         pub first_ns: flashcrowd_base::Span,
///         /// A field that is at least as large as another.
///         #[at_least(first_ns)]
///         pub last_ns: flashcrowd_base::Span,
///     }
/// }
/// ```
///
/// Attributes come in this order, each at most once: the documentation; `min`, `above` (exclusive) and `max`;
/// `at_least`, the fields that it must not be below; `file`, what study files do otherwise than the schema lets
/// expect; `table` for a table in this one. Fields of a struct with `#[serde(default)]` may be left out. The struct
/// reads and writes a plan's JSON, refuses unknown keys, and
/// implements [`Settings`]. With the feature `schema` the bounds are in its JSON Schema. The tables of study files are
/// made from that (`python/flashcrowd/scenario/described.py`), which is where the words of `file` are explained.
#[macro_export]
macro_rules! settings {
    ($(
        $(#[doc = $about:literal])*
        $(#[derive($($derived:ident),+)])?
        $(#[serde($default:ident)])?
        pub struct $Name:ident {$(
            $(#[doc = $doc:literal])*
            $(#[min($min:expr)])?
            $(#[above($above:expr)])?
            $(#[max($max:expr)])?
            $(#[at_least($($least:ident),+)])?
            $(#[file($($word:literal = $meant:expr),+)])?
            $(#[table $($nothing:literal)?])?
            pub $field:ident: $type:ty,
        )+}
    )+) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq, $($($derived,)+)? ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(::schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", schemars(extend("order" = [$(stringify!($field)),+])))]
        #[serde(deny_unknown_fields $(, $default)?)]
        pub struct $Name {$(
            $(#[doc = $doc])*
            $(#[cfg_attr(feature = "schema", schemars(extend("minimum" = $min)))])?
            $(#[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = $above)))])?
            $(#[cfg_attr(feature = "schema", schemars(extend("maximum" = $max)))])?
            $(#[cfg_attr(feature = "schema", schemars(extend("atLeast" = [$(stringify!($least)),+])))])?
            $(#[cfg_attr(feature = "schema", schemars($(extend($word = $meant)),+))])?
            pub $field: $type,
        )+}

        impl $crate::Settings for $Name {
            fn check_bounds(&self) -> Result<(), $crate::Refusal> {
                $(
                    $($crate::check_bound(stringify!($field), &self.$field, "at least", $min, |a, b| a >= b)?;)?
                    $($crate::check_bound(stringify!($field), &self.$field, "more than", $above, |a, b| a > b)?;)?
                    $($crate::check_bound(stringify!($field), &self.$field, "at most", $max, |a, b| a <= b)?;)?
                    $($(
                        let words = concat!("at least ", stringify!($least), ",");
                        $crate::check_bound(stringify!($field), &self.$field, words, self.$least.into(), |a, b| a >= b)?;
                    )+)?
                    $($($nothing)? $crate::Settings::check_bounds(&self.$field).map_err(|it| it.inside(stringify!($field)))?;)?
                )+
                Ok(())
            }
        }
    )+};
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "the macro makes public tables")]
mod tests {
    use super::*;

    settings! {
        /// A table.
        #[derive(Copy)]
        pub struct Inner {
            /// Some share.
            #[above(0.0)]
            #[max(1.0)]
            pub share: f64,
        }

        /// Another, with that one.
        pub struct Outer {
            /// A count.
            #[min(1)]
            #[max(9)]
            pub count: u32,
            /// A time, if any.
            #[min(Span::from_millis(1))]
            pub first_ns: Option<Span>,
            /// A size.
            pub low: u64,
            /// Another size.
            #[at_least(low)]
            pub high: u64,
            /// The table.
            #[table]
            pub inner: Inner,
        }
    }

    #[test]
    fn bounds_are_allowed_and_what_is_beyond_them_is_not() {
        let sound =
            Outer { count: 1, first_ns: None, low: 5, high: 5, inner: Inner { share: 1.0 } };
        assert_eq!(sound.check_bounds(), Ok(()));
        let refused = |change: fn(&mut Outer)| {
            let mut outer = sound.clone();
            change(&mut outer);
            outer.check_bounds().map_err(|it| it.to_string())
        };
        assert_eq!(refused(|it| it.count = 9), Ok(()));
        assert_eq!(refused(|it| it.first_ns = Some(Span::from_millis(1))), Ok(()));
        let wrong = |text: &str| Err(text.to_owned());
        assert_eq!(refused(|it| it.count = 0), wrong("count: 0 is not allowed, at least 1"));
        assert_eq!(refused(|it| it.count = 10), wrong("count: 10 is not allowed, at most 9"));
        assert_eq!(
            refused(|it| it.first_ns = Some(Span::from_nanos(999_999))),
            wrong("first_ns: 999999 is not allowed, at least 1000000")
        );
        assert_eq!(refused(|it| it.high = 4), wrong("high: 4 is not allowed, at least low, 5"));
        assert_eq!(
            refused(|it| it.inner.share = 0.0),
            wrong("inner.share: 0 is not allowed, more than 0")
        );
        let endless = "inner.share: inf is not allowed, at most 1";
        assert_eq!(refused(|it| it.inner.share = f64::INFINITY), wrong(endless));
        let none = "inner.share: NaN is not allowed, more than 0";
        assert_eq!(refused(|it| it.inner.share = f64::NAN), wrong(none));
    }
}
