//! Numbers: decimals of 28 digits, or else what a processor's floating point makes of them.

use std::str::FromStr;

use rust_decimal::{Decimal, prelude::ToPrimitive as _};

use super::measured::Measured;

/// How many digits of floating point are told: all that are sure of a single operation.
const TOLD_DIGITS: usize = 15;

/// With fewer sure digits it is told how far off a value may be.
const FEW_DIGITS: u32 = 6;

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("it divides by zero")]
    DivisionByZero,
    #[error("it divides by a number that rounding does not tell from zero")]
    DivisionByUnsure,
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
    Decimal(Measured),
    /// Finite.
    Float(f64),
    Impossible(Fault),
}

impl Number {
    /// A result of decimals; its error can grow beyond all bounds.
    pub(super) fn decimal(value: Measured) -> Self {
        if value.error.is_finite() {
            Self::Decimal(value)
        } else {
            Self::Impossible(Fault::TooLarge)
        }
    }

    /// A result of floating point.
    pub(crate) fn float(value: f64) -> Self {
        if value.is_finite() {
            Self::Float(value)
        } else {
            Self::Impossible(Fault::TooLarge)
        }
    }

    /// As floating point.
    pub(crate) fn to_float(self) -> Result<f64, Fault> {
        match self {
            Self::Decimal(number) => number.value.to_f64().ok_or(Fault::TooLarge),
            Self::Float(value) => Ok(value),
            Self::Impossible(fault) => Err(fault),
        }
    }

    /// For people and models.
    pub(crate) fn told(self) -> Result<String, Fault> {
        match self {
            Self::Decimal(number) if number.is_exact() => Ok(number.value.normalize().to_string()),
            Self::Decimal(number) => Ok(told_of_rounded(number)),
            Self::Float(value) => Ok(format!("approximately {}", sure_digits(value))),
            Self::Impossible(fault) => Err(fault),
        }
    }
}

fn told_of_rounded(number: Measured) -> String {
    let told = format!("approximately {}", number.sure());
    if number.sure_digits() >= FEW_DIGITS {
        return told;
    }
    // One digit, rounded up.
    let unit = 10_f64.powf(number.error.log10().floor());
    let error = (number.error / unit).ceil() * unit;
    format!("{told} (give or take {})", sure_digits(error))
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
    // Of digits before an exponent as many are taken as fit.
    Decimal::from_str_exact(digits).ok()?;
    Decimal::from_scientific(text).ok()
}
