//! The media type of a file, by its name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The type of an unknown file.
pub(crate) const BYTES: &str = "application/octet-stream";
/// Text that a browser shows, and does not take for anything else.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// Ends of names of plain text that browsers would keep in place of showing it: lists of digests, signatures in ASCII, settings, notes.
const TEXT_ENDS: [&str; 24] = [
    "asc",
    "b2",
    "b2sum",
    "cfg",
    "conf",
    "diff",
    "ini",
    "list",
    "log",
    "md",
    "md5",
    "md5sum",
    "nfo",
    "patch",
    "sha1",
    "sha1sum",
    "sha256",
    "sha256sum",
    "sha512",
    "sha512sum",
    "text",
    "toml",
    "yaml",
    "yml",
];
/// Names of text without an end.
const TEXT_NAMES: [&str; 18] = [
    "AUTHORS",
    "B2SUMS",
    "CHANGELOG",
    "CHANGES",
    "CHECKSUM",
    "CHECKSUMS",
    "CONTRIBUTORS",
    "COPYING",
    "COPYRIGHT",
    "INSTALL",
    "LICENSE",
    "MD5SUMS",
    "NEWS",
    "NOTICE",
    "README",
    "SHA1SUMS",
    "SHA256SUMS",
    "SHA512SUMS",
];

/// The media type of a file of this name. Text without a type of its own is text to be shown: never a type that a browser would run.
pub(crate) fn of(path: &Path) -> &'static str {
    let end = path.extension().map(|end| end.as_bytes().to_ascii_lowercase());
    let Some(end) = end else {
        let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        let is_text = TEXT_NAMES.iter().any(|text| name.eq_ignore_ascii_case(text.as_bytes()));
        return if is_text { TEXT } else { BYTES };
    };
    if TEXT_ENDS.iter().any(|text| text.as_bytes() == end) {
        return TEXT;
    }
    mime_guess::from_path(path).first_raw().unwrap_or(BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_digests_and_notes_are_shown() {
        for name in ["SHA256SUMS", "a/README", "readme.md", "x.iso.sha256", "x.tar.gz.asc", "x.LOG"]
        {
            assert_eq!(of(Path::new(name)), TEXT, "{name}");
        }
    }

    #[test]
    fn other_names_have_the_type_that_they_say() {
        for (name, kind) in [
            ("x.iso", BYTES),
            ("page.html", "text/html"),
            ("readme.html", "text/html"),
            ("x.txt", "text/plain"),
            ("x.zip", "application/zip"),
            ("SHA256SUMS.gpg", BYTES),
            ("x", BYTES),
            ("x.", BYTES),
            (".log", BYTES),
        ] {
            assert_eq!(of(Path::new(name)), kind, "{name}");
        }
    }
}
