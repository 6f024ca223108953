//! The report on an answer: its order, and how it ended.

use flashcrowd_origin::Failure;

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Ending {
    /// The client or its connection has gone.
    Broken,
    /// All bytes were handed to the socket.
    Complete,
    /// The file has changed.
    Changed,
    /// The disk could not read.
    Disk,
    /// The client has said nothing, or not all, in time.
    Late,
    /// There was no place for the connection, and it was closed without an answer.
    Refused,
    /// TLS did not come to an agreement.
    Tls,
}

impl Ending {
    pub(crate) fn of(failure: Failure) -> Ending {
        match failure {
            Failure::Disk => Ending::Disk,
            Failure::Closed => Ending::Changed,
            Failure::Stalled => Ending::Broken,
        }
    }

    pub(crate) const NAMES: [&str; 7] =
        ["broken", "complete", "changed", "disk", "late", "refused", "tls"];
}

/// Which order an answer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// No contents of a file.
    #[default]
    Text,
    /// The whole file.
    Whole,
    /// One range or several, as asked for.
    Ranges,
    /// Any order, one answer.
    Stream,
    /// Any order, one part.
    Pull,
}

impl Mode {
    pub(crate) const NAMES: [&str; 5] = ["text", "whole", "ranges", "stream", "pull"];
}
