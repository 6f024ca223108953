/// The mean of some values, and their standard deviation: the population's, divided by their number.
/// Nothing without a value.
pub(crate) fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    (!values.is_empty()).then(|| (mean, libm::sqrt(variance)))
}

/// The value below which the part `p` of the values lies, by the nearest rank; sorts them. Nothing without one.
pub(crate) fn quantile(values: &mut [f64], p: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    values.get((last as f64 * p + 0.5) as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_quantiles_of_small_samples() {
        assert_eq!(mean_and_deviation(&[]), None);
        assert_eq!(mean_and_deviation(&[3.0]), Some((3.0, 0.0)));
        assert_eq!(mean_and_deviation(&[1.0, 3.0]), Some((2.0, 1.0)));
        assert_eq!(quantile(&mut [], 0.5), None);
        assert_eq!(quantile(&mut [5.0, 1.0, 3.0], 0.5), Some(3.0));
        assert_eq!(quantile(&mut [5.0, 1.0, 3.0], 0.0), Some(1.0));
        assert_eq!(quantile(&mut [5.0, 1.0, 3.0], 1.0), Some(5.0));
    }
}
