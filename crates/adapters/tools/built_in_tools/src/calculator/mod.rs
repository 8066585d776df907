//! The tool `calculator`.
//!
//! `parser` evaluates an expression while it reads it. `number` calculates with exact fractions,
//! and in floating point where these do not suffice.
//!
//! No expression library is used, because a wrong value without a mark is worse than an error.
//! `fend-core` 1.5.9 calculates `floor(1e25+0.5)` as 2^64 and `15 % + 3` as 315 %, and overflows
//! the stack on deeply nested parentheses. Others depend on HTTP clients or have licences that this
//! workspace does not allow.

mod number;
mod parser;

use ports::{ToolDefinition, ToolHints};
use serde_json::json;

use number::ArithmeticError;
use parser::{MAX_EXPRESSION_CHARS, SyntaxError};

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
        hints: ToolHints::READ_ONLY,
    }
}

/// Calculates the value of an expression, as text.
pub(crate) fn calculate(expression: &str) -> Result<String, CalculationError> {
    Ok(parser::evaluate(expression)?.to_string())
}

#[cfg(test)]
mod tests;
