use thiserror::Error as ThisError;

/// Why a run gave no tables.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    /// The plan contradicts itself.
    #[error("plan: {path}: {message}")]
    Plan {
        /// Where, as a dotted path.
        path: String,
        /// What is wrong, or what is allowed.
        message: String,
    },
    /// [`Control::cancel`](crate::Control::cancel) was called.
    #[error("the run was cancelled")]
    Cancelled,
}

impl Error {
    pub(crate) fn plan(path: impl Into<String>, message: impl ToString) -> Error {
        Error::Plan { path: path.into(), message: message.to_string() }
    }
}
