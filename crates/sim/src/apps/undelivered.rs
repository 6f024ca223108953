//! What a run did not deliver, in words: what lost its connection, and what nothing arrived of.

use flashcrowd_base::{Span, Time};

/// What began later than this before the end of a run may still be on its way.
const UNDER_WAY: Span = Span::from_secs(1);

/// Whether something that began then should have arrived, at least in part, by `now`.
pub(super) fn is_due(began: Time, now: Time) -> bool {
    now.since(began) >= UNDER_WAY
}

/// How many of `total` lost their connection before all was delivered, and `each` of them: what, when and how far.
pub(super) fn lost(
    whose: &str,
    total: usize,
    what: &str,
    mut each: impl Iterator<Item = String>,
) -> Option<String> {
    let first = each.next()?;
    let count = 1 + each.count();
    Some(format!("{whose}: {count} of {total} {what} lost the connection, the first ({first})"))
}
