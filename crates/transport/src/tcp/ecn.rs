use super::config::Ecn;
use super::segment::{Flags, Segment};
use std::num::NonZeroU8;

/// Marks since the last acknowledgement that are worth one of their own (RFC 9768, section 3.2.2.5.1).
const MARKS_PER_ACK: u8 = 2;
/// First value of the counter of marked packets (RFC 9768, section 3.2.1).
const FIRST_CEP: u8 = 5;
/// The counter as the ACE field has it.
const ACE_MASK: u8 = 7;

/// The kind of ECN feedback that the ends agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feedback {
    /// None: nothing is sent as ECN-capable.
    None,
    /// ECE until the sender has reduced its window (RFC 3168).
    Classic,
    /// A counter of marked packets, modulo 8 (RFC 9768).
    Accurate,
}

/// ECN of one end as receiver: what was agreed, and the feedback on marks that arrived.
#[derive(Clone, Debug)]
pub(super) struct Echo {
    pub(super) feedback: Feedback,
    /// ECE goes with every segment until CWR arrives.
    echoing: bool,
    /// Packets that arrived marked (r.cep), modulo 8.
    marked: u8,
    since_ack: u8,
    /// ACE field of the next segment in place of the counter: the codepoint of the other end's SYN.
    handshake: Option<NonZeroU8>,
}

/// The three bits AE, CWR, ECE as a number.
pub(super) fn ace(flags: Flags) -> u8 {
    u8::from(flags.contains(Flags::AE)) << 2
        | u8::from(flags.contains(Flags::CWR)) << 1
        | u8::from(flags.contains(Flags::ECE))
}

/// These flags with the number in AE, CWR, ECE.
pub(super) fn with_ace(flags: Flags, ace: u8) -> Flags {
    let mut flags = flags.without(Flags::AE | Flags::CWR | Flags::ECE);
    for (bit, flag) in [(4, Flags::AE), (2, Flags::CWR), (1, Flags::ECE)] {
        if ace & bit != 0 {
            flags |= flag;
        }
    }
    flags
}

/// ACE field that reports the codepoint of a SYN (RFC 9768, table 2).
fn handshake_code(flags: Flags) -> u8 {
    match (flags.contains(Flags::ECT_0), flags.contains(Flags::ECT_1)) {
        (false, false) => 0b010,
        (false, true) => 0b011,
        (true, false) => 0b100,
        (true, true) => 0b110,
    }
}

/// First value of the sender's counter, if the handshake's ACE field was this.
fn first_cep(handshake: u8) -> u8 {
    if handshake == 0b110 { FIRST_CEP + 1 } else { FIRST_CEP }
}

impl Echo {
    pub(super) fn new() -> Echo {
        Echo {
            feedback: Feedback::None,
            echoing: false,
            marked: FIRST_CEP,
            since_ack: 0,
            handshake: None,
        }
    }

    /// Whether the ends agreed on ECN feedback.
    #[inline]
    pub(super) fn is_agreed(&self) -> bool {
        self.feedback != Feedback::None
    }

    /// The ECN request of a first SYN. A retransmitted one asks for nothing, in case the flags were the
    /// reason (RFC 3168, section 6.1.1.1).
    pub(super) fn request(config: Ecn) -> Flags {
        match config {
            Ecn::Off | Ecn::Passive => Flags::default(),
            Ecn::On => Flags::ECE | Flags::CWR,
            Ecn::Accurate => Flags::AE | Flags::ECE | Flags::CWR,
        }
    }

    /// A SYN arrived.
    pub(super) fn on_syn(&mut self, config: Ecn, syn: &Segment) {
        self.feedback = match ace(syn.flags) {
            0b111 if config == Ecn::Accurate => Feedback::Accurate,
            0b111 | 0b011 if config != Ecn::Off => Feedback::Classic,
            _ => Feedback::None,
        };
        self.handshake = NonZeroU8::new(handshake_code(syn.flags));
    }

