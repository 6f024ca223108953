use flashcrowd_base::Time;
use std::collections::BTreeMap;

/// A table of results: named columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the rows are.
    pub name: &'static str,
    /// The columns, in a fixed order.
    pub columns: Vec<(&'static str, Column)>,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Real numbers.
    F64(Vec<f64>),
    /// Real numbers, some of which do not exist.
    MaybeF64(Vec<Option<f64>>),
    /// Counts.
    U64(Vec<u64>),
    /// Counts, some of which do not exist.
    MaybeU64(Vec<Option<u64>>),
    /// Indices and small counts.
    U32(Vec<u32>),
    /// Names: codes into a dictionary.
    Text(Vec<u32>, Vec<String>),
    /// Bytes: all of them one behind the other, and where those of each row end.
    Bytes(Vec<u8>, Vec<u64>),
    /// Names, some of which do not exist.
    MaybeText(Vec<Option<u32>>, Vec<String>),
}

impl Column {
    /// A column of one name.
    pub fn text(value: &str) -> Column {
        Column::Text(vec![0], vec![value.to_owned()])
    }
    /// Adds the rows of another column of the same type.
    fn append(&mut self, other: Column) {
        match (self, other) {
            (Column::F64(rows), Column::F64(more)) => rows.extend(more),
            (Column::MaybeF64(rows), Column::MaybeF64(more)) => rows.extend(more),
            (Column::U64(rows), Column::U64(more)) => rows.extend(more),
            (Column::MaybeU64(rows), Column::MaybeU64(more)) => rows.extend(more),
            (Column::U32(rows), Column::U32(more)) => rows.extend(more),
            (Column::Text(rows, names), Column::Text(more, others)) => {
                // The names of this side keep their codes, and none is listed twice.
                let mut codes: BTreeMap<String, u32> =
                    (0..).zip(names.iter()).map(|(code, name)| (name.clone(), code)).collect();
                let code = |name: String| {
                    *codes.entry(name).or_insert_with_key(|name| {
                        names.push(name.clone());
                        names.len() as u32 - 1
                    })
                };
                let translated: Vec<u32> = others.into_iter().map(code).collect();
                rows.extend(more.into_iter().map(|old| translated[old as usize]));
            }
            (column, more) => debug_assert!(more.is_empty(), "{column:?} and {more:?}"),
        }
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::F64(values) => values.len(),
            Column::MaybeF64(values) => values.len(),
            Column::U64(values) | Column::Bytes(_, values) => values.len(),
            Column::MaybeU64(values) => values.len(),
            Column::MaybeText(codes, _) => codes.len(),
            Column::U32(values) | Column::Text(values, _) => values.len(),
        }
    }
    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }
    /// Adds the rows of another table with the same columns.
    pub fn append(&mut self, other: Table) {
        for ((name, column), (other_name, rows)) in self.columns.iter_mut().zip(other.columns) {
            debug_assert_eq!(*name, other_name);
            column.append(rows);
        }
    }
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(column, _)| *column == name).map(|(_, column)| column)
    }
}

/// A text column in the making.
#[derive(Default)]
pub struct Names {
    codes: Vec<u32>,
    names: Vec<String>,
    code_of: BTreeMap<String, u32>,
}

impl Names {
    /// Adds a name.
    pub fn push(&mut self, name: &str) {
        let code = self.code(name);
        self.codes.push(code);
    }
    /// The code of a name.
    fn code(&mut self, name: &str) -> u32 {
        self.code_of.get(name).copied().unwrap_or_else(|| {
            let code = self.names.len() as u32;
            self.names.push(name.to_owned());
            self.code_of.insert(name.to_owned(), code);
            code
        })
    }
    /// The column.
    pub fn column(self) -> Column {
        Column::Text(self.codes, self.names)
    }
}

/// A column of names.
pub fn names<'a>(values: impl Iterator<Item = &'a str>) -> Column {
    let mut names = Names::default();
    values.for_each(|value| names.push(value));
    names.column()
}
/// A column of names, some of which do not exist.
pub fn maybe_names<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Column {
    let mut names = Names::default();
    let codes = values.map(|value| value.map(|name| names.code(name))).collect();
    Column::MaybeText(codes, names.names)
}
/// An instant as tables have it, if there is one.
pub fn seconds(time: Option<Time>) -> Option<f64> {
    time.map(Time::seconds)
}
