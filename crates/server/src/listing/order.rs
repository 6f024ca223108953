//! In which order a directory is shown, and from where on: what the query of its address says.

use percent_encoding::percent_decode_str;
use std::cmp::{Ordering, Reverse};

/// Bytes of a name at most (`NAME_MAX`); a query with a longer one is of nothing that is there.
const NAME_BYTES: usize = 255;

/// By what entries are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum By {
    #[default]
    Name,
    Size,
    Date,
}

impl By {
    pub(crate) const ALL: [By; 3] = [By::Name, By::Size, By::Date];

    /// As a query has it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            By::Name => "name",
            By::Size => "size",
            By::Date => "date",
        }
    }

    /// Names begin with A; of sizes and dates the largest and the newest are what people look for.
    fn is_descending_at_first(self) -> bool {
        self != By::Name
    }
}

/// By what entries are sorted, and which way. Directories come first either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SortOrder {
    pub(crate) by: By,
    pub(crate) is_descending: bool,
}

impl SortOrder {
    /// The order of a click on the head of a column: its own, or the other way if it has that already.
    pub(crate) fn clicked(self, by: By) -> SortOrder {
        let is_descending =
            if self.by == by { !self.is_descending } else { by.is_descending_at_first() };
        SortOrder { by, is_descending }
    }

    /// The query that asks for it; empty if no query does.
    pub(crate) fn query(self) -> String {
        if self == SortOrder::default() {
            return String::new();
        }
        let way = if self.is_descending { "desc" } else { "asc" };
        format!("sort={}&order={way}", self.by.word())
    }

    /// The place of an entry. `value`: its size in bytes or its date in seconds, by the order of the list.
    pub(crate) fn place(self, is_file: bool, value: i64, name: Vec<u8>) -> SortKey {
        let value = if self.by == By::Name || self.by == By::Size && !is_file { 0 } else { value };
        SortKey {
            is_file,
            // The order of integers backwards, without one that has no negative.
            value: if self.is_descending { !value } else { value },
            name: if self.is_descending && self.by == By::Name {
                Name::Down(Reverse(Caseless(name)))
            } else {
                Name::Up(Caseless(name))
            },
        }
    }
}

/// Where an entry is in an order; places of one order are compared, and no others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SortKey {
    pub(crate) is_file: bool,
    value: i64,
    name: Name,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Up(Caseless),
    Down(Reverse<Caseless>),
}

/// A name among names of either case; of two that differ in case alone the one with capitals comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Caseless(Vec<u8>);

impl Ord for Caseless {
    fn cmp(&self, other: &Self) -> Ordering {
        let small = self.0.iter().map(u8::to_ascii_lowercase);
        small.cmp(other.0.iter().map(u8::to_ascii_lowercase)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Caseless {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl SortKey {
    pub(crate) fn name(&self) -> &[u8] {
        let (Name::Up(name) | Name::Down(Reverse(name))) = &self.name;
        &name.0
    }

    /// The size or the date by which it is where it is.
    pub(crate) fn value(&self, order: SortOrder) -> i64 {
        if order.is_descending { !self.value } else { self.value }
    }
}

/// The view that a query asks for: an order, and the entry behind which the page begins. Parts that it does not
/// understand are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) order: SortOrder,
    pub(crate) after: Option<SortKey>,
}

impl View {
    pub(crate) fn of(query: &str) -> View {
        let value = |key: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let by = value("sort").and_then(|word| By::ALL.into_iter().find(|by| by.word() == word));
        let by = by.unwrap_or_default();
        let order = SortOrder { by, is_descending: value("order") == Some("desc") };
        let at = value("at").map_or(Some(0), |digits| digits.parse().ok());
        let after = value("after").zip(at).and_then(|(name, at)| {
            let (is_file, name) = name.strip_suffix('/').map_or((true, name), |name| (false, name));
            let name: Vec<u8> = percent_decode_str(name).collect();
            (name.len() <= NAME_BYTES).then(|| order.place(is_file, at, name))
        });
        View { order, after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_query_does_not_say_is_by_name() {
        for query in ["", "sort=colour", "sort", "after", "=&=", "order=sideways", "at=1"] {
            assert_eq!(View::of(query), View::default(), "{query}");
        }
        let long = format!("after={}", "x".repeat(256));
        assert_eq!(View::of(&long), View::default());
        assert_eq!(View::of("sort=size&at=99999999999999999999&after=x").after, None);
    }

    #[test]
    fn capitals_are_among_the_small_letters() {
        let order = SortOrder::default();
        let mut places = ["b", "README", "a", "Zoo", "readme", "B"]
            .map(|name| order.place(true, 0, name.into()));
        places.sort();
        assert_eq!(
            places.each_ref().map(SortKey::name),
            ["a", "B", "b", "README", "readme", "Zoo"].map(str::as_bytes)
        );
    }

    #[test]
    fn a_second_click_turns_a_column_round() {
        let by = |by, is_descending| SortOrder { by, is_descending };
        let mut order = SortOrder::default();
        for (column, expected) in [
            (By::Name, by(By::Name, true)),
            (By::Name, by(By::Name, false)),
            (By::Size, by(By::Size, true)),
            (By::Size, by(By::Size, false)),
            (By::Date, by(By::Date, true)),
        ] {
            order = order.clicked(column);
            assert_eq!(order, expected);
            assert_eq!(View::of(&order.query()).order, order);
        }
    }

    proptest! {
        #[test]
        fn any_query(query in "(sort|order|after|at|=|&|size|desc|%|[0-9]{1,20}|-|\\PC){0,12}") {
            if let Some(after) = View::of(&query).after {
                prop_assert!(after.name().len() <= NAME_BYTES);
            }
        }

        /// Directories first, then by value or name, in either direction; those of one value by
        /// name.
        #[test]
        fn places_are_in_order(
            values in prop::collection::vec((any::<bool>(), any::<i64>(), "[a-cB]{1,3}"), 2..8),
            by in 0usize..3,
            is_descending: bool,
        ) {
            let order = SortOrder { by: By::ALL[by], is_descending };
            let mut places: Vec<SortKey> = values
                .iter()
                .map(|(is_file, value, name)| order.place(*is_file, *value, name.clone().into()))
                .collect();
            places.sort();
            for pair in places.windows(2) {
                let [one, two] = pair else { continue };
                prop_assert!(one.is_file <= two.is_file);
                if one.is_file != two.is_file {
                    continue;
                }
                let (mut first, mut second) = (one.value(order), two.value(order));
                if is_descending {
                    (first, second) = (second, first);
                }
                prop_assert!(first <= second);
                if first == second {
                    let falls = is_descending && order.by == By::Name;
                    let (one, two) = (Caseless(one.name().into()), Caseless(two.name().into()));
                    prop_assert!(one == two || (one > two) == falls);
                }
            }
        }
    }
}
