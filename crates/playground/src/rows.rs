//! Tables as JSON: columns of numbers, texts and nulls.

use flashcrowd_sim::{Column, Table};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// The rows of a table from one on.
#[derive(Serialize)]
pub(crate) struct Part<'a> {
    pub(crate) from: usize,
    pub(crate) columns: Columns<'a>,
}

/// The columns of a table, by name in their order, from a row on.
pub(crate) struct Columns<'a> {
    pub(crate) table: &'a Table,
    pub(crate) from: usize,
}

impl Serialize for Columns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.table.columns.len()))?;
        for (name, column) in &self.table.columns {
            map.serialize_entry(name, &Values { column, from: self.from })?;
        }
        map.end()
    }
}

/// The values of a column from a row on.
struct Values<'a> {
    column: &'a Column,
    from: usize,
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let from = self.from;
        match self.column {
            Column::F64(values) => values[from..].serialize(serializer),
            Column::MaybeF64(values) => values[from..].serialize(serializer),
            Column::U64(values) => values[from..].serialize(serializer),
            Column::MaybeU64(values) => values[from..].serialize(serializer),
            Column::U32(values) => values[from..].serialize(serializer),
            Column::Text(codes, names) => {
                let mut row = serializer.serialize_seq(Some(codes.len() - from))?;
                for code in &codes[from..] {
                    row.serialize_element(&names[*code as usize])?;
                }
                row.end()
            }
            Column::MaybeText(codes, names) => {
                let mut row = serializer.serialize_seq(Some(codes.len() - from))?;
                for code in &codes[from..] {
                    row.serialize_element(&code.map(|code| &names[code as usize]))?;
                }
                row.end()
            }
            // Captured packets: how long each is. No scene captures any.
            Column::Bytes(_, ends) => {
                let begins = std::iter::once(&0).chain(ends);
                let lengths: Vec<u64> =
                    ends.iter().zip(begins).map(|(end, begin)| end - begin).collect();
                lengths[from..].serialize(serializer)
            }
        }
    }
}
