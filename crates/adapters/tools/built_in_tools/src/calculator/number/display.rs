//! Numbers as text.

use std::fmt;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed as _, Zero as _, pow::Pow as _};

use super::{MAX_BITS, Number, shown_digits};

/// The number of digits that are shown of a fraction without a finite decimal expansion.
const FRACTION_DIGITS: usize = 28;

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(value) => write_fraction(value, formatter),
            Self::Approximate(value) => {
                // The sum with 0 makes a negative zero positive.
                let value = shown_digits(*value) + 0.0;
                let is_short = value == 0.0 || (1e-6..1e15).contains(&value.abs());
                if is_short {
                    write!(formatter, "approximately {value}")
                } else {
                    write!(formatter, "approximately {value:e}")
                }
            }
        }
    }
}

/// Writes a fraction as a decimal number, rounded and marked if it has no finite expansion.
fn write_fraction(value: &BigRational, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    // A denominator of this size divides this power of ten, or none.
    let places = usize::try_from(MAX_BITS).unwrap_or(usize::MAX);
    let dividend = value.numer().abs() * BigInt::from(10).pow(MAX_BITS);
    let mut digits = &dividend / value.denom();
    if !(dividend % value.denom()).is_zero() {
        let excess = digits.to_string().len().saturating_sub(FRACTION_DIGITS);
        let unit = BigInt::from(10).pow(excess);
        digits = (digits + &unit / 2) / &unit * unit;
        formatter.write_str("approximately ")?;
    }
    let digits = format!(
        "{digits:0>width$}",
        digits = digits.to_string(),
        width = places + 1
    );
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let fraction = fraction.trim_end_matches('0');
    let sign = if value.is_negative() { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    write!(formatter, "{sign}{whole}{point}{fraction}")
}
