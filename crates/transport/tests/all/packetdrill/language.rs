//! The part of packetdrill's language that is understood: what a script says, event by event.

use flashcrowd_base::Span;

/// What stands between two events, and how long the second may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct When {
    /// After the event before (`+`), or after the beginning.
    pub relative: bool,
    /// Any time (`*`).
    pub any: bool,
    pub at: Span,
    /// The end of a blocking call, or of the time in which a packet may be sent, likewise.
    pub until: Option<Span>,
}

/// A TCP packet as it is written: numbers relative to those of the SYNs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Packet {
    /// `ect0`, `ect1`, `ce`, `noecn`, if it says.
    pub ecn: Option<String>,
    /// The letters of the flags.
    pub flags: String,
    pub seq: u32,
    pub len: u32,
    pub ack: Option<u32>,
    pub win: Option<u32>,
    pub mss: Option<u16>,
    pub wscale: Option<u32>,
    pub sack_permitted: bool,
    /// Value and echo.
    pub timestamps: Option<(u32, u32)>,
    pub sack: Vec<(u32, u32)>,
    /// `<...>`: whatever options.
    pub any_options: bool,
}

impl Packet {
    pub(crate) fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Inject(Packet),
    Expect(Packet),
    /// Name, arguments, result, and the name of the error if it has one.
    Call {
        name: String,
        arguments: Vec<String>,
        result: i64,
        error: Option<String>,
    },
    /// A shell command.
    Shell(String),
    /// Python, of which assertions are understood.
    Code(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub line: usize,
    pub when: When,
    pub what: What,
}

/// A script: its command-line options, and its events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub options: Vec<(String, String)>,
    pub events: Vec<Event>,
}

/// What this file does not understand.
#[derive(Clone, Debug)]
pub(crate) struct NotUnderstood {
    pub line: usize,
    pub what: String,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
    fn line(&self) -> usize {
        1 + self.text[..self.at].matches('\n').count()
    }
    fn error<T>(&self, what: impl Into<String>) -> Result<T, NotUnderstood> {
        Err(NotUnderstood { line: self.line(), what: what.into() })
    }
    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") || trimmed.starts_with('#') {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                self.at += trimmed.find("*/").map_or(trimmed.len(), |end| end + 2);
            } else {
                return;
            }
        }
    }
    /// The text before `end`, which is skipped too.
    fn until(&mut self, end: &str) -> Result<&'a str, NotUnderstood> {
        let rest = self.rest();
        let Some(length) = rest.find(end) else { return self.error(format!("no {end} follows")) };
        self.at += length + end.len();
        Ok(&rest[..length])
    }
    fn word(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
    fn blanks(&mut self) {
        self.word(|c| c == ' ' || c == '\t');
    }

    fn time(&mut self) -> Result<Span, NotUnderstood> {
        // The dots of a range are not part of the number.
        let rest = self.rest();
        let length = rest
            .char_indices()
            .find(|(i, c)| !(c.is_ascii_digit() || *c == '.') || rest[*i..].starts_with("..."))
            .map_or(rest.len(), |(i, _)| i);
        self.at += length;
        match rest[..length].parse::<f64>() {
            Ok(seconds) => Ok(Span::from_seconds(seconds)),
            Err(_) => self.error(format!("a time: {}", rest.lines().next().unwrap_or(""))),
        }
    }

    fn when(&mut self) -> Result<When, NotUnderstood> {
        if self.rest().starts_with('*') {
            self.at += 1;
            return Ok(When { relative: true, any: true, at: Span::ZERO, until: None });
        }
        let relative = self.rest().starts_with('+');
        self.at += usize::from(relative);
        let at = self.time()?;
        self.blanks();
        let mut until = None;
        if self.rest().starts_with("...") {
            self.at += 3;
            self.blanks();
            until = Some(self.time()?);
        } else if self.rest().starts_with('~') {
            self.at += 1;
            self.blanks();
            self.at += usize::from(self.rest().starts_with('+'));
            until = Some(self.time()?);
        }
        Ok(When { relative, any: false, at, until })
    }

    fn call(&mut self) -> Result<What, NotUnderstood> {
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_').to_string();
        self.blanks();
        if name.is_empty() || !self.rest().starts_with('(') {
            return self.error(format!("{name}{}", self.rest().lines().next().unwrap_or("")));
        }
        let mut depth = 0;
        let mut end = 0;
        for (i, c) in self.rest().char_indices() {
            match c {
                '(' | '{' | '[' => depth += 1,
                ')' | '}' | ']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                end = i;
                break;
            }
        }
        let inside = &self.rest()[1..end];
        self.at += end + 1;
        let mut arguments = vec![String::new()];
        let mut depth = 0;
        for c in inside.chars() {
            depth += i32::from("({[".contains(c)) - i32::from(")}]".contains(c));
            match (c, depth) {
                (',', 0) => arguments.push(String::new()),
                _ => arguments.last_mut().expect("one").push(c),
            }
        }
        let arguments = arguments.iter().map(|a| a.trim().to_string()).collect();
        self.space();
        if !self.rest().starts_with('=') {
            return self.error(format!("no result of {name}"));
        }
        self.at += 1;
        self.blanks();
        let result = self.word(|c| c.is_ascii_alphanumeric() || c == '-');
        let result = match result.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => result.parse().ok(),
        };
        let Some(result) = result else { return self.error(format!("the result of {name}")) };
        self.blanks();
        let error = self.word(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        let error = (!error.is_empty()).then(|| error.to_string());
        self.blanks();
        if self.rest().starts_with('(') {
            self.until(")")?;
        }
        Ok(What::Call { name, arguments, result, error })
    }

    fn packet(&mut self) -> Result<Packet, NotUnderstood> {
        let rest = self.rest();
        let line = rest.lines().next().unwrap_or("");
        let text = line.split("//").next().unwrap_or("");
        let result = parse_packet(text);
        self.at += line.len();
        result.or_else(|what| self.error(format!("{what}: {}", text.trim())))
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.trim_end_matches(',').parse().map_err(|_| format!("a number, {text}"))
}

fn parse_packet(text: &str) -> Result<Packet, String> {
    let mut packet = Packet::default();
    let mut text = text.trim();
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, rest) = rest.split_once(']').ok_or("no ] follows")?;
        for part in inside.split(',') {
            match part.trim() {
                part @ ("ect0" | "ect1" | "ce" | "noecn" | "ect01") => {
                    packet.ecn = Some(part.into())
                }
                other => return Err(format!("[{other}]")),
            }
        }
        text = rest.trim();
    }
    if let Some((before, options)) = text.split_once('<') {
        let options = options.trim().strip_suffix('>').ok_or("no > follows")?;
        parse_options(options, &mut packet)?;
        text = before.trim();
    }
    let mut words = text.split_whitespace();
    packet.flags = words.next().ok_or("no flags")?.to_string();
    if packet.flags.chars().any(|c| !"SFRP.EWA".contains(c)) {
        return Err(format!("a packet that is not TCP, or flags {}", packet.flags));
    }
    let place = words.next().ok_or("no sequence numbers")?;
    let (range, len) = place.trim_end_matches(')').split_once('(').ok_or("no length")?;
    packet.seq = number(range.split(':').next().unwrap_or(""))?;
    packet.len = number(len)?;
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("no value of {word}")).and_then(number);
        match word {
            "ack" => packet.ack = Some(value()?),
            "win" => packet.win = Some(value()?),
            other => return Err(other.to_string()),
        }
    }
    Ok(packet)
}

