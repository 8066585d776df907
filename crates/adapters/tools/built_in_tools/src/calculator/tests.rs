//! Tests of values, errors and run time.

use std::time::{Duration, Instant};

use rstest::rstest;

use super::*;

mod properties;

#[rstest]
#[case("1 + 1", "2")]
#[case("2 * 3 + 4 * 5", "26")]
#[case("2 + 3 * 4 - 6 / 2", "11")]
#[case("8 / 4 / 2", "1")]
#[case("8 - 4 - 2", "2")]
#[case("2 * 7 % 4", "2")]
#[case("7 % 4 * 2", "6")]
#[case("12 / 3 * 2", "8")]
#[case("1 - 2 + 3", "2")]
#[case("0.1 + 0.2", "0.3")]
#[case("1 / 8", "0.125")]
#[case("123456789 * 987654321", "121932631112635269")]
#[case("2 ^ 10", "1024")]
#[case("2 ** 10", "1024")]
#[case("2 ^ -2", "0.25")]
#[case("2 * 3 ^ 2", "18")]
#[case("(2 ^ 3) ^ 2", "64")]
#[case("2 ^ (3 ^ 2)", "512")]
#[case("2 ^ 3 ^ 2", "512")]
#[case("-(2 ^ 2)", "-4")]
#[case("-2 ^ 2", "-4")]
#[case("(-2) ^ 2", "4")]
#[case("3 * -2", "-6")]
#[case("2 - -3", "5")]
#[case("2 - +3", "-1")]
#[case("+5", "5")]
#[case("--5", "5")]
#[case("-7 % 3", "-1")]
#[case("7 % (-4)", "3")]
#[case("1e3 + 1.5E-3", "1000.0015")]
#[case(".5 * 4", "2")]
#[case("6 × 7 ÷ 2 − 1", "20")]
#[case("sqrt(16)", "4")]
#[case("SQRT(9) + Abs(-3)", "6")]
#[case("round(2.5) + round(-2.5)", "0")]
#[case("floor(-1.5) + ceil(1.2)", "0")]
#[case("0 ^ 0", "1")]
#[case("0 * 5", "0")]
#[case("((((((1))))))", "1")]
#[case("0.1 ^ 20", "0.00000000000000000001")]
#[case("1.05 ^ 14", "1.9799315994393973883056640625")]
#[case("round(10 / 3 * 100) / 100", "3.33")]
#[case("ceil(1000 * 1.05 ^ 30)", "4322")]
#[case("round(-2 / 3)", "-1")]
#[case("sqrt(1.44)", "1.2")]
#[case("sqrt(0)", "0")]
#[case("1e28 % 0.3", "0.1")]
#[case("2 / 3 * 3", "2")]
#[case("floor(1 / 3 * 3)", "1")]
#[case("(1 / 3 * 3) % 1", "0")]
#[case("(1 / 3 * 3 - 1) * 1e28", "0")]
#[case("(1e28 + 0.1 - 1e28) * 10", "1")]
#[case(
    "79228162514264337593543950335 - 0.4",
    "79228162514264337593543950334.6"
)]
#[case("floor(1e25 + 0.5)", "10000000000000000000000000")]
#[case("2 ^ 100", "1267650600228229401496703205376")]
#[case("1e-20 * 1.23456789e-10", "0.00000000000000000000000000000123456789")]
#[case(
    "0.33333333333333333333333333333333333 * 3",
    "0.99999999999999999999999999999999999"
)]
#[case("sqrt(-(1 / 3 * 3 - 1))", "0")]
fn exact_values_are_exact(#[case] expression: &str, #[case] value: &str) {
    assert_eq!(calculate(expression).as_deref(), Ok(value), "{expression}");
}

