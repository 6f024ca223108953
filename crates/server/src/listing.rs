use crate::target::Root;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use rustix::fs::{AtFlags, FileType};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Entries of a directory that are shown.
const MAX: usize = 10_000;
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A page with the entries of a directory, directories first. Hidden ones are not shown unless they are served, nor what is neither a file nor a
/// directory, nor links that are not followed.
pub(crate) fn page(root: &Root, directory: &File, path: &Path, hidden: bool) -> io::Result<String> {
    let mut entries = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)?.take(MAX) {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if bytes.starts_with(b".") && (!hidden || matches!(bytes, b"." | b"..")) {
            continue;
        }
        // A link may lead out of the directory: what is said of it is what a request for it would find.
        let (kind, size) = match entry.file_type() {
            FileType::RegularFile | FileType::Directory => {
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                let Ok(status) = rustix::fs::statat(directory, entry.file_name(), flags) else {
                    continue;
                };
                (FileType::from_raw_mode(status.st_mode), status.st_size as u64)
            }
            _ => {
                let Ok((_, metadata)) = root.open_file(&path.join(OsStr::from_bytes(bytes))) else {
                    continue;
                };
                (FileType::from_raw_mode(metadata.mode()), metadata.len())
            }
        };
        if kind.is_dir() || kind.is_file() {
            entries.push((!kind.is_dir(), bytes.to_vec(), size));
        }
    }
    entries.sort();
    let title = escaped(&format!("/{}", path.to_string_lossy()));
    let mut page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<h1>{title}</h1>\n<table>\n"
    );
    if !path.as_os_str().is_empty() {
        page.push_str("<tr><td><a href=\"../\">../</a>\n");
    }
    for (is_file, name, size) in entries {
        let slash = if is_file { "" } else { "/" };
        let size = if is_file { size.to_string() } else { String::new() };
        // A name need not be UTF-8: the link has its bytes, the text what can be shown of them.
        let link = percent_encoding::percent_encode(&name, SEGMENT);
        let text = escaped(&String::from_utf8_lossy(&name));
        let _ = writeln!(
            page,
            "<tr><td><a href=\"./{link}{slash}\">{text}{slash}</a><td align=\"right\">{size}"
        );
    }
    page.push_str("</table>\n");
    Ok(page)
}

/// The path of a target for a relative path.
pub(crate) fn target(path: &Path) -> String {
    let mut target = String::new();
    for part in path.iter() {
        target.push('/');
        target.extend(percent_encoding::percent_encode(part.as_bytes(), SEGMENT));
    }
    target
}

/// As text in HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
