//! A directory as a page.

mod order;
mod page;
mod turns;

use crate::target::{self, Root};
use order::{By, SortKey};
use page::Facts;
use rustix::fs::{AtFlags, FileType};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(crate) use order::View;
pub(crate) use page::{POLICY, escaped};
pub(crate) use turns::Turns;

/// Bytes of the rows of a page: what comes behind them is on the next page.
pub(crate) const MAX_ROWS: usize = 56 << 10;
/// Directories that are read at once.
pub(crate) const MAX_READING: usize = 4;
/// Entries whose sizes or dates are read to sort by them; a directory with more of them is shown by name.
const MAX_SORTED: usize = 10_000;

/// The first entries in an order, as many as have room on a page.
#[derive(Default)]
struct Window {
    entries: BTreeSet<SortKey>,
    bytes: usize,
    /// Some had no room.
    is_cut: bool,
}

impl Window {
    /// Whether an entry would have room.
    fn has_room(&self, entry: &SortKey) -> bool {
        !self.is_cut || self.entries.last().is_some_and(|last| entry < last)
    }

    fn insert(&mut self, entry: SortKey) {
        let bytes = |entry: &SortKey| page::row(entry, Facts::LONGEST).len();
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

/// A directory that is shown.
pub(crate) struct Directory<'a> {
    pub(crate) root: &'a Root,
    pub(crate) open: &'a File,
    pub(crate) path: &'a Path,
    /// Whether names that begin with a dot are shown.
    pub(crate) hidden: bool,
}

impl Directory<'_> {
    /// A page with the entries of a directory, directories first, in an order and from the one behind `view.after` on. Hidden ones are
    /// not shown unless they are served, nor what is neither a file nor a directory, nor links that are not followed.
    pub(crate) fn page(&self, view: &View) -> io::Result<String> {
        let by_name = View::default();
        let (view, window) = match self.window(view)? {
            Some(window) => (view, window),
            None => (&by_name, self.window(&by_name)?.unwrap_or_default()),
        };
        let order = view.order;
        let mut page = page::head(self.path, order);
        let (mut directories, mut files, mut bytes) = (0, 0, 0_u64);
        for entry in &window.entries {
            let Some(facts) = self.facts(OsStr::from_bytes(entry.name())) else { continue };
            page.push_str(&page::row(entry, facts));
            if entry.is_file {
                files += 1;
                bytes = bytes.saturating_add(facts.bytes);
            } else {
                directories += 1;
            }
        }
        let next = window.entries.last().filter(|_| window.is_cut);
        page.push_str(&match (&view.after, next) {
            (None, None) => page::whole(directories, files, bytes),
            (after, next) => page::part(order, after.is_none(), next),
        });
        Ok(page)
    }

    /// The entries of a page; nothing if there are too many of them for this order.
    fn window(&self, view: &View) -> io::Result<Option<Window>> {
        let View { order, after } = view;
        let mut window = Window::default();
        let mut looks = 0;
        for entry in rustix::fs::Dir::read_from(self.open)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name.starts_with(b".") && (!self.hidden || matches!(name, b"." | b"..")) {
                continue;
            }
            let mut value = 0;
            if order.by != By::Name {
                looks += 1;
                if looks > MAX_SORTED {
                    return Ok(None);
                }
                let Some(facts) = self.facts(OsStr::from_bytes(name)) else { continue };
                value = if order.by == By::Date {
                    facts.modified
                } else {
                    i64::try_from(facts.bytes).unwrap_or(i64::MAX)
                };
            }
            let place = |is_file| {
                let place = order.place(is_file, value, name.to_vec());
                let comes = after.as_ref().is_none_or(|after| place > *after);
                (comes && window.has_room(&place)).then_some(place)
            };
            let (as_file, as_directory) = (place(true), place(false));
            if as_file.is_none() && as_directory.is_none() {
                continue;
            }
            let kind = match entry.file_type() {
                // A link may lead out of the directory: the list shows what a request for it would find.
                FileType::Symlink | FileType::Unknown => {
                    match self.root.look(&self.path.join(OsStr::from_bytes(name))) {
                        Ok(metadata) if metadata.is_dir() => FileType::Directory,
                        Ok(metadata) if metadata.is_file() => FileType::RegularFile,
                        _ => continue,
                    }
                }
                kind => kind,
            };
            let place = match kind {
                FileType::RegularFile => as_file,
                FileType::Directory => as_directory,
                _ => None,
            };
            if let Some(place) = place {
                window.insert(place);
            }
        }
        Ok(Some(window))
    }

    /// The length and the date of an entry, those of what a link leads to.
    fn facts(&self, name: &OsStr) -> Option<Facts> {
        let status = rustix::fs::statat(self.open, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if FileType::from_raw_mode(status.st_mode).is_symlink() {
            let metadata = self.root.look(&self.path.join(name)).ok()?;
            let modified = std::os::unix::fs::MetadataExt::mtime(&metadata);
            return Some(Facts { bytes: metadata.len(), modified });
        }
        Some(Facts { bytes: status.st_size as u64, modified: status.st_mtime })
    }
}

