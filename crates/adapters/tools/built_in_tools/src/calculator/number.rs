//! Numbers: exact fractions, or floating point where these do not suffice.

mod display;

use std::f64::consts;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed as _, ToPrimitive as _, Zero as _, pow::Pow as _};

/// The maximum size of numerator and denominator: 77 digits.
const MAX_BITS: u64 = 256;
/// The maximum power of ten of a numeral that is read exactly.
const MAX_EXACT_EXPONENT: u64 = 2_048;
/// The number of digits of floating point that are shown: those that are reliable after one
/// operation.
const FLOAT_DIGITS: usize = 15;
/// The largest integer below which floating point has all integers.
const MAX_FLOAT_INTEGER: f64 = 9_007_199_254_740_992.0;
/// The size of a rounding error, relative to the value.
const FLOAT_ERROR: f64 = 1e-15;

/// The reason that a calculation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArithmeticError {
    #[error("it divides by zero")]
    DivisionByZero,
    #[error("it takes the square root of a negative number")]
    RootOfNegative,
    #[error("it takes the logarithm of a number that is not positive")]
    LogarithmOfNonPositive,
    #[error("it raises a negative number to a power that is not an integer")]
    PowerOfNegative,
    #[error("its value is too large")]
    TooLarge,
    #[error("a number in it is too small")]
    TooSmall,
    #[error("an operand is too large to be exact")]
    InexactOperand,
}

/// A value, which is finite.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Number {
    Exact(BigRational),
    Approximate(f64),
}

type Outcome = Result<Number, ArithmeticError>;

/// Returns the constant with this name.
pub(super) fn constant(name: &str) -> Option<Number> {
    match name {
        "pi" => Some(Number::Approximate(consts::PI)),
        "e" => Some(Number::Approximate(consts::E)),
        _ => None,
    }
}

/// Returns the function with this name.
pub(super) fn function(name: &str) -> Option<fn(Number) -> Outcome> {
    Some(match name {
        "sqrt" => Number::square_root,
        "abs" => |x| Ok(if x.to_float() < 0.0 { x.negated() } else { x }),
        "round" => |x| x.stepped(BigRational::round, f64::round),
        "floor" => |x| x.stepped(BigRational::floor, f64::floor),
        "ceil" => |x| x.stepped(BigRational::ceil, f64::ceil),
        "exp" => |x| Number::approximate(x.to_float().exp()),
        "ln" => |x| x.logarithm(f64::ln),
        "log10" => |x| x.logarithm(f64::log10),
        "sin" => |x| Number::approximate(x.to_float().sin()),
        "cos" => |x| Number::approximate(x.to_float().cos()),
        "tan" => |x| Number::approximate(x.to_float().tan()),
        _ => return None,
    })
}

