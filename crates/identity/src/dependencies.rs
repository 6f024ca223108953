//! Which crates and libraries an engine is made of, from the manifests and the lock file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use toml::{Table, Value};

use crate::{Error, Needed};

/// Libraries of the engines that carry text, errors or hints to the processor: no number comes
/// from them. A library that is not listed counts, so that a new one cannot be forgotten.
pub const WITHOUT_EFFECT: [&str; 4] = ["prefetch-index", "serde", "serde_json", "thiserror"];

const PREFIX: &str = "flashcrowd-";

/// The folder in `crates/` of a crate of the workspace.
pub(crate) fn folder(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// The crates that the engines need, themselves included. Dependencies of tests and benches do not
/// count.
pub(crate) fn of(workspace: &Path, engines: &[&str]) -> Result<Needed, Error> {
    let mut members = BTreeSet::new();
    let mut outside = BTreeSet::new();
    let mut waiting: Vec<String> = engines.iter().map(|&name| name.to_owned()).collect();
    while let Some(name) = waiting.pop() {
        if members.insert(name.clone()) {
            let manifest = workspace.join("crates").join(folder(&name)).join("Cargo.toml");
            for dependency in direct(&read(&manifest)?) {
                if dependency.starts_with(PREFIX) {
                    waiting.push(dependency);
                } else if !WITHOUT_EFFECT.contains(&dependency.as_str()) {
                    outside.insert(dependency);
                }
            }
        }
    }
    let libraries = locked(&workspace.join("Cargo.lock"), outside)?;
    Ok(Needed { members, libraries })
}

/// Names in `dependencies` and `target.*.dependencies` of a manifest, renamed ones by their package.
fn direct(manifest: &Table) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let sections =
        targets.into_iter().flat_map(|targets| targets.values().filter_map(Value::as_table));
    std::iter::once(manifest)
        .chain(sections)
        .filter_map(|section| section.get("dependencies").and_then(Value::as_table))
        .flatten()
        .map(|(name, value)| {
            let package = value.get("package").and_then(Value::as_str);
            package.unwrap_or(name).to_owned()
        })
        .collect()
}

/// The locked libraries and all that they need, each as `name version checksum`.
fn locked(path: &Path, wanted: BTreeSet<String>) -> Result<BTreeSet<String>, Error> {
    let lock = read(path)?;
    let mut packages: BTreeMap<&str, Vec<&Table>> = BTreeMap::new();
    for package in lock.get("package").and_then(Value::as_array).into_iter().flatten() {
        let Some(package) = package.as_table() else { continue };
        packages.entry(text(package, "name")).or_default().push(package);
    }
    let mut found = BTreeSet::new();
    let mut waiting: Vec<String> = wanted.into_iter().collect();
    while let Some(dependency) = waiting.pop() {
        // A dependency is locked by name, and by version where there are several of the name.
        let (name, version) = dependency.split_once(' ').unwrap_or((&dependency, ""));
        if WITHOUT_EFFECT.contains(&name) {
            continue;
        }
        let named = packages.get(name).ok_or_else(|| Error::new(path, format!("lacks {name}")))?;
        for package in named {
            let its = text(package, "version");
            if !version.is_empty() && version.split(' ').next() != Some(its) {
                continue;
            }
            if found.insert(format!("{name} {its} {}", text(package, "checksum"))) {
                let needs = package.get("dependencies").and_then(Value::as_array);
                waiting.extend(
                    needs.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned),
                );
            }
        }
    }
    Ok(found)
}

fn text<'a>(table: &'a Table, key: &str) -> &'a str {
    table.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn read(path: &Path) -> Result<Table, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::new(path, error))?;
    text.parse().map_err(|error| Error::new(path, error))
}
