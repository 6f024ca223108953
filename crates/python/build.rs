//! What the module says of itself: the compiler, the commit, and a digest of the sources that
//! decide results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates whose sources do not change a result.
const WITHOUT_EFFECT: [&str; 3] = ["live", "oracle", "python"];

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = here.parent().expect("the crate lies in crates/");

    println!("cargo:rustc-env=FLASHCROWD_ENGINE={}", engine_digest(crates));
    println!("cargo:rustc-env=FLASHCROWD_COMMIT={}", commit(crates).unwrap_or_default());
    println!("cargo:rustc-env=FLASHCROWD_RUSTC={}", rustc().unwrap_or_default());
    println!("cargo:rustc-env=FLASHCROWD_PROFILE={}", profile());
    println!("cargo:rerun-if-changed=build.rs");
}

/// Digest of all Rust sources behind the module, independent of where they lie.
fn engine_digest(crates: &Path) -> String {
    let mut files = Vec::new();
    for entry in sorted(crates) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !WITHOUT_EFFECT.contains(&name.as_str()) {
            collect(&entry.join("src"), &mut files);
        }
    }
    let mut digest = Fnv::default();
    for file in &files {
        let relative = file.strip_prefix(crates).expect("collected below it");
        digest.eat(relative.to_string_lossy().replace('\\', "/").as_bytes());
        digest.eat(&fs::read(file).unwrap_or_default());
    }
    println!("cargo:rerun-if-changed={}", crates.display());
    format!("{:016x}", digest.0)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in sorted(folder) {
        if entry.is_dir() {
            collect(&entry, files);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            files.push(entry);
        }
    }
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// The commit checked out, with a `+` if tracked files differ from it. None outside a repository.
fn commit(crates: &Path) -> Option<String> {
    let root = crates.parent()?;
    if !root.join(".git").exists() {
        return None; // A source package inside of somebody else's repository.
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

/// Fowler, Noll and Vo's hash 1a, 64 bits, with each item closed by its length.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn eat(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
