//! Amounts as people read them.

/// Three digits, and a prefix for each thousand.
pub(crate) fn scaled(mut value: f64, unit: &str) -> String {
    let mut prefix = "";
    for greater in ["k", "M", "G", "T", "P", "E"] {
        if value < 999.5 {
            break;
        }
        (value, prefix) = (value / 1000.0, greater);
    }
    let digits = match value {
        _ if prefix.is_empty() || value >= 99.95 => 0,
        _ if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_three_digits() {
        let texts = [0.0, 999.0, 1000.0, 9_995.0, 12_345.0, 999_600.0, 2e14, 1.8e19]
            .map(|it| scaled(it, "B"));
        assert_eq!(
            texts,
            ["0 B", "999 B", "1.00 kB", "10.0 kB", "12.3 kB", "1.00 MB", "200 TB", "18.0 EB"]
        );
    }
}
