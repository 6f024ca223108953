use crate::target::Root;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use rustix::fs::{AtFlags, FileType};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes of the rows of a page: what comes behind them is on the next page.
pub(crate) const MAX_ROWS: usize = 56 << 10;
/// Directories that are read at once.
pub(crate) const MAX_READING: usize = 4;
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// An entry of a directory in the order of the page: whether it is a file, its name.
type Entry = (bool, Vec<u8>);

/// The entry behind which a page begins: what the query of a link to a next page says, if it is one.
pub(crate) fn behind(query: &str) -> Option<Entry> {
    let name = query.strip_prefix("after=")?;
    let (is_file, name) = name.strip_suffix('/').map_or((true, name), |name| (false, name));
    Some((is_file, percent_decode_str(name).collect()))
}

fn link((is_file, name): &Entry) -> String {
    format!("{}{}", percent_encode(name, SEGMENT), if *is_file { "" } else { "/" })
}

/// A row of the page. A name need not be UTF-8: the link has its bytes, the text what can be shown of them.
fn row(entry: &Entry, size: u64) -> String {
    let (link, text) = (link(entry), escaped(&String::from_utf8_lossy(&entry.1)));
    let (slash, size) = if entry.0 { ("", size.to_string()) } else { ("/", String::new()) };
    format!("<tr><td><a href=\"./{link}\">{text}{slash}</a><td align=\"right\">{size}\n")
}

/// The first entries in the order of the page, as many as have room on it.
#[derive(Default)]
struct Window {
    entries: BTreeSet<Entry>,
    bytes: usize,
    /// Some had no room.
    is_cut: bool,
}

impl Window {
    /// Whether an entry would have room.
    fn has_room(&self, entry: &Entry) -> bool {
        !self.is_cut || self.entries.last().is_some_and(|last| entry < last)
    }

    fn insert(&mut self, entry: Entry) {
        let bytes = |entry: &Entry| row(entry, u64::MAX).len();
        if !self.has_room(&entry) {
            return;
        }
        self.bytes += bytes(&entry);
        self.entries.insert(entry);
        while self.bytes > MAX_ROWS {
            let Some(last) = self.entries.pop_last() else { return };
            self.bytes -= bytes(&last);
            self.is_cut = true;
        }
    }
}

/// A page with the entries of a directory, directories first, from the one behind `after` on, and a link to the next page if there are
/// more. Hidden ones are not shown unless they are served, nor what is neither a file nor a directory, nor links that are not followed.
pub(crate) fn page(
    root: &Root,
    directory: &File,
    path: &Path,
    after: Option<&Entry>,
    hidden: bool,
) -> io::Result<String> {
    let mut window = Window::default();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        let comes = |is_file| {
            let entry = (is_file, name.to_vec());
            after.is_none_or(|after| entry > *after) && window.has_room(&entry)
        };
        let left_out = name.starts_with(b".") && (!hidden || matches!(name, b"." | b".."));
        if left_out || !comes(false) && !comes(true) {
            continue;
        }
        let kind = match entry.file_type() {
            // A link may lead out of the directory: what is said of it is what a request for it would find.
            FileType::Symlink | FileType::Unknown => {
                match root.look(&path.join(OsStr::from_bytes(name))) {
                    Ok(metadata) if metadata.is_dir() => FileType::Directory,
                    Ok(metadata) if metadata.is_file() => FileType::RegularFile,
                    _ => continue,
                }
            }
            kind => kind,
        };
        let is_file = kind.is_file();
        if (is_file || kind.is_dir()) && comes(is_file) {
            window.insert((is_file, name.to_vec()));
        }
    }
    let title = escaped(&format!("/{}", path.to_string_lossy()));
    let mut page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<h1>{title}</h1>\n<table>\n"
    );
    if !path.as_os_str().is_empty() {
        page.push_str("<tr><td><a href=\"../\">../</a>\n");
    }
    for entry in &window.entries {
        let name = OsStr::from_bytes(&entry.1);
        let Some(size) = size(root, directory, path, name) else { continue };
        page.push_str(&row(entry, size));
    }
    page.push_str("</table>\n");
    if let Some(last) = window.entries.last().filter(|_| window.is_cut) {
        let _ = writeln!(page, "<p><a rel=\"next\" href=\"./?after={}\">More</a>", link(last));
    }
    Ok(page)
}

