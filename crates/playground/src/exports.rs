//! The functions for JavaScript. It writes a plan into memory at [`reserve`], and reads answers, UTF-8, at
//! [`answer`]: it sees this module's memory as an array, so that no pointer is followed here.
//!
//! A function answers 0 where the answer is what was asked for, and 1 where it says what is wrong.

#![allow(unsafe_code)] // The attribute that keeps a function's name: two of one name would be undefined behaviour.

use crate::Session;
use std::cell::RefCell;

#[derive(Default)]
struct State {
    plan: Vec<u8>,
    session: Option<Session>,
    answer: String,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Room for a plan of `bytes` bytes. Its address.
#[unsafe(no_mangle)]
extern "C" fn reserve(bytes: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.plan = vec![0; bytes];
        state.plan.as_mut_ptr()
    })
}

/// Begins the run of the plan that was written.
#[unsafe(no_mangle)]
extern "C" fn start(seed: u64) -> u32 {
    STATE.with_borrow_mut(|state| {
        let plan = std::mem::take(&mut state.plan);
        match Session::start(&plan, seed) {
            Ok(session) => {
                state.session = Some(session);
                state.put(Ok(String::new()))
            }
            Err(wrong) => state.put(Err(wrong)),
        }
    })
}

/// Goes on for `seconds` simulated seconds. Answers the slice, see [`Session::advance`].
#[unsafe(no_mangle)]
extern "C" fn advance(seconds: f64) -> u32 {
    STATE.with_borrow_mut(|state| {
        let found = state.session.as_mut().map(|session| session.advance(seconds));
        state.put(found.unwrap_or_else(not_begun))
    })
}

/// Answers all tables, see [`Session::tables`].
#[unsafe(no_mangle)]
extern "C" fn tables() -> u32 {
    STATE.with_borrow_mut(|state| {
        let found = state.session.as_ref().map(Session::tables);
        state.put(found.unwrap_or_else(not_begun))
    })
}

/// Where the answer begins.
#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    STATE.with_borrow(|state| state.answer.as_ptr())
}

/// Its length in bytes.
#[unsafe(no_mangle)]
extern "C" fn answer_bytes() -> usize {
    STATE.with_borrow(|state| state.answer.len())
}

fn not_begun() -> Result<String, String> {
    Err("no run was begun".to_owned())
}

impl State {
    fn put(&mut self, answer: Result<String, String>) -> u32 {
        let wrong = answer.is_err();
        self.answer = answer.unwrap_or_else(|wrong| wrong);
        wrong.into()
    }
}
