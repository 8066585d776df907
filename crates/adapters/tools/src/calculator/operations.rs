//! What can be done with numbers.

use exmex::{BinOp, MakeOperators, Operator};
use rust_decimal::{Decimal, MathematicalOps as _, RoundingStrategy, prelude::ToPrimitive as _};

use super::number::{Fault, Number};

/// Names of functions, each of one value.
pub(crate) const FUNCTIONS: [&str; 11] = [
    "sqrt", "abs", "round", "floor", "ceil", "exp", "ln", "log10", "sin", "cos", "tan",
];

/// Names of constants.
pub(crate) const CONSTANTS: [&str; 2] = ["pi", "e"];

/// Beyond, powers of all but a few numbers have more digits than can be held.
const LARGEST_EXACT_EXPONENT: u64 = 100_000;

/// The most places that a decimal has.
const MOST_PLACES: u32 = 28;

/// The operators and functions.
#[derive(Debug, Clone)]
pub(crate) struct Operations;

impl MakeOperators<Number> for Operations {
    fn make<'a>() -> Vec<Operator<'a, Number>> {
        vec![
            Operator::make_bin("+", binary(1, add)),
            Operator::make_bin_unary("-", binary(1, subtract), negate),
            Operator::make_bin("*", binary(2, multiply)),
            Operator::make_bin("/", binary(2, divide)),
            Operator::make_bin("%", binary(2, remainder)),
            Operator::make_bin("^", binary(3, power)),
            Operator::make_unary("sqrt", square_root),
            Operator::make_unary("abs", |x| either(x, |x| x.abs(), f64::abs)),
            Operator::make_unary("round", |x| either(x, round, f64::round)),
            Operator::make_unary("floor", |x| either(x, |x| x.floor(), f64::floor)),
            Operator::make_unary("ceil", |x| either(x, |x| x.ceil(), f64::ceil)),
            Operator::make_unary("exp", |x| rounded(x, f64::exp)),
            Operator::make_unary("ln", |x| logarithm(x, f64::ln)),
            Operator::make_unary("log10", |x| logarithm(x, f64::log10)),
            Operator::make_unary("sin", |x| rounded(x, f64::sin)),
            Operator::make_unary("cos", |x| rounded(x, f64::cos)),
            Operator::make_unary("tan", |x| rounded(x, f64::tan)),
            Operator::make_constant("pi", Number::Exact(Decimal::PI)),
            Operator::make_constant("e", Number::Exact(Decimal::E)),
        ]
    }
}

/// Operators of one priority are applied from left to right, whatever they are: none is called
/// commutative.
fn binary(priority: i64, apply: fn(Number, Number) -> Number) -> BinOp<Number> {
    BinOp {
        apply,
        prio: priority,
        is_commutative: false,
    }
}

fn add(a: Number, b: Number) -> Number {
    calculate(
        a,
        b,
        |a, b| a.checked_add(b).map(Number::Exact),
        |a, b| a + b,
    )
}

fn subtract(a: Number, b: Number) -> Number {
    calculate(
        a,
        b,
        |a, b| a.checked_sub(b).map(Number::Exact),
        |a, b| a - b,
    )
}

fn negate(x: Number) -> Number {
    either(x, |x| -x, |x| -x)
}

fn multiply(a: Number, b: Number) -> Number {
    let exact = |a: Decimal, b: Decimal| {
        let (a, b) = (a.normalize(), b.normalize());
        let is_whole = a.is_zero() || b.is_zero() || a.scale() + b.scale() <= MOST_PLACES;
        Number::exact_unless_cut(a.checked_mul(b)?, is_whole)
    };
    calculate(a, b, exact, |a, b| a * b)
}

fn divide(a: Number, b: Number) -> Number {
    let exact = |a: Decimal, b: Decimal| {
        let quotient = a.checked_div(b)?;
        let is_whole = quotient.checked_mul(b) == Some(a);
        Number::exact_unless_cut(quotient, is_whole)
    };
    if_not_zero(b, || calculate(a, b, exact, |a, b| a / b))
}

