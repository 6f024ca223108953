//! The identity of an engine: a digest of what decides its numbers, and of nothing else.
//!
//! Results of two identities are never mixed. So the digest has to move with everything that can
//! change a number: the sources of the engine's crate and of all crates of the workspace that it
//! needs, the locked versions of the libraries that these need, and the target. It must not move
//! with what cannot: comments, documentation, formatting, tests, and libraries that only carry text. The
//! compiler's version is not part of it: arithmetic in Rust means the same in each.

mod dependencies;
mod fnv;
mod sources;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

pub use dependencies::WITHOUT_EFFECT;

/// A file that could not be read.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    reason: String,
}

impl Error {
    fn new(path: &Path, reason: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), reason: reason.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for Error {}

/// The identity of the engines in a workspace, as 16 hexadecimal digits.
///
/// `workspace` is the folder with `Cargo.lock` and `crates/`, where a crate named `flashcrowd-x`
/// lies in `crates/x`. `engines` are names of crates, such as `flashcrowd-sim`; what they need is
/// found from their manifests. `modules` count without what they need: pairs of a crate's name and the name
/// of a module in it, for the little of a large crate that decides results. `target` is the target triple.
///
/// # Errors
///
/// A manifest, the lock file or a source cannot be read.
pub fn identity(
    workspace: &Path,
    engines: &[&str],
    modules: &[(&str, &str)],
    target: &str,
) -> Result<String, Error> {
    let needed = dependencies::of(workspace, engines)?;
    let folder = |name| workspace.join("crates").join(dependencies::folder(name));
    let mut digest = fnv::Fnv::default();
    let mut eat = |name: &str, sources: Vec<(String, String)>| {
        digest.eat(name.as_bytes());
        for (path, tokens) in sources {
            digest.eat(path.as_bytes());
            digest.eat(tokens.as_bytes());
        }
    };
    for name in &needed.members {
        eat(name, sources::of(&folder(name))?);
    }
    for (name, module) in modules {
        eat(name, sources::of_module(&folder(name), module)?);
    }
    for library in &needed.libraries {
        digest.eat(library.as_bytes());
    }
    digest.eat(target.as_bytes());
    Ok(format!("{:016x}", digest.finish()))
}

/// The needs of an engine.
struct Needed {
    /// Crates of the workspace, by name.
    members: BTreeSet<String>,
    /// Locked libraries with versions and checksums, those without effect left out.
    libraries: BTreeSet<String>,
}
