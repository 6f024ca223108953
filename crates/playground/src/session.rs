use crate::rows::{Columns, Part};
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::Plan;
use flashcrowd_sim::{Column, Run, RunHandle, Table};
use serde::Serialize;
use std::collections::BTreeMap;

/// A run that pauses after each slice of virtual time.
pub struct Session {
    run: Run<'static>,
    handle: RunHandle,
    ended: bool,
    /// Of each live table, the rows that will not change any more and were handed out.
    settled: BTreeMap<&'static str, usize>,
}

/// A table that is handed out while the run goes on, and which of its rows may still change.
struct Live {
    table: &'static str,
    changes: Changes,
}

enum Changes {
    /// Rows are only added.
    None,
    /// Rows from the first one without this value on.
    From(&'static str),
    /// All rows.
    All,
}

const LIVE: [Live; 4] = [
    Live { table: "series", changes: Changes::None },
    Live { table: "have", changes: Changes::None },
    Live { table: "pings", changes: Changes::From("rtt_s") },
    Live { table: "downloads", changes: Changes::All },
];

/// Where a run is, and what was recorded since the slice before.
#[derive(Serialize)]
struct Slice<'a> {
    now_s: f64,
    progress: f64,
    ended: bool,
    tables: BTreeMap<&'static str, Part<'a>>,
}

impl Session {
    /// Begins a run of a plan (JSON). The plan stays in memory: a tab has an instance for each run.
    ///
    /// # Errors
    /// Why it is no plan, or contradicts itself, with the place.
    pub fn start(plan_json: &[u8], seed: u64) -> Result<Session, String> {
        let plan: Plan =
            serde_json::from_slice(plan_json).map_err(|error| format!("plan: {error}"))?;
        let handle = RunHandle::default();
        let plan: &'static Plan = Box::leak(Box::new(plan));
        let run = Run::start(plan, seed).map_err(|error| error.to_string())?;
        Ok(Session { run, handle, ended: false, settled: BTreeMap::new() })
    }

    /// Goes on for `seconds` simulated seconds, or to the end. The slice as JSON: `now_s`, `progress` (0 to
    /// 1), `ended`, and `tables`, of which each has the columns from the row `from` on.
    ///
    /// # Errors
    /// Why the run cannot go on.
    pub fn advance(&mut self, seconds: f64) -> Result<String, String> {
        if !self.ended {
            let until = self.run.now() + Span::from_seconds(seconds);
            self.ended =
                self.run.advance(until, &self.handle).map_err(|error| error.to_string())?;
        }
        let tables = self.run.tables();
        let mut parts = BTreeMap::new();
        for live in &LIVE {
            let Some(table) = tables.iter().find(|table| table.name == live.table) else {
                continue;
            };
            let from = self.settled.get(live.table).copied().unwrap_or(0);
            self.settled.insert(live.table, live.changes.settled(table, from));
            if table.rows() > from {
                parts.insert(live.table, Part { from, columns: Columns { table, from } });
            }
        }
        let progress = if self.ended { 1.0 } else { self.handle.progress() };
        let now_s = self.run.now().seconds();
        json(&Slice { now_s, progress, ended: self.ended, tables: parts })
    }

    /// All records so far, as JSON: the columns of each table by its name.
    ///
    /// # Errors
    /// None: numbers of tables are finite.
    pub fn tables(&self) -> Result<String, String> {
        let tables = self.run.tables();
        let columns: BTreeMap<&str, Columns<'_>> =
            tables.iter().map(|table| (table.name, Columns { table, from: 0 })).collect();
        json(&columns)
    }

    /// Where the run is.
    pub fn now(&self) -> Time {
        self.run.now()
    }
}

impl Changes {
    /// How many rows of a table will not change any more; the first `before` will not.
    fn settled(&self, table: &Table, before: usize) -> usize {
        match self {
            Changes::None => table.rows(),
            Changes::All => 0,
            Changes::From(column) => {
                let Some(Column::MaybeF64(values)) = table.column(column) else { return before };
                let open = values[before..].iter().position(Option::is_none);
                open.map_or(values.len(), |open| before + open)
            }
        }
    }
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}
