//! How other threads wake a loop that waits for its sockets.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Wakes the loop.
#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<UnixStream>);

/// The loop's end.
#[derive(Debug)]
pub(crate) struct Wakes(UnixStream);

/// Both ends.
pub(crate) fn pair() -> io::Result<(Waker, Wakes)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    theirs.set_nonblocking(true)?;
    Ok((Waker(Arc::new(theirs)), Wakes(ours)))
}

impl Waker {
    /// The loop looks around soon.
    pub(crate) fn wake(&self) {
        // If it is full, the loop has been woken already; if it is closed, there is no loop.
        let _ = (&*self.0).write(&[0]);
    }
}

impl Wakes {
    /// Forgets that it was woken.
    pub(crate) fn clear(&mut self) {
        let mut some = [0; 64];
        while self.0.read(&mut some).is_ok_and(|read| read == some.len()) {}
    }
}

impl AsFd for Wakes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