#[rstest]
#[case("2 ^ 0.5", "1.4142135623731")]
#[case("sin(pi / 6)", "0.5")]
#[case("log10(1000)", "3")]
#[case("ln(e)", "1")]
#[case("exp(1)", "2.71828182845905")]
#[case("2 ^ 1000", "1.07150860718627e301")]
#[case("2 ^ -1000", "9.33263618503219e-302")]
#[case("1e-200 * 1.23456789012345e-10", "1.23456789012345e-210")]
#[case("2 * pi", "6.28318530717959")]
#[case("sqrt(2)", "1.4142135623731")]
#[case("sqrt(3) ^ 2", "3")]
#[case("floor(sqrt(3) ^ 2)", "3")]
#[case("round(sqrt(2) * 1e20)", "1.4142135623731e20")]
#[case("1e300 * 2", "2e300")]
#[case("1.79769313486231e308", "1.79769313486231e308")]
#[case("(-1) ^ 9007199254740993", "-1")]
#[case("(-1) ^ -9007199254740993", "-1")]
#[case("(-1) ^ 9007199254740992", "1")]
#[case("(-1) ^ 1e20", "1")]
#[case("(-3) ^ 201", "-7.96841966627624e95")]
#[case("(-2) ^ (3 * cos(0))", "-8")]
#[case("10 % pi", "0.575222039230621")]
#[case("(1e28 + 1 / (1e39 + 3)) % (1 / (1e39 + 7))", "4e-78")]
fn floating_point_values_are_marked(#[case] expression: &str, #[case] value: &str) {
    let shown = calculate(expression).unwrap();
    let value: f64 = value.parse().unwrap();
    let shown = shown
        .strip_prefix("approximately ")
        .expect("a rounded value");
    let shown: f64 = shown.parse().unwrap();
    assert!(
        (shown - value).abs() <= value.abs() * 1e-13,
        "{expression} = {shown}"
    );
}

#[rstest]
#[case("10 / 3", "3.333333333333333333333333333")]
#[case("-2 / 3", "-0.6666666666666666666666666667")]
#[case(
    "2e-30 / 3",
    "0.0000000000000000000000000000006666666666666666666666666667"
)]
#[case("1e30 / 7", "142857142857142857142857142900")]
#[case("(1250 * 1.19 - 80) / 3", "469.1666666666666666666666667")]
fn fractions_without_end_are_rounded_and_marked(#[case] expression: &str, #[case] value: &str) {
    let shown = calculate(expression).unwrap();
    assert_eq!(shown, format!("approximately {value}"), "{expression}");
}

#[rstest]
#[case("1 / 0", "it divides by zero")]
#[case("1 / (1 / 3 * 3 - 1)", "it divides by zero")]
#[case("(1 / 3 * 3 - 1) ^ -1", "it divides by zero")]
#[case("1 / (sqrt(3) * sqrt(3) - 3)", "it divides by zero")]
#[case("sqrt(-(1 / 3))", "it takes the square root of a negative number")]
#[case("1 / (2 - 2)", "it divides by zero")]
#[case("1 % 0", "it divides by zero")]
#[case("0 ^ -1", "it divides by zero")]
#[case("1 / (0 * sin(1))", "it divides by zero")]
#[case("sqrt(-1)", "it takes the square root of a negative number")]
#[case("ln(0)", "it takes the logarithm of a number that is not positive")]
#[case(
    "(-8) ^ 0.5",
    "it raises a negative number to a power that is not an integer"
)]
#[case("9 ^ (9 ^ 9)", "its value is too large")]
#[case("exp(1000)", "its value is too large")]
#[case("1e999", "its value is too large")]
#[case("1.7976931348623157e308", "its value is too large")]
#[case("-1.7976931348623157e308", "its value is too large")]
#[case("1 / 1e-400", "a number in it is too small")]
#[case("1 / 1e-9999999999999999999", "a number in it is too small")]
#[case("1 / 0e-400", "it divides by zero")]
#[case("(10 ^ 78 + 1) % 10", "an operand is too large to be exact")]
#[case("3 ^ 200 % 7", "an operand is too large to be exact")]
#[case("7 % 3 ^ 200", "an operand is too large to be exact")]
#[case("pi % 1e-20", "an operand is too large to be exact")]
#[case("(-1) ^ (sqrt(2) * 1e20)", "an operand is too large to be exact")]
#[case(
    "(-1) ^ (1e20 + 0.5)",
    "it raises a negative number to a power that is not an integer"
)]
#[case("0 * (1 / 0)", "it divides by zero")]
#[case("2 3", "an operator is missing before `3`")]
#[case("2(3)", "an operator is missing before `(`")]
#[case("2 pi", "an operator is missing before `pi`")]
#[case("(1)(2)", "an operator is missing before `(`")]
#[case("1.2.3", "an operator is missing before `.3`")]
#[case("1 + * 2", "a value is missing before `*`")]
#[case("()", "a value is missing before `)`")]
#[case("1 +", "a value is missing at the end")]
#[case("", "a value is missing at the end")]
#[case("(1", "a parenthesis is not closed")]
#[case("1)", "a closing parenthesis has no opening one")]
#[case(
    "sqrt 2",
    "`sqrt` is a function: write its value in parentheses after it"
)]
#[case("x + 1", "`x` is not a known function or constant")]
#[case("while(1)", "`while` is not a known function or constant")]
#[case(
    "1,000 + 1",
    "`,` is not allowed in an expression: write 1234.5 for 1,234.5"
)]
#[case("{a}", "`{` is not allowed in an expression")]
#[case("5!", "`!` is not allowed in an expression")]
#[case("π", "`π` is not allowed in an expression")]
fn invalid_expressions_are_rejected_with_a_reason(#[case] expression: &str, #[case] reason: &str) {
    let error = calculate(expression).expect_err("no value");
    assert_eq!(error.to_string(), reason, "{expression}");
}