fn parse_options(options: &str, packet: &mut Packet) -> Result<(), String> {
    if options.trim() == "..." {
        packet.any_options = true;
        return Ok(());
    }
    for option in options.split(',') {
        let words: Vec<&str> = option.split_whitespace().collect();
        match words[..] {
            ["nop" | "eol"] => {}
            // Byte counters of RFC 9768, which an end may leave out and ignore.
            ["ECN", ..] => {}
            ["sackOK"] => packet.sack_permitted = true,
            ["mss", value] => packet.mss = Some(number(value)? as u16),
            ["wscale", value] => packet.wscale = Some(number(value)?),
            ["TS", "val", value, "ecr", echo] => {
                packet.timestamps = Some((number(value)?, number(echo)?));
            }
            ["sack", ref ranges @ ..] => {
                for range in ranges {
                    let (start, end) = range.split_once(':').ok_or("a SACK range")?;
                    packet.sack.push((number(start)?, number(end)?));
                }
            }
            _ => return Err(format!("option {}", option.trim())),
        }
    }
    Ok(())
}

pub(crate) fn parse(text: &str) -> Result<Script, NotUnderstood> {
    let mut script = Script::default();
    let mut reader = Reader { text, at: 0 };
    let now = When { relative: true, any: false, at: Span::ZERO, until: None };
    loop {
        reader.space();
        let line = reader.line();
        let rest = reader.rest();
        if rest.is_empty() {
            return Ok(script);
        }
        if rest.starts_with("--") {
            let option = reader.word(|c| !c.is_whitespace());
            let (name, value) = option[2..].split_once('=').unwrap_or((&option[2..], ""));
            script.options.push((name.into(), value.into()));
            continue;
        }
        let when =
            if rest.starts_with('`') || rest.starts_with("%{") { now } else { reader.when()? };
        reader.space();
        let rest = reader.rest();
        let what = if rest.starts_with('`') {
            reader.at += 1;
            What::Shell(reader.until("`")?.into())
        } else if rest.starts_with("%{") {
            reader.at += 2;
            What::Code(reader.until("}%")?.into())
        } else if rest.starts_with('<') {
            reader.at += 1;
            What::Inject(reader.packet()?)
        } else if rest.starts_with('>') {
            reader.at += 1;
            What::Expect(reader.packet()?)
        } else {
            reader.call()?
        };
        script.events.push(Event { line, when, what });
    }
}
