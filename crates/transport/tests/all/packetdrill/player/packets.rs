//! Packets of a script: those that arrive at our end, and those that it is to send.

use super::*;

impl Player<'_> {
    pub(super) fn inject(&mut self, packet: &Packet) -> Step {
        let syn = packet.has('S');
        let mut flags = Flags::default();
        for (letter, flag) in [
            ('S', Flags::SYN),
            ('.', Flags::ACK),
            ('F', Flags::FIN),
            ('R', Flags::RST),
            ('P', Flags::PSH),
            ('E', Flags::ECE),
            ('W', Flags::CWR),
            ('A', Flags::AE),
        ] {
            if packet.has(letter) {
                flags |= flag;
            }
        }
        match packet.ecn.as_deref() {
            Some("ect0") => flags |= Flags::ECT_0,
            Some("ect1") => flags |= Flags::ECT_1,
            Some("ce") => flags |= Flags::CE,
            _ => {}
        }
        if syn {
            if packet.sack_permitted {
                flags |= Flags::SACK_PERMITTED;
            }
            if let Some(scale) = packet.wscale {
                flags |= Flags::WINDOW_SCALE;
                self.offered_scale = Some(scale);
            }
            if packet.len > 0 {
                return unsupported("data in a SYN (TCP Fast Open)");
            }
        }
        let (mut timestamp, mut echo) = (0, 0);
        if let Some((value, ecr)) = packet.timestamps {
            flags |= Flags::TIMESTAMPS;
            timestamp = value;
            echo = match self.clock {
                Some((script, ours)) => {
                    ours.wrapping_add(ecr.wrapping_sub(script).wrapping_mul(1000))
                }
                None => 0,
            };
        }
        let shift = if syn { 0 } else { self.scale };
        let mut segment = Segment {
            seq: u64::from(packet.seq).wrapping_sub(u64::from(!syn)),
            ack: u64::from(packet.ack.unwrap_or(1)).wrapping_sub(1),
            len: packet.len,
            window: packet.win.unwrap_or(0) << shift,
            timestamp,
            echo,
            mss: packet.mss.unwrap_or(if syn { 536 } else { 65_535 }),
            flags,
            ..Segment::EMPTY
        };
        for &(start, end) in &packet.sack {
            if !segment.push_sack(u64::from(start) - 1, u64::from(end) - 1) {
                return unsupported("more than three SACK ranges");
            }
        }
        if syn && !packet.has('.') && self.tcp.as_ref().is_none_or(Connection::is_closed) {
            if !self.listening {
                return unsupported("a SYN to a port that nobody listens on");
            }
            self.tcp = Some(Connection::accept(&Arc::new(self.config.clone()), self.now, &segment));
            self.accepted = false;
            self.scale = self.scale_of(packet);
            return Ok(());
        }
        if syn {
            self.scale = self.scale_of(packet);
        }
        match &mut self.tcp {
            Some(tcp) => tcp.receive(self.now, &segment),
            None => return unsupported("a packet without a connection"),
        }
        Ok(())
    }

    fn scale_of(&self, packet: &Packet) -> u32 {
        if self.config.window_scaling { packet.wscale.unwrap_or(0) } else { 0 }
    }

    /// The next packet that was sent, or will be soon enough.
    pub(super) fn expect(&mut self, packet: &Packet, due: Time, until: Time, any: bool) -> Step {
        let latest = if any { Time::NEVER } else { until + self.tolerance };
        let Some((at, segment)) = self.next_sent(latest)? else {
            return failed(format!("nothing was sent in place of {}", words(packet)));
        };
        self.now = self.now.max(due.min(latest));
        let mut left = packet.clone();
        self.compare(&left, &segment)?;
        if !any && (at + self.tolerance < due || at > latest) {
            let late = (at.nanos() as i64 - due.nanos() as i64) as f64 / 1e6;
            return failed(format!("sent {late:+.1} ms from when {} was due", words(packet)));
        }
        // How many segments go in one super-segment is the network card's business.
        let mut segment = segment;
        while segment.len < left.len {
            left.len -= segment.len;
            left.seq += segment.len;
            let Some((_, next)) = self.next_sent(latest)? else {
                return failed(format!("nothing was sent in place of {}", words(&left)));
            };
            self.compare(&left, &next)?;
            segment = next;
        }
        if segment.len > left.len {
            let rest = Segment {
                seq: segment.seq + u64::from(left.len),
                len: segment.len - left.len,
                ..segment
            };
            self.sent.push_front((at, rest));
        } else if segment.flags.contains(Flags::FIN) != packet.has('F') {
            return failed(format!("FIN: {} in place of {}", shown(&segment), words(packet)));
        }
        self.collect();
        self.resume()
    }

    fn next_sent(&mut self, latest: Time) -> Step<Option<(Time, Segment)>> {
        loop {
            if let Some(sent) = self.sent.pop_front() {
                return Ok(Some(sent));
            }
            let Some(tcp) = &mut self.tcp else { return Ok(None) };
            let Some(at) = tcp.next_timer().filter(|at| *at <= latest) else { return Ok(None) };
            self.now = self.now.max(at);
            tcp.on_timer(self.now);
            self.collect();
            self.resume()?;
        }
    }

    fn compare(&mut self, packet: &Packet, segment: &Segment) -> Step {
        let flags = segment.flags;
        let syn = flags.contains(Flags::SYN);
        let mismatch = |what: &str| {
            failed(format!("{what}: {} in place of {}", shown(segment), words(packet)))
        };
        for (letter, flag) in [
            ('S', Flags::SYN),
            ('.', Flags::ACK),
            ('R', Flags::RST),
            ('E', Flags::ECE),
            ('W', Flags::CWR),
            ('A', Flags::AE),
        ] {
            if packet.has(letter) != flags.contains(flag) {
                return mismatch("flags");
            }
        }
        if u64::from(packet.seq) != segment.seq.wrapping_add(u64::from(!syn)) {
            return mismatch("sequence number");
        }
        if (packet.len == 0) != (segment.len == 0) {
            return mismatch("length");
        }
        if let Some(ack) = packet.ack
            && u64::from(ack) != segment.ack + 1
        {
            return mismatch("acknowledgement");
        }
        let ecn = (flags.contains(Flags::ECT_0), flags.contains(Flags::ECT_1));
        let matches = match packet.ecn.as_deref() {
            Some("ect0") => ecn == (true, false),
            Some("ect1") => ecn == (false, true),
            Some("ce") => ecn == (true, true),
            Some("noecn") => ecn == (false, false),
            _ => true,
        };
        if !matches {
            return mismatch("ECN field");
        }
        if let Some(win) = packet.win {
            let shift = if syn { 0 } else { 8 };
            if u64::from(win) != u64::from(segment.window) >> shift {
                return mismatch(&format!("window {}", segment.window));
            }
        }
        if packet.any_options || flags.contains(Flags::RST) {
            return Ok(());
        }
        if syn {
            if packet.mss.is_some_and(|mss| mss != segment.mss) {
                return mismatch(&format!("segment size {}", segment.mss));
            }
            if packet.sack_permitted != flags.contains(Flags::SACK_PERMITTED)
                || packet.wscale.is_some() != flags.contains(Flags::WINDOW_SCALE)
            {
                return mismatch("options");
            }
        }
        if packet.timestamps.is_some() != flags.contains(Flags::TIMESTAMPS) {
            return mismatch("timestamps");
        }
        if let Some((value, echo)) = packet.timestamps {
            self.clock.get_or_insert((value, segment.timestamp));
            if echo != segment.echo {
                return mismatch(&format!("echo {}", segment.echo));
            }
        }
        let ranges: Vec<(u64, u64)> = segment.sack_ranges().map(|(s, e)| (s + 1, e + 1)).collect();
        let wanted: Vec<(u64, u64)> =
            packet.sack.iter().map(|&(s, e)| (u64::from(s), u64::from(e))).collect();
        if ranges != wanted {
            return mismatch(&format!("SACK {ranges:?}"));
        }
        Ok(())
    }
}

/// An expected packet, to be read.
fn words(packet: &Packet) -> String {
    let end = packet.seq + packet.len;
    let mut text = format!("{} {}:{end}({})", packet.flags, packet.seq, packet.len);
    if let Some(ack) = packet.ack {
        text += &format!(" ack {ack}");
    }
    text
}

/// A segment in the same words.
fn shown(segment: &Segment) -> String {
    let syn = segment.flags.contains(Flags::SYN);
    let mut flags = String::new();
    for (flag, letter) in [
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'W'),
        (Flags::AE, 'A'),
        (Flags::ACK, '.'),
    ] {
        if segment.flags.contains(flag) {
            flags.push(letter);
        }
    }
    let seq = segment.seq.wrapping_add(u64::from(!syn));
    let end = seq.wrapping_add(u64::from(segment.len));
    format!("{flags} {seq}:{end}({}) ack {}", segment.len, segment.ack + 1)
}