#[cfg(test)]
mod tests {
    use super::order::SortOrder;
    use super::*;
    use crate::Symlinks;
    use proptest::prelude::*;

    /// The content of a page: its entries, and the query of the next one.
    fn read(page: &str) -> (Vec<String>, Option<String>) {
        let (mut entries, mut next) = (Vec::new(), None);
        for line in page.lines() {
            if line.starts_with("<tr") && !line.contains("href=\"../\"") {
                let (_, rest) = line.split_once("<td><a href=\"./").unwrap();
                entries.push(rest.split_once('"').unwrap().0.to_owned());
            } else if let Some((_, rest)) = line.split_once("rel=\"next\" href=\"./?") {
                next = Some(rest.split_once('"').unwrap().0.replace("&amp;", "&"));
            }
        }
        (entries, next)
    }

    fn shown(root: &Root, query: &str) -> String {
        let (open, _) = root.open_file(Path::new("")).unwrap();
        let directory = Directory { root, open: &open, path: Path::new(""), hidden: false };
        directory.page(&View::of(query)).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
        /// All entries once, directories first, in the order that was asked for, on pages that are no longer than was promised.
        #[test]
        fn pages_have_each_entry_once(
            names in prop::collection::btree_set("[a-c&%\"<é\n\u{202e}]{1,60}", 0..60),
            many in 0usize..700,
            by in 0usize..3,
            is_descending: bool,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let order = SortOrder { by: By::ALL[by], is_descending };
            let mut wanted: Vec<SortKey> = Vec::new();
            let long = (0..many).map(|at| format!("{at:04}{}", "&".repeat(at % 200)));
            for (at, name) in names.into_iter().chain(long).enumerate() {
                let path = directory.path().join(&name);
                let is_file = at % 3 > 0;
                let value = (at * 7919 % 50) as i64;
                if is_file {
                    File::create(&path).unwrap().set_len(value as u64).unwrap();
                } else {
                    std::fs::create_dir(&path).unwrap();
                }
                let when = std::time::UNIX_EPOCH + std::time::Duration::from_secs(value as u64);
                File::open(path).unwrap().set_modified(when).unwrap();
                wanted.push(order.place(is_file, value, name.into_bytes()));
            }
            wanted.sort();
            let root = Root::open(directory.path(), Symlinks::Within).unwrap();
            let (mut got, mut query) = (Vec::new(), order.query());
            loop {
                let text = shown(&root, &query);
                prop_assert!(text.len() <= 1 << 16);
                let (mut entries, next) = read(&text);
                got.append(&mut entries);
                prop_assert!(got.len() <= wanted.len());
                let Some(next) = next else { break };
                query = next;
            }
            prop_assert_eq!(got, wanted.iter().map(page::link).collect::<Vec<_>>());
        }
    }

    /// The page behind an entry that has gone, or has another size now, begins where that one was.
    #[test]
    fn a_next_page_needs_no_entry_that_is_still_there() {
        let directory = tempfile::tempdir().unwrap();
        for size in 1..=5 {
            let file = File::create(directory.path().join(format!("f{size}"))).unwrap();
            file.set_len(size * 100).unwrap();
        }
        let root = Root::open(directory.path(), Symlinks::Within).unwrap();
        let behind = |query: &str| read(&shown(&root, query)).0;
        assert_eq!(behind("sort=size&order=desc&at=350&after=gone"), ["f3", "f2", "f1"]);
        assert_eq!(behind("sort=size&order=asc&at=300&after=f3"), ["f4", "f5"]);
        assert_eq!(behind("after=f3"), ["f4", "f5"]);
        assert_eq!(behind("sort=name&order=desc&after=f3"), ["f2", "f1"]);
        assert_eq!(behind("after=sub/"), ["f1", "f2", "f3", "f4", "f5"]);
    }

    /// To sort by size reads as many inodes as there are entries, which a disk takes long for.
    #[test]
    fn a_directory_with_too_many_entries_is_shown_by_name() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..=MAX_SORTED {
            File::create(directory.path().join(format!("{number:05}"))).unwrap();
        }
        let root = Root::open(directory.path(), Symlinks::Within).unwrap();
        for query in ["sort=size&order=desc", "sort=date&order=desc&at=5&after=x"] {
            let page = shown(&root, query);
            assert_eq!(read(&page).0[0], "00000");
            assert!(page.contains("<th aria-sort=\"ascending\"><a href=\"./?sort=name"), "{page}");
        }
    }

    #[test]
    fn the_page_of_the_docs_has_the_bounds() {
        let docs = include_str!("../../../../docs/serve.md");
        let rows = MAX_ROWS >> 10;
        for said in [
            format!("| {rows} KiB of rows"),
            format!("{MAX_READING} directories are read"),
            format!("up to {},000 entries", MAX_SORTED / 1000),
        ] {
            assert!(docs.contains(&said), "{said}");
        }
    }

    /// A writer waits at a pipe until it has a reader.
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
        assert_eq!(read(&shown(&root, "")), (vec![], None));
        for name in ["pipe", "link"] {
            assert!(root.open_file(Path::new(name)).is_err());
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!writes.is_finished());
        let _reader = File::open(&pipe).unwrap();
        writes.join().unwrap();
    }
}
