//! A straight line through measured points.

/// The line that has the least squares of vertical distances to some points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    pub(crate) slope: f64,
    /// The value at 0.
    pub(crate) intercept: f64,
}

impl Line {
    /// Returns the line through at least two points with different `x`.
    pub(crate) fn through(points: &[(f64, f64)]) -> Self {
        let mean = |of: fn(&(f64, f64)) -> f64| {
            let sum: f64 = points.iter().map(of).sum();
            #[expect(clippy::cast_precision_loss, reason = "a few points")]
            let number = points.len() as f64;
            sum / number
        };
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let product: f64 = points
            .iter()
            .map(|point| (point.0 - x) * (point.1 - y))
            .sum();
        let square: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        let slope = product / square;
        Self {
            slope,
            intercept: y - slope * x,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_line_on_which_points_lie() {
        let line = Line::through(&[(0.0, 3.0), (80.0, 83.0), (160.0, 163.0)]);
        assert!((line.slope - 1.0).abs() < 1e-9, "{line:?}");
        assert!((line.intercept - 3.0).abs() < 1e-9, "{line:?}");
    }

    #[test]
    fn lies_between_points_that_are_on_no_line() {
        let line = Line::through(&[(0.0, 0.0), (80.0, 12.0), (160.0, 0.0)]);
        assert!(line.slope.abs() < 1e-9, "{line:?}");
        assert!((line.intercept - 4.0).abs() < 1e-9, "{line:?}");
    }
}
