use super::order::{By, SortKey, SortOrder};
use super::target;
use crate::amounts::scaled;
use crate::clock::Civil;
use crate::digests::base64;
use percent_encoding::percent_encode;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

/// The style of a page: in it, so that one request shows it.
const STYLE: &str = include_str!("style.css");
/// An arrow that points down. Without an icon, each browser asks for one.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
    %3Cpath d='M6 1h4v7h4l-6 7-6-7h4z' fill='%230b57a4'/%3E%3C/svg%3E";
/// Directories above a page that its headline has links to.
const CRUMBS: usize = 8;

/// The content security policy of a page: its own style and its icon, and nothing else, whatever a name says.
pub(crate) static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = base64(&Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
});

/// The facts of an entry besides its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) bytes: u64,
    /// When it was changed, in seconds since 1970.
    pub(super) modified: i64,
}

impl Facts {
    /// Those that take the most room.
    pub(super) const LONGEST: Facts = Facts { bytes: u64::MAX, modified: i64::MAX };
}

/// The head of a page, up to the head of its table.
pub(super) fn head(path: &Path, order: SortOrder) -> String {
    let parts: Vec<String> = path.iter().map(|part| shown(part.as_encoded_bytes())).collect();
    let title = parts.last().map_or("/", String::as_str);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Files in {title}</title>\n\
         <link rel=\"icon\" href=\"{ICON}\">\n<style>{STYLE}</style>\n<h1>"
    );
    let first = parts.len().saturating_sub(CRUMBS);
    match (first, parts.len()) {
        (_, 0) => page.push('/'),
        (0, depth) => {
            let _ = write!(page, "<a href=\"{}\">/</a>", "../".repeat(depth));
        }
        _ => page.push_str("…/"),
    }
    for (at, part) in parts.iter().enumerate().skip(first) {
        let _ = match parts.len() - 1 - at {
            0 => write!(page, "{part}/"),
            above => write!(page, "<a href=\"{}\">{part}</a>/", "../".repeat(above)),
        };
    }
    page.push_str("</h1>\n<table>\n<thead><tr>");
    for (by, text) in By::ALL.into_iter().zip(["Name", "Size", "Changed (UTC)"]) {
        let query = order.clicked(by).query();
        let query = if query.is_empty() { query } else { format!("?{}", escaped(&query)) };
        let (sorted, arrow) = match (order.by == by, order.is_descending) {
            (false, _) => ("", ""),
            (true, false) => (" aria-sort=\"ascending\"", " ↑"),
            (true, true) => (" aria-sort=\"descending\"", " ↓"),
        };
        let class = if by == By::Size { " class=\"n\"" } else { "" };
        let _ = write!(page, "<th{class}{sorted}><a href=\"./{query}\">{text}</a>{arrow}</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    if !parts.is_empty() {
        page.push_str("<tr class=\"d\"><td><a href=\"../\">../</a></td><td class=\"n\"></td><td class=\"t\"></td></tr>\n");
    }
    page
}

/// The link to an entry, relative to its directory.
pub(super) fn link(entry: &SortKey) -> String {
    let slash = if entry.is_file { "" } else { "/" };
    format!("{}{slash}", percent_encode(entry.name(), target::SEGMENT))
}

/// A row of the page. A name need not be UTF-8: the link has its bytes, the text what can be shown of them.
pub(super) fn row(entry: &SortKey, facts: Facts) -> String {
    let (link, text) = (link(entry), shown(entry.name()));
    let (class, slash, size) = if entry.is_file {
        let exact = grouped(facts.bytes);
        let size = format!(
            "<td class=\"n\" title=\"{exact} bytes\">{}</td>",
            scaled(facts.bytes as f64, "B")
        );
        ("", "", size)
    } else {
        (" class=\"d\"", "/", "<td class=\"n\"></td>".to_owned())
    };
    let date = Civil::of(u64::try_from(facts.modified).unwrap_or(0));
    format!(
        "<tr{class}><td><a href=\"./{link}\">{text}{slash}</a></td>{size}<td class=\"t\">{}</td></tr>\n",
        date.minutes()
    )
}

/// The end of a page that shows all entries: their numbers, and the bytes of all files.
pub(super) fn whole(directories: usize, files: usize, bytes: u64) -> String {
    let count = |count: usize, one: &str, many: &str| {
        format!("{} {}", grouped(count as u64), if count == 1 { one } else { many })
    };
    let mut said = Vec::new();
    if directories > 0 {
        said.push(count(directories, "folder", "folders"));
    }
    if files > 0 {
        said.push(count(files, "file", "files"));
        said.push(scaled(bytes as f64, "B"));
    }
    let said = if said.is_empty() { "This folder is empty.".to_owned() } else { said.join(", ") };
    format!("</tbody>\n</table>\n<p>{said}</p>\n")
}

/// The end of a page that shows a part, with links to the first page and to the next.
pub(super) fn part(order: SortOrder, is_first: bool, next: Option<&SortKey>) -> String {
    let mut links = Vec::new();
    let query = order.query();
    if !is_first {
        let query = if query.is_empty() { query.clone() } else { format!("?{query}") };
        links.push(format!("<a href=\"./{}\">First page</a>", escaped(&query)));
    }
    if let Some(last) = next {
        let mut behind = if query.is_empty() { query } else { format!("{query}&") };
        if order.by != By::Name {
            let _ = write!(behind, "at={}&", last.value(order));
        }
        let _ = write!(behind, "after={}", link(last));
        links.push(format!("<a rel=\"next\" href=\"./?{}\">Next page</a>", escaped(&behind)));
    }
    format!("</tbody>\n</table>\n<p>{}</p>\n", links.join(" · "))
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A name as a page shows it: no character of it ends an element, begins a line, or turns the direction of what follows.
fn shown(name: &[u8]) -> String {
    let turns = |it: char| matches!(it, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let text = String::from_utf8_lossy(name);
    let plain: String =
        text.chars().map(|it| if it.is_control() || turns(it) { '\u{fffd}' } else { it }).collect();
    escaped(&plain)
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

    #[test]
    fn digits_are_in_groups_of_three() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(4_700_372_992), "4,700,372,992");
    }

    #[test]
    fn names_are_text_and_nothing_else() {
        let name = "<a href=\"x\">&'\u{202e}gpj.exe\n\u{1b}[31m".as_bytes();
        assert_eq!(
            shown(name),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\u{fffd}gpj.exe\u{fffd}\u{fffd}[31m"
        );
        assert_eq!(shown(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }

    /// Whatever a path is: its headline has a bound.
    #[test]
    fn a_deep_path_has_a_short_headline() {
        let deep = "&/".repeat(2000);
        let page = head(Path::new(&deep), SortOrder::default());
        assert!(page.len() < 6_000, "{}", page.len());
        assert!(page.contains("…/"));
        let long = format!("{0}/{0}", "&".repeat(255));
        assert!(head(Path::new(&long), SortOrder::default()).len() < 1 << 13);
    }
}
