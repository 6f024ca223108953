use flashcrowd_base::{Rate, Span};
use std::fmt;

/// A parameter of a controller, as lists show it. Values are in the unit named here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in files, with the ending of its unit.
    pub name: &'static str,
    /// What it means, and why its default is what it is.
    pub about: &'static str,
    /// The unit of the three values: `s`, `bit/s`, or nothing.
    pub unit: &'static str,
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// The value if none is given.
    pub default: f64,
}

/// A parameter out of its bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Which parameter.
    pub parameter: &'static str,
    /// What it was, in the parameter's unit.
    pub value: f64,
    /// What is allowed.
    pub min: f64,
    /// What is allowed.
    pub max: f64,
    /// The unit of the three.
    pub unit: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { parameter, value, min, max, unit } = self;
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        write!(f, "{parameter} is {value}{unit}; it may be from {min} to {max}{unit}")
    }
}
impl std::error::Error for Refusal {}

/// What a parameter may be: a number in the unit that its type implies.
pub(crate) trait Value: Copy {
    const UNIT: &'static str;
    fn number(self) -> f64;
}
impl Value for Span {
    const UNIT: &'static str = "s";
    fn number(self) -> f64 {
        self.seconds()
    }
}
impl Value for Rate {
    const UNIT: &'static str = "bit/s";
    fn number(self) -> f64 {
        self.bps() as f64
    }
}
impl Value for f64 {
    const UNIT: &'static str = "";
    fn number(self) -> f64 {
        self
    }
}
impl Value for bool {
    const UNIT: &'static str = "";
    fn number(self) -> f64 {
        f64::from(u8::from(self))
    }
}
impl Value for u32 {
    const UNIT: &'static str = "";
    fn number(self) -> f64 {
        f64::from(self)
    }
}

/// The unit of a value's type, for tables.
pub(crate) const fn unit_of<V: Value>(_: &V) -> &'static str {
    V::UNIT
}

/// Writes the parameters of a controller once: the struct, its defaults, its bounds, and the table of
/// both. Bounds are in the unit of the type (see [`Value`]).
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        $name:ident {
            $($(#[doc = $about:literal])+ $field:ident: $type:ty = $default:expr, $min:literal..=$max:literal;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[doc = $about])+ pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)* }
            }
        }

        impl $name {
            /// The parameters as a table.
            pub fn parameters() -> Vec<$crate::Parameter> {
                #[allow(unused_variables)]
                let default = $name::default();
                vec![$($crate::Parameter {
                    name: stringify!($field),
                    about: concat!($($about),+).trim(),
                    unit: $crate::parameter::unit_of(&default.$field),
                    min: $min as f64,
                    max: $max as f64,
                    default: $crate::parameter::Value::number(default.$field),
                },)*]
            }

            /// Whether every parameter is within its bounds.
            pub fn check(&self) -> Result<(), $crate::Refusal> {
                $({
                    let value = $crate::parameter::Value::number(self.$field);
                    if !($min as f64..=$max as f64).contains(&value) {
                        return Err($crate::Refusal {
                            parameter: stringify!($field),
                            value,
                            min: $min as f64,
                            max: $max as f64,
                            unit: $crate::parameter::unit_of(&self.$field),
                        });
                    }
                })*
                Ok(())
            }
        }
    };
}
pub(crate) use parameters;
