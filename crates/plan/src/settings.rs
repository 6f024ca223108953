//! The tables of settings that a study names, with the meaning, the bounds and the defaults of their fields.

use flashcrowd_base::Refusal;
use flashcrowd_link::Queue;
use flashcrowd_origin::Scheduling;
use flashcrowd_origin::disk::Medium;
use flashcrowd_swarm::profile::Profile;
use flashcrowd_transport::congestion::Ledbat;
use flashcrowd_transport::{tcp, utp};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The JSON Schemas of tables, by name, with references to `$defs`. Under `kinds` the names of those that one of them is
/// chosen by: these need no base, and have a `default`.
pub fn settings_schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let mut tables = Map::new();
    let mut table = |name: &str, schema| tables.insert(name.to_owned(), Value::from(schema));
    table("ledbat", generator.subschema_for::<Ledbat>());
    table("stack", generator.subschema_for::<tcp::Config>());
    table("utp", generator.subschema_for::<utp::Config>());
    table("profile", generator.subschema_for::<Profile>());
    let kinds = json!({
        "queue": kinds::<Queue>(&mut generator, &mut tables),
        "policy": kinds::<Scheduling>(&mut generator, &mut tables),
        "disk": kinds::<Medium>(&mut generator, &mut tables),
    });
    json!({ "tables": tables, "kinds": kinds, "$defs": generator.take_definitions(true) })
}

/// Adds a table for each kind of an enumeration; their names, in order.
fn kinds<T: JsonSchema + Serialize + DeserializeOwned>(
    generator: &mut SchemaGenerator,
    tables: &mut Map<String, Value>,
) -> Vec<String> {
    let mut schema = Value::from(T::json_schema(generator));
    let variants = schema["oneOf"].as_array_mut().expect("an enumeration");
    let mut named = |variant: &mut Value| {
        let properties = variant["properties"].as_object_mut().expect("a table");
        let kind = properties.remove("kind").expect("it has a kind")["const"].take();
        let usual: T = serde_json::from_value(json!({ "kind": kind })).expect("all has defaults");
        variant["default"] = json!(usual);
        let name = kind.as_str().expect("a word").to_owned();
        tables.insert(name.clone(), variant.take());
        name
    };
    variants.iter_mut().map(&mut named).collect()
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
        "policy" => serde_json::from_str::<Scheduling>(text)?.check(),
        "disk" => serde_json::from_str::<Medium>(text)?.check(),
        _ => serde_json::from_str::<Queue>(text)?.check(),
    })
}
