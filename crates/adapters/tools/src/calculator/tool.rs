//! What a model is told, and the way from its expression to the answer.

use exmex::{Express as _, FlatEx};
use ports::ToolDefinition;
use serde_json::json;

use super::{
    notation::{self, LONGEST_EXPRESSION, Misread, Numeral},
    number::{Fault, Number},
    operations::Operations,
};

pub(crate) const NAME: &str = "calculator";
pub(crate) const EXPRESSION: &str = "expression";

const DESCRIPTION: &str = "Calculates an arithmetic expression and answers its value: exact, \
    or marked as approximate. Knows + - * / ^ (power), % (remainder, not percent), \
    parentheses, the functions sqrt, abs, round, floor, ceil, exp, ln, log10, sin, cos and tan \
    (of radians), each of one value in parentheses, and the constants pi and e. \
    Example: (1250 * 1.19 - 80) / 3";

/// Why there is no value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(transparent)]
    Misread(#[from] Misread),
    #[error("it cannot be read")]
    Unreadable,
    #[error(transparent)]
    Impossible(#[from] Fault),
}

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: NAME.to_owned(),
        description: DESCRIPTION.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                EXPRESSION: {
                    "type": "string",
                    "description": "The expression, with a point before decimals, without \
                        separators of thousands, units and names of one's own",
                    "minLength": 1,
                    "maxLength": LONGEST_EXPRESSION,
                },
            },
            "required": [EXPRESSION],
            "additionalProperties": false,
        }),
    }
}

/// The value of an expression, as text.
pub(crate) fn calculate(expression: &str) -> Result<String, Refusal> {
    let expression = notation::read(expression)?;
    let parsed = FlatEx::<Number, Operations, Numeral>::parse(&expression);
    let value = parsed.and_then(|expression| expression.eval(&[]));
    Ok(value.or(Err(Refusal::Unreadable))?.told()?)
}

#[cfg(test)]
mod tests;