#[rstest]
#[case("15 %")]
#[case("200 * (15%)")]
#[case("5 % * 2")]
#[case("15% + 3")]
#[case("15% - 3")]
#[case("15% − 3")]
#[case("7 % -4")]
#[case("15% × 3")]
#[case("15% · 3")]
#[case("15% ÷ 3")]
#[case("15% / 3")]
#[case("15% % 3")]
#[case("15% ^ 3")]
fn a_percent_sign_that_may_mean_per_cent_is_rejected(#[case] expression: &str) {
    let error = calculate(expression).expect_err("no value");
    assert_eq!(
        error.to_string(),
        "`%` is the remainder, not percent: write 15/100 for 15 %, and a divisor with a sign in \
         parentheses, such as 7 % (-4)",
        "{expression}"
    );
}

#[test]
fn a_negative_zero_is_shown_without_its_sign() {
    assert_eq!(calculate("-(0 * sin(1))").unwrap(), "approximately 0");
}

#[test]
fn long_and_deep_expressions_are_rejected() {
    let nested = |depth| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(calculate(&nested(32)).as_deref(), Ok("1"));
    let too_deep = calculate(&nested(33)).unwrap_err();
    assert_eq!(too_deep, CalculationError::Syntax(SyntaxError::TooDeep));
    assert_eq!(calculate(&("1^".repeat(33) + "1")), Err(too_deep));
    assert!(calculate(&"9".repeat(1_000)).is_err(), "too large");
    let too_long = calculate(&"9".repeat(1_001)).unwrap_err();
    assert_eq!(too_long, CalculationError::Syntax(SyntaxError::TooLong));
}

#[rstest]
#[case::sums("1+".repeat(499) + "1")]
#[case::signs("-".repeat(999) + "1")]
#[case::powers("(1.0000001^99999)*".repeat(50) + "1")]
#[case::daily_interest("(1 + 0.05 / 365) ^ (365 * 30)".to_owned())]
#[case::functions("sqrt(".repeat(32) + "2" + &")".repeat(32))]
#[case::quotients("1/3*".repeat(249) + "1")]
#[case::exponents("1^".repeat(32) + "1")]
#[case::fractions((1..150).fold("0".to_owned(), |sum, number| format!("{sum}+1/{number}")))]
#[case::sums_in_parentheses("1+3-(".repeat(32) + "1" + &")".repeat(32))]
fn the_worst_expressions_take_little_time(#[case] expression: String) {
    let start = Instant::now();
    calculate(&expression).unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
}
