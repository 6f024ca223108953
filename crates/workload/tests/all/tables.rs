use crate::{numbers, seconds, words};
use flashcrowd_base::Span;
use flashcrowd_plan::{Sampled, Series};
use flashcrowd_workload::{Column, Sample, Sampler, Table, maybe_names, names};
use proptest::prelude::*;

/// A column of each kind about these numbers.
fn table(rows: &[u32]) -> Table {
    let text: Vec<String> = rows.iter().map(|row| format!("row {row}")).collect();
    let some = |row: &u32| (*row > 2).then_some(*row);
    let real = |row: u32| f64::from(row) / 2.0;
    let columns = vec![
        ("real", Column::F64(rows.iter().map(|row| real(*row)).collect())),
        ("maybe real", Column::MaybeF64(rows.iter().map(|row| some(row).map(real)).collect())),
        ("count", Column::U64(rows.iter().map(|row| u64::from(*row)).collect())),
        (
            "maybe count",
            Column::MaybeU64(rows.iter().map(|row| some(row).map(u64::from)).collect()),
        ),
        ("index", Column::U32(rows.to_vec())),
        ("name", names(text.iter().map(String::as_str))),
    ];
    Table { name: "test", columns }
}

proptest! {
    /// Rows that follow one another are those of one table, whose names are listed once.
    #[test]
    fn two_tables_make_one(
        rows in prop::collection::vec(0_u32..6, 0..20),
        more in prop::collection::vec(0_u32..6, 0..20),
    ) {
        let mut both = table(&rows);
        both.append(table(&more));
        let whole = table(&[rows, more].concat());
        prop_assert!(whole.columns.iter().all(|(_, column)| column.len() == whole.rows()));
        prop_assert_eq!(both, whole);
    }
}

#[test]
fn each_kind_of_column_has_a_length() {
    let bytes = Column::Bytes(b"abc".to_vec(), vec![1, 3]);
    let names = maybe_names([Some("one"), None, Some("one")].into_iter());
    assert_eq!(names, Column::MaybeText(vec![Some(0), None, Some(0)], vec!["one".to_owned()]));
    assert_eq!([bytes.len(), names.len(), Column::text("x").len()], [2, 3, 1]);
    assert!(table(&[]).columns.iter().all(|(_, column)| column.is_empty()));
    assert!(!table(&[1]).columns.iter().any(|(_, column)| column.is_empty()));
    assert_eq!(Table { name: "none", columns: Vec::new() }.rows(), 0);
}

#[test]
fn a_series_has_levels_and_the_rates_of_counts_by_source() {
    let every_ns = Span::from_secs(2);
    let asked = [Sampled::Online, Sampled::Goodput, Sampled::LinkRate];
    let mut sampler = Sampler::new(&asked.map(|what| Series { what, every_ns }));
    assert_eq!((sampler.tasks(), sampler.task(1)), (3, (Sampled::Goodput, every_ns)));
    for (at, count) in [(0, 0), (2, 100), (4, 300)] {
        let now = seconds(at);
        sampler.record(now, 0, [(0, Sample::Level(at as f64))].into_iter());
        // The second flow begins later.
        let flows = [(0, Sample::Bytes(count)), (1, Sample::Bytes(2 * count))];
        sampler.record(now, 1, flows.into_iter().take(if at > 0 { 2 } else { 1 }));
        sampler.record(now, 2, [(7, Sample::Bits(count))].into_iter());
    }
    let table = sampler.table(|what, source| format!("{what:?} {source}"));
    let rows: Vec<(String, String, f64, f64)> = (0..table.rows())
        .map(|row| {
            let name = |column| words(&table, column)[row].to_owned();
            let number = |column| numbers(&table, column)[row];
            (name("what"), name("source"), number("t_s"), number("value"))
        })
        .collect();
    let row = |what: &str, source: &str, at, value| (what.to_owned(), source.to_owned(), at, value);
    let expected = [
        row("online", "Online 0", 0.0, 0.0),
        row("goodput", "Goodput 0", 0.0, 0.0),
        row("link-rate", "LinkRate 7", 0.0, 0.0),
        row("online", "Online 0", 2.0, 2.0),
        row("goodput", "Goodput 0", 2.0, 400.0),
        row("goodput", "Goodput 1", 2.0, 800.0),
        row("link-rate", "LinkRate 7", 2.0, 50.0),
        row("online", "Online 0", 4.0, 4.0),
        row("goodput", "Goodput 0", 4.0, 800.0),
        row("goodput", "Goodput 1", 4.0, 1600.0),
        row("link-rate", "LinkRate 7", 4.0, 100.0),
    ];
    assert_eq!(rows, expected);
}
