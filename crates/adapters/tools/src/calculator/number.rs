//! Numbers: decimals of 28 digits, or floating point where these do not suffice.

use std::str::FromStr;

use rust_decimal::{Decimal, prelude::ToPrimitive as _};

use super::measured::Measured;

/// The number of digits of floating point that are shown: those that are reliable after one
/// operation.
const FLOAT_DIGITS: usize = 15;

/// With fewer reliable digits, the result contains its maximum error.
const MIN_DIGITS_WITHOUT_ERROR: u32 = 6;

/// The reason that an expression has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArithmeticError {
    #[error("it divides by zero")]
    DivisionByZero,
    #[error("it divides by a number that may be zero after rounding")]
    DivisionByUnsure,
    #[error("it takes the square root of a negative number")]
    RootOfNegative,
    #[error("it takes the logarithm of a number that is not positive")]
    LogarithmOfNonPositive,
    #[error("it raises a negative number to a power that is not an integer")]
    PowerOfNegative,
    #[error("its value is too large")]
    TooLarge,
}

/// An intermediate value of a calculation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Decimal(Measured),
    /// Finite.
    Float(f64),
    Impossible(ArithmeticError),
}

impl Number {
    /// Creates a value from decimals, whose error may be infinite.
    pub(super) fn decimal(value: Measured) -> Self {
        if value.error.is_finite() {
            Self::Decimal(value)
        } else {
            Self::Impossible(ArithmeticError::TooLarge)
        }
    }

    /// Creates a value from floating point.
    pub(crate) fn float(value: f64) -> Self {
        if value.is_finite() {
            Self::Float(value)
        } else {
            Self::Impossible(ArithmeticError::TooLarge)
        }
    }

    /// Converts the value to floating point.
    pub(crate) fn to_float(self) -> Result<f64, ArithmeticError> {
        match self {
            Self::Decimal(number) => number.value.to_f64().ok_or(ArithmeticError::TooLarge),
            Self::Float(value) => Ok(value),
            Self::Impossible(fault) => Err(fault),
        }
    }

    /// Formats the value.
    pub(crate) fn to_text(self) -> Result<String, ArithmeticError> {
        match self {
            Self::Decimal(number) if number.is_exact() => Ok(number.value.normalize().to_string()),
            Self::Decimal(number) => Ok(rounded_to_text(number)),
            Self::Float(value) => Ok(format!("approximately {}", sure_digits(value))),
            Self::Impossible(fault) => Err(fault),
        }
    }
}

fn rounded_to_text(number: Measured) -> String {
    let text = format!("approximately {}", number.sure());
    if number.sure_digits() >= MIN_DIGITS_WITHOUT_ERROR {
        return text;
    }
    // One digit, rounded up.
    let unit = 10_f64.powf(number.error.log10().floor());
    let error = (number.error / unit).ceil() * unit;
    format!("{text} (give or take {})", sure_digits(error))
}

/// Formats the reliable digits. Rounding errors are behind them.
fn sure_digits(value: f64) -> String {
    let places = FLOAT_DIGITS - 1;
    let cut = format!("{value:.places$e}").parse().unwrap_or(value);
    let is_short = cut == 0.0 || (1e-6..1e15).contains(&f64::abs(cut));
    if is_short {
        cut.to_string()
    } else {
        format!("{cut:e}")
    }
}

impl Default for Number {
    fn default() -> Self {
        Self::Decimal(Measured::exact(Decimal::ZERO))
    }
}

/// The text is not a number.
#[derive(Debug)]
pub(crate) struct NotANumber;

impl FromStr for Number {
    type Err = NotANumber;

    fn from_str(text: &str) -> Result<Self, NotANumber> {
        let float: f64 = text.parse().or(Err(NotANumber))?;
        let is_zero = float == 0.0;
        Ok(match exact_decimal(text) {
            Some(value) if value.is_zero() == is_zero => Self::Decimal(Measured::exact(value)),
            _ => Self::float(float),
        })
    }
}

fn exact_decimal(text: &str) -> Option<Decimal> {
    let Some((digits, _exponent)) = text.split_once(['e', 'E']) else {
        return Decimal::from_str_exact(text).ok();
    };
    // Digits before an exponent beyond the capacity of a decimal are ignored, so such a number is
    // not exact.
    Decimal::from_str_exact(digits).ok()?;
    Decimal::from_scientific(text).ok()
}