impl Number {
    /// Reads a numeral such as `1.5e-3`.
    pub(super) fn parse(numeral: &str) -> Outcome {
        let (digits, exponent) = numeral.split_once(['e', 'E']).unwrap_or((numeral, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let digits: Option<BigInt> = format!("{whole}{fraction}").parse().ok();
        let exponent: Option<i64> = exponent.parse().ok();
        let places = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        let is_zero = digits.as_ref().is_some_and(BigInt::is_zero);
        let approximate = || match numeral.parse().unwrap_or(f64::INFINITY) {
            0.0 if !is_zero => Err(ArithmeticError::TooSmall),
            value => Self::approximate(value),
        };
        match (digits, exponent.and_then(|it| it.checked_sub(places))) {
            (Some(digits), Some(exponent)) if exponent.unsigned_abs() <= MAX_EXACT_EXPONENT => {
                let power = BigInt::from(10).pow(exponent.unsigned_abs());
                let value = if exponent < 0 {
                    BigRational::new(digits, power)
                } else {
                    BigRational::from(digits * power)
                };
                Self::exact(value).map_or_else(approximate, Ok)
            }
            _ => approximate(),
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Outcome {
        self.combine(
            other,
            |a, b| a + b,
            |a, b| {
                let sum = a + b;
                // Less than the rounding errors of the summands remains only if they are equal.
                if sum.abs() < a.abs() * FLOAT_ERROR {
                    0.0
                } else {
                    sum
                }
            },
        )
    }

    pub(super) fn negated(self) -> Self {
        match self {
            Self::Exact(value) => Self::Exact(-value),
            Self::Approximate(value) => Self::Approximate(-value),
        }
    }

    pub(super) fn times(&self, other: &Self) -> Outcome {
        self.combine(other, |a, b| a * b, |a, b| a * b)
    }

    pub(super) fn divided_by(&self, divisor: &Self) -> Outcome {
        divisor.reject_zero()?;
        self.combine(divisor, |a, b| a / b, |a, b| a / b)
    }

    pub(super) fn modulo(&self, divisor: &Self) -> Outcome {
        divisor.reject_zero()?;
        if let (Self::Exact(dividend), Self::Exact(divisor)) = (self, divisor) {
            let remainder = dividend % divisor;
            let float = remainder.to_f64().unwrap_or(f64::NAN);
            return Self::exact(remainder).map_or_else(|| Self::approximate(float), Ok);
        }
        let (dividend, divisor) = (self.to_float(), divisor.to_float());
        // The rounding error of the dividend would change the remainder to any other.
        if dividend.abs().max(divisor.abs()) > MAX_FLOAT_INTEGER
            || dividend.abs() * FLOAT_ERROR >= divisor.abs()
        {
            return Err(ArithmeticError::InexactOperand);
        }
        Self::approximate(dividend % divisor)
    }

    pub(super) fn raised(&self, exponent: &Self) -> Outcome {
        if exponent.to_float() < 0.0 {
            self.reject_zero()?;
        }
        let sign = if self.to_float() < 0.0 {
            exponent.sign_of_negative_power()?
        } else {
            1.0
        };
        if let (Self::Exact(base), Self::Exact(exact)) = (self, exponent)
            && exact.is_integer()
            && let Some(exponent) = exact.to_i32()
            && (bits(base) - 1) * u64::from(exponent.unsigned_abs()) <= MAX_BITS
            && let Some(power) = Self::exact(base.pow(exponent))
        {
            return Ok(power);
        }
        Self::approximate(sign * self.to_float().abs().powf(exponent.to_float()))
    }

    /// Returns the sign of a negative number that is raised to this power.
    fn sign_of_negative_power(&self) -> Result<f64, ArithmeticError> {
        let is_odd = match self {
            Self::Exact(value) if value.is_integer() => value.numer().bit(0),
            Self::Approximate(value) if value.abs() > MAX_FLOAT_INTEGER => {
                return Err(ArithmeticError::InexactOperand);
            }
            Self::Approximate(value) if value.fract() == 0.0 => value % 2.0 != 0.0,
            _ => return Err(ArithmeticError::PowerOfNegative),
        };
        Ok(if is_odd { -1.0 } else { 1.0 })
    }

    fn square_root(self) -> Outcome {
        if self.to_float() < 0.0 {
            return Err(ArithmeticError::RootOfNegative);
        }
        if let Self::Exact(value) = &self {
            let root = BigRational::new(value.numer().sqrt(), value.denom().sqrt());
            if &root * &root == *value {
                return Ok(Self::Exact(root));
            }
        }
        Self::approximate(self.to_float().sqrt())
    }

    fn logarithm(self, of_float: fn(f64) -> f64) -> Outcome {
        let value = self.to_float();
        if value <= 0.0 {
            return Err(ArithmeticError::LogarithmOfNonPositive);
        }
        Self::approximate(of_float(value))
    }

    /// Applies a step function. In floating point, it applies to the digits that are shown: a value
    /// that close to a step is probably on it.
    fn stepped(self, exact: fn(&BigRational) -> BigRational, float: fn(f64) -> f64) -> Outcome {
        match self {
            Self::Exact(value) => Ok(Self::Exact(exact(&value))),
            Self::Approximate(value) => Self::approximate(float(shown_digits(value))),
        }
    }

    /// Calculates with fractions if possible, otherwise in floating point.
    fn combine(
        &self,
        other: &Self,
        exact: impl FnOnce(&BigRational, &BigRational) -> BigRational,
        float: impl FnOnce(f64, f64) -> f64,
    ) -> Outcome {
        if let (Self::Exact(a), Self::Exact(b)) = (self, other)
            && let Some(result) = Self::exact(exact(a, b))
        {
            return Ok(result);
        }
        Self::approximate(float(self.to_float(), other.to_float()))
    }

    /// Returns `None` if the fraction is too large.
    fn exact(value: BigRational) -> Option<Self> {
        (bits(&value) <= MAX_BITS).then_some(Self::Exact(value))
    }

    fn approximate(value: f64) -> Outcome {
        // Rounding to the digits that are shown can exceed the largest number, too.
        let is_finite = shown_digits(value).is_finite();
        let value = Self::Approximate(value);
        is_finite.then_some(value).ok_or(ArithmeticError::TooLarge)
    }

    fn to_float(&self) -> f64 {
        match self {
            Self::Exact(value) => value.to_f64().unwrap_or(f64::NAN),
            Self::Approximate(value) => *value,
        }
    }

    fn reject_zero(&self) -> Result<(), ArithmeticError> {
        if self.to_float() == 0.0 {
            return Err(ArithmeticError::DivisionByZero);
        }
        Ok(())
    }
}

/// Rounds to the digits that are shown, since rounding errors are behind them.
fn shown_digits(value: f64) -> f64 {
    let places = FLOAT_DIGITS - 1;
    format!("{value:.places$e}").parse().unwrap_or(value)
}

fn bits(value: &BigRational) -> u64 {
    value.numer().bits().max(value.denom().bits())
}
