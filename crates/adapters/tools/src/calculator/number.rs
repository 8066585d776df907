//! Numbers: decimals of 28 digits, or else what a processor's floating point makes of them.

use std::str::FromStr;

use rust_decimal::{Decimal, prelude::ToPrimitive as _};

/// How many digits of a rounded number are told: all that are sure.
const TOLD_DIGITS: usize = 15;

/// Below, a decimal of at most 28 places has too few digits left to be called exact.
const SMALLEST_EXACT: Decimal = Decimal::from_parts(1, 0, 0, false, 6);

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("it divides by zero")]
    DivisionByZero,
    #[error("it takes the square root of a negative number")]
    RootOfNegative,
    #[error("it takes the logarithm of a number that is not positive")]
    LogarithmOfNonPositive,
    #[error("it raises a negative number to a power that is not whole")]
    PowerOfNegative,
    #[error("its value is too large")]
    TooLarge,
}

/// What an expression is at some point of its calculation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Exact(Decimal),
    /// Finite.
    Rounded(f64),
    Impossible(Fault),
}

impl Number {
    /// A result of floating point.
    pub(crate) fn rounded(value: f64) -> Self {
        if value.is_finite() {
            Self::Rounded(value)
        } else {
            Self::Impossible(Fault::TooLarge)
        }
    }

    /// A result that is exact, unless so many of its digits lie beyond a decimal's places that
    /// floating point has more.
    pub(crate) fn exact_unless_cut(value: Decimal, is_whole: bool) -> Option<Self> {
        (is_whole || value.abs() >= SMALLEST_EXACT).then_some(Self::Exact(value))
    }

    /// As floating point.
    pub(crate) fn to_float(self) -> Result<f64, Fault> {
        match self {
            Self::Exact(value) => value.to_f64().ok_or(Fault::TooLarge),
            Self::Rounded(value) => Ok(value),
            Self::Impossible(fault) => Err(fault),
        }
    }

    /// For people and models.
    pub(crate) fn told(self) -> Result<String, Fault> {
        match self {
            Self::Exact(value) => Ok(value.normalize().to_string()),
            Self::Rounded(value) => Ok(format!("approximately {}", sure_digits(value))),
            Self::Impossible(fault) => Err(fault),
        }
    }
}

/// Errors of rounding stand behind the digits that are told.
fn sure_digits(value: f64) -> String {
    let places = TOLD_DIGITS - 1;
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
        Self::Exact(Decimal::ZERO)
    }
}

/// The text is not a number.
#[derive(Debug)]
pub(crate) struct NotANumber;

impl FromStr for Number {
    type Err = NotANumber;

    fn from_str(text: &str) -> Result<Self, NotANumber> {
        let exact = Decimal::from_str_exact(text).or_else(|_| Decimal::from_scientific(text));
        let float: f64 = text.parse().or(Err(NotANumber))?;
        let is_zero = float == 0.0;
        match exact {
            Ok(value) if value.is_zero() == is_zero => Ok(Self::Exact(value)),
            _ => Ok(Self::rounded(float)),
        }
    }
}
