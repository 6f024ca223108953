use thiserror::Error as ThisError;

/// Why a run gave no tables.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    /// The plan contradicts itself.
    #[error(transparent)]
    Plan(#[from] flashcrowd_plan::Error),
    /// [`RunHandle::cancel`](crate::RunHandle::cancel) was called.
    #[error("the run was cancelled")]
    Cancelled,
}
