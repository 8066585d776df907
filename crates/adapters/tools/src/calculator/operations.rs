//! The operators and functions of expressions.

use exmex::{BinOp, MakeOperators, Operator};
use rust_decimal::{Decimal, RoundingStrategy, prelude::ToPrimitive as _};

use super::{
    measured::Measured,
    number::{ArithmeticError, Number},
};

/// The functions, each of one value.
pub(crate) const FUNCTIONS: [&str; 11] = [
    "sqrt", "abs", "round", "floor", "ceil", "exp", "ln", "log10", "sin", "cos", "tan",
];

/// The constants.
pub(crate) const CONSTANTS: [&str; 2] = ["pi", "e"];

/// The maximum integer exponent. Above it, the powers of almost all numbers have too many digits.
const MAX_INTEGER_EXPONENT: u64 = 100_000;

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
            Operator::make_unary("abs", absolute),
            Operator::make_unary("round", |x| stepped(x, round, f64::round)),
            Operator::make_unary("floor", |x| stepped(x, |x| x.floor(), f64::floor)),
            Operator::make_unary("ceil", |x| stepped(x, |x| x.ceil(), f64::ceil)),
            Operator::make_unary("exp", |x| in_float(x, f64::exp)),
            Operator::make_unary("ln", |x| logarithm(x, f64::ln)),
            Operator::make_unary("log10", |x| logarithm(x, f64::log10)),
            Operator::make_unary("sin", |x| in_float(x, f64::sin)),
            Operator::make_unary("cos", |x| in_float(x, f64::cos)),
            Operator::make_unary("tan", |x| in_float(x, f64::tan)),
            Operator::make_constant("pi", constant(Decimal::PI)),
            Operator::make_constant("e", constant(Decimal::E)),
        ]
    }
}

/// Creates an operator. No operator is declared commutative, so that operators of one priority are
/// applied from left to right.
fn binary(priority: i64, apply: fn(Number, Number) -> Number) -> BinOp<Number> {
    BinOp {
        apply,
        prio: priority,
        is_commutative: false,
    }
}

fn constant(value: Decimal) -> Number {
    Number::decimal(Measured::rounded(value, 0.0))
}

fn add(a: Number, b: Number) -> Number {
    calculate(a, b, Measured::plus, |a, b| a + b)
}

fn subtract(a: Number, b: Number) -> Number {
    calculate(a, b, |a, b| a.plus(b.negated()), |a, b| a - b)
}

fn negate(x: Number) -> Number {
    match x {
        Number::Decimal(number) => Number::decimal(number.negated()),
        Number::Float(_) | Number::Impossible(_) => in_float(x, |x| -x),
    }
}

fn absolute(x: Number) -> Number {
    match x {
        Number::Decimal(number) if number.value.is_sign_negative() => negate(x),
        Number::Decimal(_) => x,
        Number::Float(_) | Number::Impossible(_) => in_float(x, f64::abs),
    }
}

fn multiply(a: Number, b: Number) -> Number {
    calculate(a, b, Measured::times, |a, b| a * b)
}

fn divide(a: Number, b: Number) -> Number {
    if_not_zero(b, || calculate(a, b, Measured::divided_by, |a, b| a / b))
}

fn remainder(a: Number, b: Number) -> Number {
    if_not_zero(b, || calculate(a, b, Measured::modulo, |a, b| a % b))
}

fn power(base: Number, exponent: Number) -> Number {
    let (base_float, exponent_float) = match (base.to_float(), exponent.to_float()) {
        (Ok(base), Ok(exponent)) => (base, exponent),
        (Err(error), _) | (_, Err(error)) => return Number::Impossible(error),
    };
    if base_float < 0.0 && exponent_float.fract() != 0.0 {
        return Number::Impossible(ArithmeticError::PowerOfNegative);
    }
    let power = || calculate(base, exponent, integer_power, f64::powf);
    if exponent_float < 0.0 {
        if_not_zero(base, power)
    } else {
        power()
    }
}

fn integer_power(base: Measured, exponent: Measured) -> Option<Measured> {
    let is_whole = exponent.is_exact() && exponent.value.is_integer();
    let exponent = exponent.value.to_i64().filter(|_| is_whole)?;
    if exponent.unsigned_abs() > MAX_INTEGER_EXPONENT {
        return None;
    }
    let power = base.raised(exponent.unsigned_abs())?;
    if exponent >= 0 {
        return Some(power);
    }
    let one = Measured::exact(Decimal::ONE);
    (!power.may_be_zero()).then(|| one.divided_by(power))?
}

fn square_root(x: Number) -> Number {
    match x {
        Number::Decimal(it) if it.value < Decimal::ZERO && (it.is_exact() || !it.may_be_zero()) => {
            Number::Impossible(ArithmeticError::RootOfNegative)
        }
        Number::Float(value) if value < 0.0 => Number::Impossible(ArithmeticError::RootOfNegative),
        Number::Decimal(number) => number
            .square_root()
            .map_or_else(|| in_float(x, f64::sqrt), Number::decimal),
        Number::Float(_) | Number::Impossible(_) => in_float(x, f64::sqrt),
    }
}

fn logarithm(x: Number, of_float: fn(f64) -> f64) -> Number {
    match x.to_float() {
        Ok(value) if value <= 0.0 => Number::Impossible(ArithmeticError::LogarithmOfNonPositive),
        _ => in_float(x, of_float),
    }
}

fn round(x: Decimal) -> Decimal {
    x.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero)
}

fn if_not_zero(divisor: Number, divide: impl FnOnce() -> Number) -> Number {
    match divisor {
        Number::Decimal(it) if it.is_exact() && it.value.is_zero() => {
            Number::Impossible(ArithmeticError::DivisionByZero)
        }
        Number::Decimal(it) if it.may_be_zero() => {
            Number::Impossible(ArithmeticError::DivisionByUnsure)
        }
        Number::Float(0.0) => Number::Impossible(ArithmeticError::DivisionByZero),
        _ => divide(),
    }
}

/// Calculates with decimals if possible, otherwise in floating point.
fn calculate(
    a: Number,
    b: Number,
    decimal: impl FnOnce(Measured, Measured) -> Option<Measured>,
    float: impl FnOnce(f64, f64) -> f64,
) -> Number {
    if let (Number::Decimal(a), Number::Decimal(b)) = (a, b)
        && let Some(result) = decimal(a, b)
    {
        return Number::decimal(result);
    }
    match (a.to_float(), b.to_float()) {
        (Ok(a), Ok(b)) => Number::float(float(a, b)),
        (Err(error), _) | (_, Err(error)) => Number::Impossible(error),
    }
}

fn stepped(x: Number, decimal: fn(Decimal) -> Decimal, float: fn(f64) -> f64) -> Number {
    match x {
        Number::Decimal(number) => Number::decimal(number.stepped(decimal)),
        Number::Float(_) | Number::Impossible(_) => in_float(x, float),
    }
}

fn in_float(x: Number, float: fn(f64) -> f64) -> Number {
    match x.to_float() {
        Ok(value) => Number::float(float(value)),
        Err(error) => Number::Impossible(error),
    }
}
