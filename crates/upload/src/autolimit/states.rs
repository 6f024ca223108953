//! What `autolimit` and `autolimit-delay` do, and why: each state once, with what it means to a reader of the log.

use crate::{Phase, State};

macro_rules! states {
    ($($name:ident = $phase:ident $reason:literal: $meaning:literal;)+) => {
        $(#[doc = $meaning] pub(super) const $name: State = State::new(Phase::$phase, $reason);)+

        /// All of them, in the order of a run.
        pub const STATES: &[(State, &str)] = &[$(($name, $meaning)),+];
    };
}

states! {
    LEARNING = Learning "the delay is measured while the upload rests":
        "The limit is low until the queue in the modem is empty. Then the idle delay is measured.";
    BEGINNING = Raising "idle delay measured, searching for the limit":
        "The idle delay is known. The limit rises from here on.";
    SEARCHING = Raising "at the limit, searching for more":
        "The client uses its limit and adds no delay, so the limit rises.";
    UNSURE = Holding "at your own limit, or --line; measuring whether it does harm":
        "Your limit is set. More probes have to show that it does no harm.";
    OWN = Holding "your own limit, or --line, is below what autolimit would set":
        "Your limit stays, because it does no harm. Nothing is lowered or measured until the delay rises.";
    SHARE = Holding "at its share of the line":
        "The upload has its part of the line. The rest stays free for calls and games (`--favour delay`).";
    LEAST = Holding "others fill the line; peers keep three tenths of the limit":
        "Others leave less than the share. The limit falls no further, so that peers still get something.";
    FOUND = Holding "at the limit that was found":
        "A higher limit did harm, or is not tried yet.";
    BELOW = Holding "below the limit":
        "The client sends less than three quarters of its limit. Its peers take no more.";
    TRYING = Raising "trying a higher limit":
        "The limit is higher for some seconds. If that adds delay, the old limit is set again.";
    KEPT = Raising "the higher limit is kept, trying more":
        "The higher limit added no delay, so the next one is tried.";
    HARMED = Lowering "the trial added delay":
        "The higher limit added delay, so the old limit is set again.";
    SUSPECTED = Draining "delay rose; checking whether our upload causes it":
        "The upload is low for some seconds. If the delay falls, the upload caused it.";
    OURS = Lowering "the delay fell with our upload, which caused it":
        "The delay fell while the upload was low. The new limit is below the one that caused it.";
    INNOCENT = Holding "the delay is not ours; the limit is back":
        "The delay stayed while the upload was low. The limit is the old one.";
    RESTING = Draining "measuring the idle delay again":
        "The upload is low for some seconds, once per minute or less often.";
    MEASURED = Holding "idle delay measured again; the limit is back":
        "The rest is over. The limit is the old one.";
    FEW = Draining "few probes showed the capacity; checking it":
        "The share is so small that it is checked: the upload is low for some seconds.";
    MISLED = Draining "a queue drained; measuring the idle delay again":
        "The shortest round trip so far had waited in a queue. The line is measured again.";
    MOVED = Draining "the route changed; measuring the line again":
        "Packets leave over another network. The line is measured again.";
    SILENT = Waiting "no answers: the limit stays":
        "No probe was answered for two seconds.";
    BACK = Waiting "answers are back; one window is skipped":
        "The first answers after a silence say nothing of the queue.";
}
