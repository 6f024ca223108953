//! Errors behind the border, as Python exceptions. A panic is a fault of ours: it is caught here,
//! without a word on standard error, and carries where it happened.

use std::cell::RefCell;
use std::panic::{self, PanicHookInfo, UnwindSafe};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    flashcrowd._core,
    PlanError,
    PyValueError,
    "A plan that no engine can run; names the place."
);
create_exception!(
    flashcrowd._core,
    Cancelled,
    PyException,
    "The run was cancelled; it has no tables."
);
create_exception!(
    flashcrowd._core,
    EngineFault,
    PyRuntimeError,
    "A bug in the engine; names the source line."
);

thread_local! {
    /// Message of the last panic inside of [`guarded`]; None outside of it.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Chain a panic hook that records instead of prints, for threads inside of [`guarded`].
pub(crate) fn listen() {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let ours = CAUGHT.with_borrow_mut(|caught| match caught {
            Some(message) => {
                *message = describe(panic);
                true
            }
            None => false,
        });
        if !ours {
            previous(panic);
        }
    }));
}

fn describe(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic without a message");
    match panic.location() {
        Some(at) => format!("{text} ({}:{})", at.file(), at.line()),
        None => text.to_owned(),
    }
}

/// `work`, with a panic turned into an [`EngineFault`].
pub(crate) fn guarded<T>(work: impl FnOnce() -> T + UnwindSafe) -> Result<T, PyErr> {
    CAUGHT.set(Some(String::new()));
    let outcome = panic::catch_unwind(work);
    let message = CAUGHT.take().unwrap_or_default();
    outcome.map_err(|_| EngineFault::new_err(message))
}
