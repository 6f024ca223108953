//! What moves the identity of an engine, and what does not, on a small workspace and on our own.

use std::fs;
use std::path::{Path, PathBuf};

use flashcrowd_identity::identity;
use tempfile::TempDir;

const SIM: &str = "\
//! Documentation.
/// A constant.
pub const HALF: f64 = 0.5;
mod part;
pub mod nest {
    pub mod deep;
}
list! {
    /// A kind.
    KIND: 8;
    [#[doc = \"Another.\"] OTHER: 9]
}
#[cfg(test)]
mod tests {
    #[test]
    fn it_holds() { assert!(super::HALF < 1.0); }
}
";

const LOCK: &str = r#"
version = 4
[[package]]
name = "libm"
version = "0.2.15"
checksum = "aa"
[[package]]
name = "proptest"
version = "1.0.0"
checksum = "bb"
[[package]]
name = "rand_core"
version = "0.10.1"
checksum = "cc"
[[package]]
name = "rand_core"
version = "0.9.0"
checksum = "dd"
[[package]]
name = "rand_pcg"
version = "0.10.2"
checksum = "ee"
dependencies = ["rand_core 0.10.1"]
[[package]]
name = "serde"
version = "1.0.229"
checksum = "ff"
"#;

/// A workspace of an engine, one crate that it needs and one that it does not.
struct Workspace(TempDir);

impl Workspace {
    fn new() -> Self {
        let workspace = Self(TempDir::new().expect("a temporary folder"));
        workspace.write("Cargo.lock", LOCK);
        workspace.write(
            "crates/sim/Cargo.toml",
            "[dependencies]\nflashcrowd-base.workspace = true\n\
             flashcrowd-plan.workspace = true\nserde = \"1\"\n\
             [target.'cfg(unix)'.dependencies]\nrand = { package = \"rand_pcg\", version = \"0.10\" }\n\
             [dev-dependencies]\nproptest = \"1\"\n",
        );
        workspace.write("crates/sim/src/lib.rs", SIM);
        workspace.write("crates/sim/src/part/mod.rs", "pub fn one() -> u32 { 1 }\n");
        workspace.write("crates/sim/src/nest/deep.rs", "pub fn two() -> u32 { 2 }\n");
        workspace.write("crates/base/Cargo.toml", "[dependencies]\nlibm = \"0.2\"\n");
        workspace.write("crates/base/src/lib.rs", "pub fn three() -> u32 { 3 }\n");
        workspace.write("crates/plan/Cargo.toml", "[dependencies]\n");
        workspace.write("crates/plan/src/lib.rs", "const BYTES: u64 = 5;\n");
        workspace.write("crates/live/Cargo.toml", "[dependencies]\n");
        workspace.write("crates/live/src/lib.rs", "pub fn four() -> u32 { 4 }\n");
        workspace
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
        fs::write(path, text).expect("can be written");
    }

    fn identity(&self) -> String {
        identity(self.0.path(), &["flashcrowd-sim"], &[], "here").expect("the workspace is whole")
    }

    /// Whether the identity is another after a change of one file.
    fn moves(name: &str, from: &str, to: &str) -> bool {
        let workspace = Self::new();
        let before = workspace.identity();
        let text = fs::read_to_string(workspace.path(name)).expect("the file is there");
        assert!(text.contains(from), "{name} says {from:?}");
        workspace.write(name, &text.replace(from, to));
        before != workspace.identity()
    }
}

#[test]
fn what_decides_no_number_does_not_move_it() {
    let lib = "crates/sim/src/lib.rs";
    assert!(
        !Workspace::moves(lib, "//! Documentation.", "//! Better documentation."),
        "docs of a crate"
    );
    assert!(!Workspace::moves(lib, "/// A constant.", "/// One half."), "docs of an item");
    assert!(!Workspace::moves(lib, "/// A kind.", "/// A good one."), "docs in a macro");
    assert!(!Workspace::moves(lib, "#[doc = \"Another.\"]", ""), "docs in brackets in a macro");
    assert!(!Workspace::moves(lib, "0.5;", "0.5; // Half."), "a comment");
    assert!(!Workspace::moves(lib, "mod part;", "/* a part */\n\n   mod part ;"), "formatting");
    assert!(!Workspace::moves(lib, "< 1.0", "< 2.0"), "a test");
    assert!(!Workspace::moves("crates/live/src/lib.rs", "4", "5"), "a crate that no engine needs");
    assert!(!Workspace::moves("Cargo.lock", "1.0.0", "1.1.0"), "a library of tests");
    assert!(!Workspace::moves("Cargo.lock", "1.0.229", "1.0.230"), "a library that carries text");
    assert!(!Workspace::moves("Cargo.lock", "0.9.0", "0.9.1"), "another version of a library");
}

#[test]
fn what_can_decide_a_number_moves_it() {
    assert!(Workspace::moves("crates/sim/src/lib.rs", "0.5;", "0.25;"), "a constant");
    assert!(Workspace::moves("crates/sim/src/lib.rs", "KIND: 8", "KIND: 7"), "a line of a macro");
    assert!(Workspace::moves("crates/sim/src/lib.rs", "OTHER: 9", "OTHER: 7"), "in brackets");
    assert!(Workspace::moves("crates/sim/src/part/mod.rs", "1 }", "7 }"), "a module");
    assert!(Workspace::moves("crates/sim/src/nest/deep.rs", "2 }", "7 }"), "a module in a module");
    assert!(
        Workspace::moves("crates/base/src/lib.rs", "3 }", "7 }"),
        "a crate that the engine needs"
    );
    assert!(Workspace::moves("crates/plan/src/lib.rs", "5", "6"), "a plan");
    assert!(Workspace::moves("Cargo.lock", "0.2.15", "0.2.16"), "libm");
    assert!(Workspace::moves("Cargo.lock", "0.10.1", "0.10.2"), "a library of a library");
    assert!(
        Workspace::moves("Cargo.lock", "\"ee\"", "\"e0\""),
        "another library of the same version"
    );
}

#[test]
fn a_new_crate_counts_from_its_first_day() {
    let workspace = Workspace::new();
    let manifest = "crates/base/Cargo.toml";
    workspace.write("crates/link/Cargo.toml", "[dependencies]\n");
    workspace.write("crates/link/src/lib.rs", "pub fn one() -> u32 { 1 }");
    let unused = workspace.identity();
    assert_eq!(unused, Workspace::new().identity());
    workspace.write(manifest, "[dependencies]\nlibm = \"0.2\"\nflashcrowd-link.workspace = true\n");
    let used = workspace.identity();
    assert_ne!(used, unused);
    workspace.write("crates/link/src/lib.rs", "pub fn one() -> u32 { 2 }");
    assert_ne!(workspace.identity(), used);
}

#[test]
fn a_module_counts_without_the_rest_of_its_crate() {
    let workspace = Workspace::new();
    workspace.write("crates/glue/src/rules/mod.rs", "mod calls;\n");
    workspace.write("crates/glue/src/rules/calls.rs", "const CALLS: u32 = 1;\n");
    workspace.write("crates/glue/src/lone.rs", "const LONE: u32 = 1;\n");
    workspace.write("crates/glue/src/other.rs", "const OTHER: u32 = 1;\n");
    let of = || {
        let modules = ["rules", "lone"].map(|name| ("flashcrowd-glue", name));
        identity(workspace.0.path(), &["flashcrowd-sim"], &modules, "here").expect("whole")
    };
    let before = of();
    assert_ne!(before, workspace.identity());
    workspace.write("crates/glue/src/other.rs", "const OTHER: u32 = 2;\n");
    assert_eq!(before, of());
    workspace.write("crates/glue/src/rules/calls.rs", "const CALLS: u32 = 2;\n");
    let calls = of();
    assert_ne!(before, calls);
    workspace.write("crates/glue/src/lone.rs", "const LONE: u32 = 2;\n");
    assert_ne!(calls, of());
}

#[test]
fn the_target_counts() {
    let workspace = Workspace::new();
    let of =
        |target| identity(workspace.0.path(), &["flashcrowd-sim"], &[], target).expect("whole");
    assert_ne!(of("x86_64-unknown-linux-gnu"), of("aarch64-apple-darwin"));
}

#[test]
fn what_cannot_be_read_is_named() {
    let workspace = Workspace::new();
    workspace.write("crates/sim/src/part/mod.rs", "pub fn one( -> u32 { 1 }\n");
    let error =
        identity(workspace.0.path(), &["flashcrowd-sim"], &[], "here").expect_err("it is broken");
    assert!(error.to_string().contains("mod.rs: "), "{error}");
}

#[test]
fn our_own_workspace_can_be_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ours = identity(&root, &["flashcrowd-sim"], &[], "here").expect("it is whole");
    assert_eq!(ours.len(), 16);
}
