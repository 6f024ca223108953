use thiserror::Error as ThisError;

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("plan: {path}: {message}")]
pub struct Error {
    /// Where, as a dotted path.
    pub path: String,
    /// What is wrong, or what is allowed.
    pub message: String,
}

impl Error {
    /// An error at a dotted path.
    pub fn new(path: impl Into<String>, message: impl ToString) -> Error {
        Error { path: path.into(), message: message.to_string() }
    }
}

/// Refuses with this message what does not hold.
pub(crate) fn require(holds: bool, path: &str, message: impl ToString) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::new(path, message)) }
}

/// Refuses an index beyond what there is.
pub(crate) fn index(value: u32, len: usize, path: &str) -> Result<(), Error> {
    require((value as usize) < len, path, format_args!("{value} does not exist: there are {len}"))
}
