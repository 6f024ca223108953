//! From the target of a request to a file inside of the directory.

use crate::Symlinks;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The characters that are encoded in a segment of a path: all that RFC 3986, 2.3 does not call
/// unreserved.
pub(crate) const SEGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Why a target names no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Its encoding is malformed, or it hides a separator or a NUL.
    Malformed,
    /// There is no such file inside of the directory.
    Missing,
}

/// The path below the directory that the path of a target names: decoded (RFC 3986, 2.1), relative, without empty parts.
///
/// An encoded slash is refused, since it would be a separator that nothing in between has seen, and so is NUL. A
/// backslash, a colon or a name that is a device elsewhere are ordinary characters here. `.` and `..` are not followed:
/// a client that normalises (RFC 3986, 5.2.4) has removed them, and no other needs them.
pub fn path(target: &str) -> Result<PathBuf, Rejection> {
    let mut path = PathBuf::new();
    for segment in target.split('/').filter(|segment| !segment.is_empty()) {
        let encoded = segment.bytes().enumerate().filter(|(_, byte)| *byte == b'%');
        for (at, _) in encoded {
            let digits = segment.as_bytes().get(at + 1..at + 3);
            if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                return Err(Rejection::Malformed);
            }
        }
        let decoded: Vec<u8> = percent_decode_str(segment).collect();
        if decoded.contains(&0) || decoded.contains(&b'/') {
            return Err(Rejection::Malformed);
        }
        if decoded == b"." || decoded == b".." {
            return Err(Rejection::Missing);
        }
        path.push(OsStr::from_bytes(&decoded));
    }
    Ok(path)
}

/// The target that names a relative path.
pub(crate) fn of(path: &Path) -> String {
    let mut target = String::new();
    for part in path.iter() {
        target.push('/');
        target.extend(percent_encode(part.as_bytes(), SEGMENT));
    }
    target
}

/// Whether a part of a path begins with a dot: configuration, repositories, half-written files, which the owner of a
/// directory may have forgotten. `/.well-known/` is there to be found (RFC 8615).
pub fn is_hidden(path: &Path) -> bool {
    let is_hidden = |part: &OsStr| part.as_bytes().starts_with(b".");
    let mut parts = path.iter();
    let is_first_hidden = parts.next().is_some_and(|part| is_hidden(part) && part != WELL_KNOWN);
    is_first_hidden || parts.any(is_hidden)
}

const WELL_KNOWN: &str = ".well-known";

/// A directory whose contents are served, and nothing outside of it.
#[derive(Debug)]
pub(crate) struct Root {
    directory: OwnedFd,
    symlinks: Symlinks,
}

