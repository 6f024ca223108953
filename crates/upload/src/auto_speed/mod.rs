//! Auto-Speed of Azureus (later Vuze), both generations, by their sources: rules and constants, not their code.

mod round;
pub(crate) mod v1;
pub(crate) mod v2;

/// A kibibyte per second, the unit of the client's limits, in bytes per second.
const KIB: f64 = 1024.0;
