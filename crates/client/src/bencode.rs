//! Bencoding (BEP 3): what torrents and trackers say. Trusts no sender: depth and length are bounded, and a value ends
//! where its text ends.

use std::ops::Range;
use thiserror::Error;

/// A value. Strings are bytes of the text that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Integer(i64),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Values in a row.
    List(Vec<Value<'a>>),
    /// Values by key, in the order of the text, and where in the text each value is.
    Dictionary(Vec<(&'a [u8], Value<'a>, Range<usize>)>),
}

/// Why a text is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no bencoding at byte {at}: {why}")]
pub struct Malformed {
    /// Where.
    pub at: usize,
    /// The mistake there.
    pub why: &'static str,
}

/// Lists and dictionaries within each other at most: a torrent has four.
const DEEPEST: u32 = 16;

impl<'a> Value<'a> {
    /// The value that the whole text is.
    ///
    /// # Errors
    /// It is none, or something follows it.
    pub fn parse(text: &'a [u8]) -> Result<Value<'a>, Malformed> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        if reader.at < text.len() {
            return Err(reader.wrong("something follows the value"));
        }
        Ok(value)
    }
    /// The value of a key in a dictionary.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        let Value::Dictionary(entries) = self else { return None };
        entries.iter().find(|(name, ..)| *name == key.as_bytes()).map(|(_, value, _)| value)
    }
    /// Where in the text a dictionary has it.
    pub fn place(&self, key: &str) -> Option<Range<usize>> {
        let Value::Dictionary(entries) = self else { return None };
        entries.iter().find(|(name, ..)| *name == key.as_bytes()).map(|(.., place)| place.clone())
    }
    /// The bytes, if it is some.
    pub fn bytes(&self) -> Option<&'a [u8]> {
        if let Value::Bytes(bytes) = self { Some(bytes) } else { None }
    }
    /// The text, if it is some in UTF-8.
    pub fn text(&self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }
    /// The number, if it is one that is not negative.
    pub fn number(&self) -> Option<u64> {
        if let Value::Integer(number) = self { u64::try_from(*number).ok() } else { None }
    }
    /// The values, if it is a list.
    pub fn list(&self) -> Option<&[Value<'a>]> {
        if let Value::List(values) = self { Some(values) } else { None }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self, why: &'static str) -> Malformed {
        Malformed { at: self.at, why }
    }
    fn next(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
    fn value(&mut self, depth: u32) -> Result<Value<'a>, Malformed> {
        if depth > DEEPEST {
            return Err(self.wrong("lists within lists, too many"));
        }
        match self.next() {
            Some(b'i') => {
                self.at += 1;
                let digits = self.until(b'e')?;
                Ok(Value::Integer(self.integer(digits)?))
            }
            Some(b'l') => {
                self.at += 1;
                let mut values = Vec::new();
                while !self.ends()? {
                    values.push(self.value(depth + 1)?);
                }
                Ok(Value::List(values))
            }
            Some(b'd') => {
                self.at += 1;
                let mut entries = Vec::new();
                while !self.ends()? {
                    let key = self.string()?;
                    let start = self.at;
                    let value = self.value(depth + 1)?;
                    entries.push((key, value, start..self.at));
                }
                Ok(Value::Dictionary(entries))
            }
            Some(b'0'..=b'9') => Ok(Value::Bytes(self.string()?)),
            _ => Err(self.wrong("no value begins like this")),
        }
    }
    /// Whether a list ends here, which is passed then.
    fn ends(&mut self) -> Result<bool, Malformed> {
        let next = self.next().ok_or_else(|| self.wrong("the text ends before the value"))?;
        self.at += usize::from(next == b'e');
        Ok(next == b'e')
    }
    /// The bytes before this one, which is passed, too: of a number, which is short.
    fn until(&mut self, end: u8) -> Result<&'a [u8], Malformed> {
        const LONGEST: usize = 20;
        let rest = &self.text[self.at..];
        let short = &rest[..rest.len().min(LONGEST + 1)];
        let length = short.iter().position(|byte| *byte == end);
        let length = length.ok_or_else(|| self.wrong("a number without an end"))?;
        self.at += length + 1;
        Ok(&rest[..length])
    }
    fn integer(&self, digits: &[u8]) -> Result<i64, Malformed> {
        let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'));
        text.and_then(|text| text.parse().ok()).ok_or_else(|| self.wrong("no number"))
    }
    fn string(&mut self) -> Result<&'a [u8], Malformed> {
        if !self.next().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.wrong("a string begins with its length"));
        }
        let digits = self.until(b':')?;
        let length = usize::try_from(self.integer(digits)?).ok();
        let end = length.and_then(|length| self.at.checked_add(length));
        let found = end.and_then(|end| Some((self.text.get(self.at..end)?, end)));
        let (bytes, end) = found.ok_or_else(|| self.wrong("the text ends before the string"))?;
        self.at = end;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_of_each_kind() {
        let text = b"d1:ali-3ei0e4:spame1:bd2:hi3:youee";
        let value = Value::parse(text).unwrap();
        let list = value.get("a").and_then(Value::list).unwrap();
        assert_eq!(list, [Value::Integer(-3), Value::Integer(0), Value::Bytes(b"spam")]);
        assert_eq!(
            (list[0].number(), list[1].number(), list[2].text()),
            (None, Some(0), Some("spam"))
        );
        assert_eq!(&text[value.place("b").unwrap()], b"d2:hi3:youe");
        assert_eq!(
            value.get("b").and_then(|b| b.get("hi")).and_then(Value::bytes),
            Some(&b"you"[..])
        );
        assert_eq!((value.get("c"), value.bytes(), value.number()), (None, None, None));
    }

    #[test]
    fn texts_that_are_no_value() {
        let deep = [b"l".repeat(40), b"e".repeat(40)].concat();
        let texts: [&[u8]; 14] = [
            b"",
            b"i",
            b"ie",
            b"i+3e",
            b"i3",
            b"i99999999999999999999e",
            b"5:spam",
            b"-1:a",
            b"l",
            b"di1ei2ee",
            b"d1:a",
            b"i1ei2e",
            b"99999999999999999999:a",
            &deep,
        ];
        for text in texts {
            assert!(Value::parse(text).is_err(), "{}", text.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_value_or_an_error(
            bytes in prop::collection::vec(prop::sample::select(b"0123ildei:e-a".to_vec()), 0..60),
        ) {
            let _ = Value::parse(&bytes);
        }
    }
}
