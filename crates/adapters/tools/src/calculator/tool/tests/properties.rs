//! What holds of any expression.

use proptest::prelude::*;

use crate::calculator::tool::{LONGEST_EXPRESSION, calculate};

/// An expression of whole numbers, and its value by the rules of mathematics.
fn sums() -> impl Strategy<Value = (String, i128)> {
    let number = (0_i128..1_000).prop_map(|number| (number.to_string(), number));
    number.prop_recursive(5, 64, 4, |inner| {
        let product = proptest::collection::vec(inner, 1..4).prop_map(|factors| {
            let small = |(text, _): &(String, _)| format!("(({text}) % 1000)");
            let text: Vec<_> = factors.iter().map(small).collect();
            let values = factors.iter().map(|(_, value)| value % 1_000);
            (text.join(" * "), values.product::<i128>())
        });
        let signed = (any::<bool>(), product);
        proptest::collection::vec(signed, 1..4).prop_map(|terms| {
            let mut text = String::from("0");
            let mut sum = 0;
            for (is_added, (term, value)) in terms {
                text.push_str(if is_added { " + " } else { " - " });
                text.push_str(&term);
                sum += if is_added { value } else { -value };
            }
            (text, sum)
        })
    })
}

/// Numerator and denominator.
type Fraction = (i128, i128);

/// An expression of fractions, and its value by the rules of mathematics.
fn fractions() -> impl Strategy<Value = (String, Fraction)> {
    let number = (1_i128..100).prop_map(|number| (number.to_string(), (number, 1)));
    number.prop_recursive(4, 12, 2, |inner| {
        (inner.clone(), "[-+*/]", inner).prop_filter_map(
            "too large, or divided by zero",
            |((text, (a, b)), operator, (other, (c, d)))| {
                let (top, bottom) = match operator.as_str() {
                    "+" => (
                        a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?,
                        b.checked_mul(d)?,
                    ),
                    "-" => (
                        a.checked_mul(d)?.checked_sub(c.checked_mul(b)?)?,
                        b.checked_mul(d)?,
                    ),
                    "*" => (a.checked_mul(c)?, b.checked_mul(d)?),
                    _ => (a.checked_mul(d)?, b.checked_mul(c)?),
                };
                let is_small = top.abs() < 1 << 62 && (1..1 << 62).contains(&bottom.abs());
                let sign = bottom.signum();
                let value = (top * sign, bottom * sign);
                is_small.then(|| (format!("({text}) {operator} ({other})"), value))
            },
        )
    })
}

proptest! {
    #[test]
    fn what_is_not_marked_is_exact((expression, (top, bottom)) in fractions()) {
        prop_assume!(expression.len() <= LONGEST_EXPRESSION - 7);
        let told = calculate(&format!("floor({expression})")).ok();
        let floor = top.div_euclid(bottom).to_string();
        if let Some(told) = told.filter(|told| !told.starts_with("approximately")) {
            prop_assert_eq!(told, floor);
        }
        let told = calculate(&expression).ok();
        if let Some(told) = told.filter(|told| !told.starts_with("approximately")) {
            // With as many places, the fraction is this whole number.
            let places = told.split_once('.').map_or(0, |(_, places)| places.len());
            prop_assume!(places <= 18);
            let told: i128 = told.replace('.', "").parse().unwrap();
            prop_assert_eq!(told * bottom, top * 10_i128.pow(u32::try_from(places).unwrap()));
        }
    }

    #[test]
    fn what_is_marked_is_no_farther_off_than_is_told((expression, (top, bottom)) in fractions()) {
        prop_assume!(expression.len() <= LONGEST_EXPRESSION);
        #[expect(clippy::cast_precision_loss, reason = "it is compared roughly")]
        let exact = top as f64 / bottom as f64;
        let told = calculate(&expression).ok();
        if let Some(told) = told.as_deref().and_then(|it| it.strip_prefix("approximately ")) {
            let (value, error) = told.split_once(" (give or take ").unwrap_or((told, "0)"));
            let value: f64 = value.parse().unwrap();
            let error: f64 = error.trim_end_matches(')').parse().unwrap();
            let of_comparison = exact.abs() * 1e-5;
            prop_assert!((value - exact).abs() <= error + of_comparison, "{expression} = {told}");
        }
    }

    #[test]
    fn calculates_as_mathematics_does((expression, value) in sums()) {
        prop_assume!(expression.len() <= LONGEST_EXPRESSION);
        prop_assert_eq!(calculate(&expression), Ok(value.to_string()));
    }

    #[test]
    fn any_text_is_calculated_or_refused(text in ".{0,60}") {
        let _ = calculate(&text);
    }

    #[test]
    fn any_row_of_signs_is_calculated_or_refused(
        text in "([0-9.e ]|\\+|-|\\*|/|%|\\^|\\(|\\)|sqrt|ln|pi|,|\\{|\\}){0,40}",
    ) {
        let _ = calculate(&text);
    }
}