    /// ECN flags of a SYN-ACK.
    pub(super) fn answer(&self) -> Flags {
        match (self.feedback, self.handshake) {
            (Feedback::None, _) => Flags::default(),
            (Feedback::Classic, _) => Flags::ECE,
            (Feedback::Accurate, code) => {
                with_ace(Flags::default(), code.map_or(0, NonZeroU8::get))
            }
        }
    }

    /// The SYN-ACK to a SYN with `request` arrived. Returns the first value of the sender's counter.
    pub(super) fn on_answer(&mut self, request: Flags, answer: &Segment) -> u8 {
        let asked = ace(request);
        let code = ace(answer.flags);
        self.feedback = match code {
            0b001 if asked != 0 => Feedback::Classic,
            0b010 | 0b011 | 0b100 | 0b110 if asked == 0b111 => Feedback::Accurate,
            _ => Feedback::None,
        };
        self.handshake = NonZeroU8::new(handshake_code(answer.flags));
        first_cep(code)
    }

    /// The last segment of the handshake arrived. Returns its flags with the counter in place of the
    /// handshake's ACE field, and the first value of the sender's counter.
    pub(super) fn on_last(&mut self, segment: &Segment) -> (Flags, u8) {
        self.handshake = None;
        if self.feedback != Feedback::Accurate || segment.len > 0 {
            return (segment.flags, FIRST_CEP);
        }
        let code = ace(segment.flags);
        if code == 0 {
            // A middlebox clears the bits (RFC 9768, section 3.2.2.4).
            self.feedback = Feedback::None;
        }
        let first = first_cep(code);
        (with_ace(segment.flags, first & ACE_MASK), first)
    }

    /// A segment arrived. Returns whether to answer at once.
    #[inline]
    pub(super) fn on_segment(&mut self, segment: &Segment) -> bool {
        match self.feedback {
            Feedback::None => false,
            Feedback::Classic => self.on_classic(segment),
            Feedback::Accurate => self.on_accurate(segment),
        }
    }

    /// Linux: tcp_ecn_accept_cwr, tcp_ecn_check_ce.
    fn on_classic(&mut self, segment: &Segment) -> bool {
        let before = self.echoing;
        let confirmed = segment.len > 0 && segment.flags.contains(Flags::CWR);
        self.echoing &= !confirmed;
        self.echoing |= segment.flags.contains(Flags::CE);
        confirmed || (self.echoing && !before)
    }

    fn on_accurate(&mut self, segment: &Segment) -> bool {
        if segment.flags.contains(Flags::CE) {
            self.marked = self.marked.wrapping_add(1);
            self.since_ack = self.since_ack.saturating_add(1);
        }
        segment.len > 0 && self.since_ack >= MARKS_PER_ACK
    }

    /// ECN flags of a segment.
    #[inline]
    pub(super) fn flags(&mut self) -> Flags {
        match self.feedback {
            Feedback::None => Flags::default(),
            Feedback::Classic if self.echoing => Flags::ECE,
            Feedback::Classic => Flags::default(),
            Feedback::Accurate => {
                self.since_ack = 0;
                let code = self.handshake.take().map_or(self.marked & ACE_MASK, NonZeroU8::get);
                // Everything may be marked, acknowledgements too (RFC 9768, section 3.3; Linux).
                with_ace(Flags::ECT_0, code)
            }
        }
    }
}

