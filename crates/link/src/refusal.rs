/// A parameter of a queue that cannot be, and why.
pub type Refusal = (&'static str, &'static str);

/// Refuses a parameter for which this does not hold.
pub(crate) fn require(
    holds: bool,
    field: &'static str,
    allowed: &'static str,
) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err((field, allowed)) }
}