/// The length of a file, that of the file that a link leads to.
fn size(root: &Root, directory: &File, path: &Path, name: &OsStr) -> Option<u64> {
    let status = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(status.st_mode).is_symlink() {
        return root.look(&path.join(name)).ok().map(|metadata| metadata.len());
    }
    Some(status.st_size as u64)
}

/// The path of a target for a relative path.
pub(crate) fn target(path: &Path) -> String {
    let mut target = String::new();
    for part in path.iter() {
        target.push('/');
        target.extend(percent_encode(part.as_bytes(), SEGMENT));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Symlinks;
    use proptest::prelude::*;

    /// What a page has: its entries, and where the next one begins.
    fn read(page: &str) -> (Vec<String>, Option<Entry>) {
        let links = page.lines().filter_map(|line| line.split_once("href=\"./")?.1.split_once('"'));
        let (mut entries, mut next) = (Vec::new(), None);
        for (link, _) in links {
            match link.strip_prefix('?') {
                Some(query) => next = behind(query),
                None => entries.push(link.to_owned()),
            }
        }
        (entries, next)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        /// All entries once, directories first, on pages that are no longer than was promised.
        #[test]
        fn pages_have_each_entry_once(
            names in prop::collection::btree_set("[a-c&%\"<é]{1,60}", 0..60),
            many in 0usize..900,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let mut wanted: Vec<Entry> = Vec::new();
            let long = (0..many).map(|at| format!("{at:04}{}", "&".repeat(at % 200)));
            for (at, name) in names.into_iter().chain(long).enumerate() {
                let path = directory.path().join(&name);
                let is_file = at % 3 > 0;
                if is_file { std::fs::write(path, "").unwrap() } else { std::fs::create_dir(path).unwrap() }
                wanted.push((is_file, name.into_bytes()));
            }
            wanted.sort();
            let root = Root::open(directory.path(), Symlinks::Within).unwrap();
            let (mut got, mut after) = (Vec::new(), None);
            loop {
                let (open, _) = root.open_file(Path::new("")).unwrap();
                let text = page(&root, &open, Path::new(""), after.as_ref(), false).unwrap();
                prop_assert!(text.len() <= 1 << 16);
                let (mut entries, next) = read(&text);
                got.append(&mut entries);
                let Some(next) = next else { break };
                prop_assert!(Some(&next) > after.as_ref());
                after = Some(next);
            }
            prop_assert_eq!(got, wanted.iter().map(link).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_page_of_the_docs_has_the_bounds() {
        let docs = include_str!("../../../docs/serve.md");
        let rows = MAX_ROWS >> 10;
        for said in [format!("| {rows} KiB of rows"), format!("{MAX_READING} directories are read")]
        {
            assert!(docs.contains(&said), "{said}");
        }
    }

    /// As one waits who writes into a pipe until somebody reads.
    #[test]
    fn what_is_no_file_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
        std::os::unix::fs::symlink("pipe", directory.path().join("link")).unwrap();
        let writes = std::thread::spawn({
            let pipe = pipe.clone();
            move || File::options().write(true).open(pipe).unwrap()
        });
        std::thread::sleep(std::time::Duration::from_millis(50));
        let root = Root::open(directory.path(), Symlinks::Within).unwrap();
        let (open, _) = root.open_file(Path::new("")).unwrap();
        assert_eq!(read(&page(&root, &open, Path::new(""), None, false).unwrap()), (vec![], None));
        for name in ["pipe", "link"] {
            assert!(root.open_file(Path::new(name)).is_err());
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!writes.is_finished());
        let _reader = File::open(&pipe).unwrap();
        writes.join().unwrap();
    }
}