fn remainder(a: Number, b: Number) -> Number {
    let exact = |a: Decimal, b: Decimal| a.checked_rem(b).map(Number::Exact);
    if_not_zero(b, || calculate(a, b, exact, |a, b| a % b))
}

fn power(base: Number, exponent: Number) -> Number {
    let (base_float, exponent_float) = match (base.to_float(), exponent.to_float()) {
        (Ok(base), Ok(exponent)) => (base, exponent),
        (Err(fault), _) | (_, Err(fault)) => return Number::Impossible(fault),
    };
    if base_float == 0.0 && exponent_float < 0.0 {
        return Number::Impossible(Fault::DivisionByZero);
    }
    if base_float < 0.0 && exponent_float.fract() != 0.0 {
        return Number::Impossible(Fault::PowerOfNegative);
    }
    calculate(base, exponent, exact_power, f64::powf)
}

fn exact_power(base: Decimal, exponent: Decimal) -> Option<Number> {
    let is_whole = exponent.is_integer();
    let exponent = exponent.to_i64().filter(|_| is_whole)?;
    if exponent.unsigned_abs() > LARGEST_EXACT_EXPONENT {
        return None;
    }
    Number::exact_unless_cut(base.checked_powi(exponent)?, base.is_zero())
}

fn square_root(x: Number) -> Number {
    match x {
        Number::Exact(value) if value.is_sign_negative() && !value.is_zero() => {
            Number::Impossible(Fault::RootOfNegative)
        }
        Number::Rounded(value) if value < 0.0 => Number::Impossible(Fault::RootOfNegative),
        Number::Exact(value) => value
            .sqrt()
            .and_then(|root| Number::exact_unless_cut(root, value.is_zero()))
            .unwrap_or_else(|| rounded(x, f64::sqrt)),
        Number::Rounded(_) | Number::Impossible(_) => rounded(x, f64::sqrt),
    }
}

fn logarithm(x: Number, of_float: fn(f64) -> f64) -> Number {
    match x.to_float() {
        Ok(value) if value <= 0.0 => Number::Impossible(Fault::LogarithmOfNonPositive),
        _ => rounded(x, of_float),
    }
}

fn round(x: Decimal) -> Decimal {
    x.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero)
}

fn if_not_zero(divisor: Number, divide: impl FnOnce() -> Number) -> Number {
    match divisor {
        Number::Exact(value) if value.is_zero() => Number::Impossible(Fault::DivisionByZero),
        Number::Rounded(0.0) => Number::Impossible(Fault::DivisionByZero),
        _ => divide(),
    }
}

/// Exactly if that is possible, else in floating point.
fn calculate(
    a: Number,
    b: Number,
    exact: impl FnOnce(Decimal, Decimal) -> Option<Number>,
    float: impl FnOnce(f64, f64) -> f64,
) -> Number {
    if let (Number::Exact(a), Number::Exact(b)) = (a, b)
        && let Some(result) = exact(a, b)
    {
        return result;
    }
    match (a.to_float(), b.to_float()) {
        (Ok(a), Ok(b)) => Number::rounded(float(a, b)),
        (Err(fault), _) | (_, Err(fault)) => Number::Impossible(fault),
    }
}

fn either(x: Number, exact: fn(Decimal) -> Decimal, float: fn(f64) -> f64) -> Number {
    match x {
        Number::Exact(value) => Number::Exact(exact(value)),
        Number::Rounded(_) | Number::Impossible(_) => rounded(x, float),
    }
}

fn rounded(x: Number, float: fn(f64) -> f64) -> Number {
    match x.to_float() {
        Ok(value) => Number::rounded(float(value)),
        Err(fault) => Number::Impossible(fault),
    }
}
