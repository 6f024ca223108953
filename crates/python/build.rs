//! What the module says of itself: the compiler, the commit, and the identity of its engines.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An engine, and what decides its results. A change of one engine leaves the results of the others as they are.
struct Engine {
    /// The variable that has its identity.
    variable: &'static str,
    /// Its crates; what they need is found from their manifests.
    crates: &'static [&'static str],
    /// Modules of this crate: what its Python programs call to have something decided.
    modules: &'static [&'static str],
}

/// Of the emulation, `live`, `client` and the content server are programs that it measures, and `workload` has its
/// rules; the content server is the loopback's, too, whose rules are those of the simulation.
const ENGINES: [Engine; 3] = [
    Engine { variable: "FLASHCROWD_ENGINE", crates: &["flashcrowd-sim"], modules: &[] },
    Engine {
        variable: "FLASHCROWD_EMULATION",
        crates: &[
            "flashcrowd-emulation",
            "flashcrowd-workload",
            "flashcrowd-live",
            "flashcrowd-client",
            "flashcrowd-server",
        ],
        modules: &[
            "content_server",
            "division",
            "emulation",
            "rules",
            "torrent_client",
            "upload",
            "utp",
        ],
    },
    Engine {
        variable: "FLASHCROWD_SERVER",
        crates: &["flashcrowd-server"],
        modules: &["content_server", "rules"],
    },
];

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = here.parent().expect("the crate lies in crates/");

    let root = crates.parent().expect("the workspace has a root");
    let target = std::env::var("TARGET").expect("cargo sets it");
    let own = std::env::var("CARGO_PKG_NAME").expect("cargo sets it");
    for Engine { variable, crates, modules } in ENGINES {
        let modules: Vec<(&str, &str)> = modules.iter().map(|name| (own.as_str(), *name)).collect();
        let identity = flashcrowd_identity::identity(root, crates, &modules, &target)
            .unwrap_or_else(|error| panic!("the identity of {crates:?}: {error}"));
        println!("cargo:rustc-env={variable}={identity}");
    }

    println!("cargo:rerun-if-changed={}", crates.display());
    println!("cargo:rerun-if-changed={}", root.join("Cargo.lock").display());
    println!("cargo:rustc-env=FLASHCROWD_COMMIT={}", commit(crates).unwrap_or_default());
    println!("cargo:rustc-env=FLASHCROWD_RUSTC={}", rustc().unwrap_or_default());
    println!("cargo:rustc-env=FLASHCROWD_PROFILE={}", profile());
    println!("cargo:rerun-if-changed=build.rs");
}

/// The commit checked out, with a `+` if tracked files differ from it. None outside a repository.
fn commit(crates: &Path) -> Option<String> {
    let root = crates.parent()?;
    if !root.join(".git").exists() {
        return None; // A source package inside of another repository.
    }
    for file in [".git/HEAD", ".git/logs/HEAD"] {
        if root.join(file).exists() {
            println!("cargo:rerun-if-changed={}", root.join(file).display());
        }
    }
    let head = run(Command::new("git").current_dir(root).args(["rev-parse", "HEAD"]))?;
    let dirty = run(Command::new("git").current_dir(root).args([
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        "crates",
    ]))?;
    Some(if dirty.is_empty() { head } else { format!("{head}+") })
}

fn rustc() -> Option<String> {
    let rustc = std::env::var_os("RUSTC")?;
    let line = run(Command::new(rustc).arg("--version"))?;
    line.split_whitespace().nth(1).map(str::to_owned)
}

/// Cargo tells a build script only whether it is like `release`.
fn profile() -> String {
    std::env::var("PROFILE").unwrap_or_default()
}

fn run(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
