//! The tables of settings that a study names, with the meaning, the bounds and the defaults of their fields.

use flashcrowd_base::Refusal;
use flashcrowd_link::{Cake, Choke, CoDel, Drr, FqCoDel, Pie, Queue, Red, Sfq};
use flashcrowd_swarm::profile::Profile;
use flashcrowd_transport::congestion::Ledbat;
use flashcrowd_transport::{tcp, utp};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The JSON Schemas of tables, by name, as references to `$defs`; those that need no base have a `default`.
pub fn settings_schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let mut tables = Map::new();
    let mut table = |name: &str, schema: schemars::Schema, default: Option<Value>| {
        let mut schema = Value::from(schema);
        if let Some(default) = default {
            schema["default"] = default;
        }
        tables.insert(name.to_owned(), schema);
    };
    table("ledbat", generator.subschema_for::<Ledbat>(), None);
    table("stack", generator.subschema_for::<tcp::Config>(), None);
    table("utp", generator.subschema_for::<utp::Config>(), None);
    table("profile", generator.subschema_for::<Profile>(), None);
    fn discipline<T: JsonSchema + Default + Serialize>(
        generator: &mut SchemaGenerator,
    ) -> (schemars::Schema, Option<Value>) {
        (generator.subschema_for::<T>(), serde_json::to_value(T::default()).ok())
    }
    for (name, (schema, default)) in [
        ("codel", discipline::<CoDel>(&mut generator)),
        ("fq-codel", discipline::<FqCoDel>(&mut generator)),
        ("pie", discipline::<Pie>(&mut generator)),
        ("red", discipline::<Red>(&mut generator)),
        ("choke", discipline::<Choke>(&mut generator)),
        ("sfq", discipline::<Sfq>(&mut generator)),
        ("drr", discipline::<Drr>(&mut generator)),
        ("cake", discipline::<Cake>(&mut generator)),
    ] {
        table(name, schema, default);
    }
    json!({ "tables": tables, "$defs": generator.take_definitions(true) })
}

/// Refuses a table whose values contradict each other.
///
/// # Errors
/// The text is no such table, or else the first contradiction.
pub fn check_settings(table: &str, text: &str) -> Result<Result<(), Refusal>, serde_json::Error> {
    Ok(match table {
        "ledbat" => serde_json::from_str::<Ledbat>(text)?.check(),
        "stack" => serde_json::from_str::<tcp::Config>(text)?.check(),
        "utp" => serde_json::from_str::<utp::Config>(text)?.check(),
        "profile" => serde_json::from_str::<Profile>(text)?.check(),
        _ => serde_json::from_str::<Queue>(text)?.check(),
    })
}
