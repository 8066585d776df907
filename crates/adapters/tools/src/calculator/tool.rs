//! The definition of the tool, and the calculation of an expression.

use exmex::{Express as _, FlatEx};
use ports::ToolDefinition;
use serde_json::json;

use super::{
    notation::{self, MAX_EXPRESSION_CHARS, Numeral, SyntaxError},
    number::{ArithmeticError, Number},
    operations::Operations,
};

pub(crate) const NAME: &str = "calculator";
pub(crate) const EXPRESSION: &str = "expression";

const DESCRIPTION: &str = "Calculates an arithmetic expression and returns its value: exact, \
    or marked as approximate. Knows + - * / ^ (power), % (remainder, not percent), \
    parentheses, the functions sqrt, abs, round, floor, ceil, exp, ln, log10, sin, cos and tan \
    (of radians), each of one value in parentheses, and the constants pi and e. \
    Example: (1250 * 1.19 - 80) / 3";

/// The reason that an expression has no value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CalculationError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("it is not a valid expression")]
    Unreadable,
    #[error(transparent)]
    Arithmetic(#[from] ArithmeticError),
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
                        thousands separators, units and variables",
                    "minLength": 1,
                    "maxLength": MAX_EXPRESSION_CHARS,
                },
            },
            "required": [EXPRESSION],
            "additionalProperties": false,
        }),
    }
}

/// Calculates the value of an expression, as text.
pub(crate) fn calculate(expression: &str) -> Result<String, CalculationError> {
    let expression = notation::to_library_notation(expression)?;
    let parsed = FlatEx::<Number, Operations, Numeral>::parse(&expression);
    let value = parsed.and_then(|expression| expression.eval(&[]));
    Ok(value.or(Err(CalculationError::Unreadable))?.to_text()?)
}

#[cfg(test)]
mod tests;
