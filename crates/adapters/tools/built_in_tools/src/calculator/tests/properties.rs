//! Properties of any expression.

use proptest::prelude::*;

use crate::calculator::{calculate, parser::MAX_EXPRESSION_CHARS};

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
    fn unmarked_values_are_exact((expression, (top, bottom)) in fractions()) {
        prop_assume!(expression.len() <= MAX_EXPRESSION_CHARS - 7);
        let shown = calculate(&format!("floor({expression})")).ok();
        let floor = top.div_euclid(bottom).to_string();
        if let Some(shown) = shown.filter(|shown| !shown.starts_with("approximately")) {
            prop_assert_eq!(shown, floor);
        }
        let shown = calculate(&expression).ok();
        if let Some(shown) = shown.filter(|shown| !shown.starts_with("approximately")) {
            // With as many places, the fraction is this integer.
            let places = shown.split_once('.').map_or(0, |(_, places)| places.len());
            prop_assume!(places <= 18);
            let shown: i128 = shown.replace('.', "").parse().unwrap();
            prop_assert_eq!(shown * bottom, top * 10_i128.pow(u32::try_from(places).unwrap()));
        }
    }

    #[test]
    fn marked_values_are_close((expression, (top, bottom)) in fractions()) {
        prop_assume!(expression.len() <= MAX_EXPRESSION_CHARS);
        #[expect(clippy::cast_precision_loss, reason = "the comparison is approximate")]
        let exact = top as f64 / bottom as f64;
        let shown = calculate(&expression).ok();
        if let Some(shown) = shown.as_deref().and_then(|it| it.strip_prefix("approximately ")) {
            let value: f64 = shown.parse().unwrap();
            prop_assert!((value - exact).abs() <= exact.abs() * 1e-14, "{expression} = {shown}");
        }
    }

    #[test]
    fn integer_expressions_follow_mathematics((expression, value) in sums()) {
        prop_assume!(expression.len() <= MAX_EXPRESSION_CHARS);
        prop_assert_eq!(calculate(&expression), Ok(value.to_string()));
    }

    #[test]
    fn any_text_is_calculated_or_rejected(text in ".{0,60}") {
        let _ = calculate(&text);
    }

    #[test]
    fn any_sequence_of_tokens_is_calculated_or_rejected(
        text in "([0-9.e ]|\\+|-|\\*|/|%|\\^|\\(|\\)|sqrt|ln|pi|,|\\{|\\}){0,40}",
    ) {
        let _ = calculate(&text);
    }
}