impl Root {
    /// # Errors
    /// The directory cannot be opened, or the system cannot keep paths inside of it.
    pub(crate) fn open(path: &Path, symlinks: Symlinks) -> io::Result<Root> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        let root = Root { directory, symlinks };
        root.open_file(Path::new("")).map_err(|error| {
            let what =
                format!("openat2 (Linux 5.6, and a container that allows it) and /proc: {error}");
            io::Error::new(error.kind(), what)
        })?;
        Ok(root)
    }

    /// The file or directory that a relative path names. Nothing else is opened: to open a device may set it in motion, and the
    /// other end of a pipe would notice.
    pub(crate) fn open_file(&self, path: &Path) -> io::Result<(File, Metadata)> {
        let (there, metadata) = self.find(path)?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(Errno::NXIO.into());
        }
        // The file that was looked at, and not the one that its name leads to by now.
        let again = format!("/proc/self/fd/{}", there.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok((rustix::fs::open(again, flags, Mode::empty())?.into(), metadata))
    }

    /// The metadata of a relative path, which is not opened.
    pub(crate) fn look(&self, path: &Path) -> io::Result<Metadata> {
        Ok(self.find(path)?.1)
    }

    fn find(&self, path: &Path) -> io::Result<(File, Metadata)> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = match self.symlinks {
            Symlinks::Within => ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
            Symlinks::Refuse => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
            Symlinks::Follow => ResolveFlags::NO_MAGICLINKS,
        };
        let mut tries = 0;
        let fd = loop {
            match rustix::fs::openat2(&self.directory, path, flags, Mode::empty(), resolve) {
                // Something was renamed under way, and the kernel cannot tell whether the path has stayed inside.
                Err(Errno::AGAIN | Errno::INTR) if tries < 16 => tries += 1,
                other => break other?,
            }
        };
        let there = File::from(fd);
        let metadata = there.metadata()?;
        Ok((there, metadata))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Component;

    #[test]
    fn paths_are_decoded_and_stay_relative() {
        for (target, expected) in [
            ("/", ""),
            ("/a/b.iso", "a/b.iso"),
            ("//a///b/", "a/b"),
            ("/a%20b/%C3%A9", "a b/é"),
            ("/a%25b", "a%b"),
            ("/..a/b..", "..a/b.."),
            ("/a\\..\\b", "a\\..\\b"),
            ("/C:%5Cwindows", "C:\\windows"),
            ("/con", "con"),
        ] {
            assert_eq!(path(target), Ok(PathBuf::from(expected)), "{target}");
        }
        for target in ["/..", "/a/../b", "/%2e%2e/b", "/.%2E/b", "/./b", "/a/%2e"] {
            assert_eq!(path(target), Err(Rejection::Missing), "{target}");
        }
        for target in ["/a%00b", "/a%2fb", "/..%2F..%2Fetc", "/%", "/%4", "/%zz", "/a%2"] {
            assert_eq!(path(target), Err(Rejection::Malformed), "{target}");
        }
    }

    #[test]
    fn names_with_a_dot_are_hidden_wherever_they_are() {
        for (target, expected) in [
            ("/", false),
            ("/a.b/c.", false),
            ("/.well-known/acme-challenge/x", false),
            ("/.well-known", false),
            ("/.htpasswd", true),
            ("/%2ehtpasswd", true),
            ("/a/.git/config", true),
            ("/a/.well-known/x", true),
            ("/.well-known/.x", true),
            ("/.well-known2", true),
            ("/..a", true),
        ] {
            assert_eq!(is_hidden(&path(target).unwrap()), expected, "{target}");
        }
    }

    proptest! {
        /// However it is written: what is not hidden has no name that begins with a dot, but one.
        #[test]
        fn nothing_hidden_passes(target in "(/|//|\\.|%2e|%2E|git|/\\.well-known|[a-c]){0,16}") {
            if let Ok(path) = path(&target) && !is_hidden(&path) {
                let text = format!("/{}", path.display());
                let below = text.strip_prefix("/.well-known").unwrap_or(&text);
                prop_assert!(!below.contains("/."), "{text}");
            }
        }

        #[test]
        fn no_target_leads_out(target in "(/|\\.|%2e|%2F|%5c|%00|[a-c%\\\\:]|\\PC){0,24}") {
            if let Ok(path) = path(&target) {
                prop_assert!(path.components().all(|part| matches!(part, Component::Normal(_))));
            }
        }
    }

    #[test]
    fn what_is_outside_is_not_opened() {
        let outside = tempfile::tempdir().unwrap();
        let inside = outside.path().join("inside");
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        std::fs::create_dir_all(inside.join("sub")).unwrap();
        std::fs::write(inside.join("sub/file"), "x").unwrap();
        let link = |target: &Path, name: &str| {
            std::os::unix::fs::symlink(target, inside.join(name)).unwrap();
        };
        link(&outside.path().join("secret"), "absolute");
        link(outside.path(), "directory");
        link(Path::new("sub/file"), "relative");
        link(Path::new("../../../../../../etc/passwd"), "up");
        let opens = |symlinks, path: &str| {
            Root::open(&inside, symlinks).unwrap().open_file(Path::new(path)).is_ok()
        };
        for (path, expected) in [
            ("sub/file", [true, true, true]),
            ("relative", [true, false, true]),
            ("absolute", [false, false, true]),
            ("directory/secret", [false, false, true]),
            ("up", [false, false, true]),
            // No target is one of these, see `path`: who follows links relies on it.
            ("../secret", [false, false, true]),
            ("/etc/passwd", [false, false, true]),
        ] {
            let outcome = [Symlinks::Within, Symlinks::Refuse, Symlinks::Follow]
                .map(|symlinks| opens(symlinks, path));
            assert_eq!(outcome, expected, "{path}");
        }
    }
}
