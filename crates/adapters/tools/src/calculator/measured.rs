//! Decimals of 28 digits with an upper bound of their error.

use rust_decimal::{Decimal, prelude::ToPrimitive as _};

/// The maximum number of decimal places.
const MAX_PLACES: u32 = 28;

/// The maximum error of rounding to 28 digits, or to 28 places, relative to the value and to 1. It
/// allows for rounding twice.
const ROUNDING: f64 = 2e-28;

/// Floating point has 15 digits at any size. Below this value, rounded decimals have hardly more.
const MIN_ROUNDED: Decimal = Decimal::from_parts(1, 0, 0, false, 6);
const FLOAT_PRECISION: f64 = 1e-15;

/// A value and the maximum of its error, which is 0 if it is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) value: Decimal,
    pub(super) error: f64,
}

impl Measured {
    pub(super) fn exact(value: Decimal) -> Self {
        Self { value, error: 0.0 }
    }

    /// Creates a value that was rounded to the digits of a decimal, from one with the error
    /// `inherited`.
    pub(super) fn rounded(value: Decimal, inherited: f64) -> Self {
        let error = inherited + ROUNDING * (1.0 + magnitude(value));
        Self { value, error }
    }

    pub(super) fn is_exact(self) -> bool {
        self.error == 0.0
    }

    /// Returns whether the value may be zero, given its error.
    pub(super) fn may_be_zero(self) -> bool {
        magnitude(self.value) <= self.error
    }

    /// Returns the sum. Like all operations below, returns `None` if a decimal cannot hold the
    /// result.
    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let (a, b) = (self.value.normalize(), other.value.normalize());
        let sum = a.checked_add(b)?;
        // The sum is exact if it has all decimal places of both values.
        let is_exact = a.is_zero() || b.is_zero() || sum.scale() >= a.scale().max(b.scale());
        Some(Self::exact_or_rounded(
            sum,
            is_exact,
            self.error + other.error,
        ))
    }

    pub(super) fn negated(self) -> Self {
        let value = -self.value;
        Self { value, ..self }
    }

    pub(super) fn times(self, other: Self) -> Option<Self> {
        let (a, b) = (self.value.normalize(), other.value.normalize());
        let product = a.checked_mul(b)?;
        let is_exact = a.is_zero() || b.is_zero() || product.scale() == a.scale() + b.scale();
        let inherited =
            magnitude(a) * other.error + magnitude(b) * self.error + self.error * other.error;
        Self::exact_or_rounded(product, is_exact, inherited).unless_float_is_better(inherited)
    }

    /// Divides by a divisor that cannot be zero.
    pub(super) fn divided_by(self, divisor: Self) -> Option<Self> {
        let quotient = self.value.checked_div(divisor.value)?;
        let smallest_divisor = magnitude(divisor.value) - divisor.error;
        let inherited = (self.error + magnitude(quotient) * divisor.error) / smallest_divisor;
        let back = Self::exact(quotient).times(Self::exact(divisor.value));
        let is_exact = back == Some(Self::exact(self.value));
        Self::exact_or_rounded(quotient, is_exact, inherited).unless_float_is_better(inherited)
    }

    /// Returns the remainder for a divisor that cannot be zero.
    pub(super) fn modulo(self, divisor: Self) -> Option<Self> {
        if self.is_exact() && divisor.is_exact() {
            let remainder = self.value.checked_rem(divisor.value);
            return remainder.map(Self::exact);
        }
        let times = self.divided_by(divisor)?.stepped(|it| it.trunc());
        self.plus(times.times(divisor)?.negated())
    }

    /// Raises to a power by repeated multiplication.
    pub(super) fn raised(self, exponent: u64) -> Option<Self> {
        let (mut result, mut square, mut left) = (Self::exact(Decimal::ONE), self, exponent);
        while left > 0 {
            if left % 2 == 1 {
                result = result.times(square)?;
            }
            left /= 2;
            if left > 0 {
                square = square.times(square)?;
            }
        }
        Some(result)
    }

    /// Returns the square root of a value that is not negative.
    pub(super) fn square_root(self) -> Option<Self> {
        if self.value <= Decimal::ZERO {
            let error = self.error.sqrt();
            return Some(Self {
                value: Decimal::ZERO,
                error,
            });
        }
        // One step of Newton's method doubles the 15 digits of floating point.
        let guess = Decimal::try_from(magnitude(self.value).sqrt()).ok()?;
        let root = (guess + self.value.checked_div(guess)?) / Decimal::TWO;
        let inherited = if self.may_be_zero() {
            (magnitude(self.value) + self.error).sqrt()
        } else {
            self.error / magnitude(root)
        };
        let is_exact = Self::exact(root).times(Self::exact(root)) == Some(Self::exact(self.value));
        Self::exact_or_rounded(root, is_exact, inherited).unless_float_is_better(inherited)
    }

    /// Applies a step function, such as rounding down. The result is exact if no step is within the
    /// error.
    pub(super) fn stepped(self, step: fn(Decimal) -> Decimal) -> Self {
        if self.is_exact() {
            return Self::exact(step(self.value));
        }
        // Slightly more than the error, since this conversion rounds, too.
        let error = Decimal::try_from(self.error * 1.001).ok();
        let ends = error.and_then(|error| {
            let lowest = self.value.checked_sub(error)?;
            Some((step(lowest), step(self.value.checked_add(error)?)))
        });
        // A value this close to a step is probably on it.
        let value = step(self.sure());
        let distance = |end: Decimal| end.checked_sub(value).map_or(f64::INFINITY, magnitude);
        match ends {
            Some((low, high)) if low == high => Self::exact(low),
            Some((low, high)) => Self {
                value,
                error: distance(low).max(distance(high)),
            },
            None => Self {
                value,
                error: self.error + distance(self.value) + 1.0,
            },
        }
    }

    /// The number of reliable digits.
    pub(super) fn sure_digits(self) -> u32 {
        let sizes = magnitude(self.value) / self.error;
        let digits = (sizes / 2.0).log10();
        let most = (1..=MAX_PLACES).rev().find(|it| f64::from(*it) <= digits);
        most.unwrap_or_else(|| u32::from(sizes >= 1.0))
    }

    /// The value without its unreliable digits.
    pub(super) fn sure(self) -> Decimal {
        let value = match self.sure_digits() {
            0 => Decimal::ZERO,
            digits => self.value.round_sf(digits).unwrap_or(self.value),
        };
        value.normalize()
    }

    fn exact_or_rounded(value: Decimal, is_exact: bool, inherited: f64) -> Self {
        if is_exact {
            Self {
                value,
                error: inherited,
            }
        } else {
            Self::rounded(value, inherited)
        }
    }

    /// Returns `None` if floating point is more precise, since many digits of small numbers are
    /// beyond the places of a decimal.
    fn unless_float_is_better(self, inherited: f64) -> Option<Self> {
        let is_small = self.value.abs() < MIN_ROUNDED;
        let was_good = inherited <= magnitude(self.value) * FLOAT_PRECISION;
        let is_worse = self.error > inherited && is_small && was_good;
        (!is_worse).then_some(self)
    }
}

fn magnitude(value: Decimal) -> f64 {
    value.abs().to_f64().unwrap_or(f64::INFINITY)
}
