//! Medians, quartiles and geometric means.

/// The middle of a set of measurements, and the quarter on either side of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Quartiles {
    /// A quarter of the values is below.
    pub(crate) low: f64,
    /// Half of the values are below.
    pub(crate) median: f64,
    /// Three quarters of the values are below.
    pub(crate) high: f64,
}

impl Quartiles {
    /// The quartiles of some values, between neighbours in proportion; of none: not a number.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Quartiles {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (sorted.len().saturating_sub(1)) as f64;
            let below = place.floor() as usize;
            match (sorted.get(below), sorted.get(below + 1)) {
                (Some(low), Some(high)) => low + (high - low) * place.fract(),
                (Some(last), None) => *last,
                _ => f64::NAN,
            }
        };
        Quartiles { low: at(0.25), median: at(0.5), high: at(0.75) }
    }

    /// The quartiles of the ratios, pair by pair.
    pub(crate) fn of_ratios(
        above: impl IntoIterator<Item = f64>,
        below: impl IntoIterator<Item = f64>,
    ) -> Quartiles {
        Quartiles::of(above.into_iter().zip(below).map(|(above, below)| above / below))
    }
}

/// The geometric mean; of nothing: not a number.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_neighbours() {
        assert_eq!(Quartiles::of([4.0, 1.0, 3.0, 2.0]), Quartiles { low: 1.75, median: 2.5, high: 3.25 });
        assert_eq!(Quartiles::of([5.0]), Quartiles { low: 5.0, median: 5.0, high: 5.0 });
        assert!(Quartiles::of([]).median.is_nan());
        assert_eq!(Quartiles::of_ratios([2.0, 6.0, 4.0], [1.0, 2.0, 4.0]).median, 2.0);
    }

    #[test]
    fn the_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean(&[4.0, 0.25]) - 1.0).abs() < 1e-12);
    }
}