/// How many of `packets` newly acknowledged ones were marked, if the counter was at `cep` and its last
/// three bits are `ace` now: the difference modulo 8, and where the counter may have wrapped, the
/// largest number that fits (RFC 9768, appendix A.1).
pub(super) fn newly_marked(cep: u8, ace: u8, packets: u64) -> u64 {
    let delta = u64::from(ace.wrapping_sub(cep) & ACE_MASK);
    if packets <= u64::from(ACE_MASK) {
        return delta;
    }
    packets - (packets.wrapping_sub(delta) & u64::from(ACE_MASK))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768, appendix A.1: with ACE at 3 and eight packets acknowledged, 3 means 3; with eleven and
    /// more it may also mean 11.
    #[test]
    fn the_counter_may_have_gone_round() {
        assert_eq!(newly_marked(5, 5, 2), 0);
        assert_eq!(newly_marked(5, 7, 2), 2);
        assert_eq!(newly_marked(7, 1, 5), 2);
        assert_eq!(newly_marked(0, 3, 10), 3);
        assert_eq!(newly_marked(0, 3, 11), 11);
        assert_eq!(newly_marked(0, 0, 8), 8);
    }

    #[test]
    fn what_is_agreed_is_what_both_offer() {
        let syn = |flags| Segment { flags: Flags::SYN | flags, ..Segment::EMPTY };
        let modes = [Ecn::Off, Ecn::Passive, Ecn::On, Ecn::Accurate];
        let agreed = |caller, answerer| {
            let request = Echo::request(caller);
            let (mut a, mut b) = (Echo::new(), Echo::new());
            b.on_syn(answerer, &syn(request));
            a.on_answer(request, &syn(Flags::ACK | b.answer()));
            assert_eq!(a.feedback, b.feedback);
            a.feedback
        };
        use Feedback::{Accurate, Classic, None};
        let table = modes.map(|caller| modes.map(|answerer| agreed(caller, answerer)));
        assert_eq!(
            table,
            [
                [None, None, None, None],
                [None, None, None, None],
                [None, Classic, Classic, Classic],
                [None, Classic, Classic, Accurate],
            ]
        );
    }

    /// RFC 9768, section 3.2.2.1: a counter begins at 5, and at 6 if the SYN-ACK said that the SYN came marked.
    #[test]
    fn a_marked_syn_counts() {
        let first = [0b010, 0b011, 0b100, 0b110].map(first_cep);
        assert_eq!(first, [5, 5, 5, 6]);
    }

    /// A host that asks for classic ECN may get its own bits back, from a server that copies reserved ones; without
    /// a request any answer means nothing.
    #[test]
    fn an_answer_to_what_was_not_asked_agrees_nothing() {
        let answers = |request| {
            [0b001, 0b010, 0b011, 0b100, 0b110].map(|code| {
                let flags = with_ace(Flags::SYN | Flags::ACK, code);
                let mut echo = Echo::new();
                echo.on_answer(request, &Segment { flags, ..Segment::EMPTY });
                echo.feedback
            })
        };
        use Feedback::{Accurate, Classic, None};
        assert_eq!(answers(Echo::request(Ecn::Off)), [None; 5]);
        assert_eq!(answers(Echo::request(Ecn::On)), [Classic, None, None, None, None]);
        let accurate = [Classic, Accurate, Accurate, Accurate, Accurate];
        assert_eq!(answers(Echo::request(Ecn::Accurate)), accurate);
    }

    /// RFC 9768, section 3.2.2.5.1: an acknowledgement at the latest for every second marked packet.
    #[test]
    fn every_second_mark_on_data_is_answered_at_once() {
        let mut echo = Echo { feedback: Feedback::Accurate, ..Echo::new() };
        let marked = Segment { flags: Flags::ACK | Flags::CE, len: 100, ..Segment::EMPTY };
        let plain = Segment { flags: Flags::ACK, len: 100, ..Segment::EMPTY };
        assert!(!echo.on_segment(&marked));
        assert!(!echo.on_segment(&plain));
        assert!(echo.on_segment(&marked));
        // The segment sent now reports it; marks on pure acknowledgements do not trigger an answer.
        let _ = echo.flags();
        let pure = Segment { len: 0, ..marked };
        assert!(!echo.on_segment(&pure) && !echo.on_segment(&pure));
        assert!(echo.on_segment(&plain), "two marks wait");
    }
}
