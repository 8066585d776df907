//! The parser of expressions. Powers bind more tightly than signs, and from right to left.

use super::{
    CalculationError,
    number::{Number, constant, function},
};

/// The maximum length of an expression, in characters.
pub(super) const MAX_EXPRESSION_CHARS: usize = 1_000;

/// The maximum nesting of parentheses and exponents.
const MAX_NESTING: usize = 32;

/// The characters that show after `%` that it may mean per cent.
const NO_DIVISOR: &[char] = &[')', '+', '-', '−', '*', '×', '·', '/', '÷', '%', '^'];

/// The reason that an expression is rejected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SyntaxError {
    #[error("it is longer than {MAX_EXPRESSION_CHARS} characters")]
    TooLong,
    #[error("parentheses or powers are nested more than {MAX_NESTING} deep")]
    TooDeep,
    #[error("`{0}` is not allowed in an expression")]
    Character(char),
    #[error("`,` is not allowed in an expression: write 1234.5 for 1,234.5")]
    Comma,
    #[error("`{0}` is not a known function or constant")]
    Name(String),
    #[error("`{0}` is a function: write its value in parentheses after it")]
    FunctionWithoutValue(String),
    #[error("an operator is missing before `{0}`")]
    OperatorMissing(String),
    #[error("a value is missing before `{0}`")]
    ValueMissing(char),
    #[error(
        "`%` is the remainder, not percent: write 15/100 for 15 %, and a divisor with a sign in \
         parentheses, such as 7 % (-4)"
    )]
    AmbiguousPercent,
    #[error("a value is missing at the end")]
    ValueMissingAtEnd,
    #[error("a parenthesis is not closed")]
    Unclosed,
    #[error("a closing parenthesis has no opening one")]
    Unopened,
}

type Evaluation = Result<Number, CalculationError>;

/// Returns the value of an expression.
pub(super) fn evaluate(text: &str) -> Evaluation {
    if text.chars().count() > MAX_EXPRESSION_CHARS {
        return Err(SyntaxError::TooLong.into());
    }
    let rest = text.trim_start();
    let mut parser = Parser { rest, nesting: 0 };
    let value = parser.sum()?;
    match parser.rest.chars().next() {
        None => Ok(value),
        Some(')') => Err(SyntaxError::Unopened.into()),
        Some(next) => Err(parser.operator_missing(next).into()),
    }
}

struct Parser<'a> {
    /// The part of the text that follows, without white space before it.
    rest: &'a str,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Evaluation {
        let mut value = self.product()?;
        loop {
            if self.skip(&["+"]) {
                value = value.plus(&self.product()?)?;
            } else if self.skip(&["-", "−"]) {
                value = value.plus(&self.product()?.negated())?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Evaluation {
        let mut value = self.signed()?;
        loop {
            if self.skip(&["*", "×", "·"]) {
                value = value.times(&self.signed()?)?;
            } else if self.skip(&["/", "÷"]) {
                value = value.divided_by(&self.signed()?)?;
            } else if self.skip(&["%"]) {
                // A model that writes `15% + 3` means per cent, not the remainder of `15` and `+3`.
                if self.rest.is_empty() || self.rest.starts_with(NO_DIVISOR) {
                    return Err(SyntaxError::AmbiguousPercent.into());
                }
                value = value.modulo(&self.power()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn signed(&mut self) -> Evaluation {
        let mut is_negative = false;
        loop {
            if self.skip(&["-", "−"]) {
                is_negative = !is_negative;
            } else if !self.skip(&["+"]) {
                break;
            }
        }
        let value = self.power()?;
        Ok(if is_negative { value.negated() } else { value })
    }

    fn power(&mut self) -> Evaluation {
        let base = self.operand()?;
        if self.skip(&["^", "**"]) {
            let exponent = self.nested(Self::signed)?;
            Ok(base.raised(&exponent)?)
        } else {
            Ok(base)
        }
    }

    fn operand(&mut self) -> Evaluation {
        if self.skip(&["("]) {
            return self.parenthesised();
        }
        let numeral = self.take(numeral_length(self.rest));
        if !numeral.is_empty() {
            return Ok(Number::parse(numeral)?);
        }
        let is_in_name = |next: char| next.is_ascii_alphanumeric();
        let end = self.rest.find(|next| !is_in_name(next));
        let name = self.take(end.unwrap_or(self.rest.len()));
        let lower_case = name.to_ascii_lowercase();
        if let Some(apply) = function(&lower_case) {
            if !self.skip(&["("]) {
                return Err(SyntaxError::FunctionWithoutValue(lower_case).into());
            }
            return Ok(apply(self.parenthesised()?)?);
        }
        if !name.is_empty() {
            let unknown = || SyntaxError::Name(name.to_owned()).into();
            return constant(&lower_case).ok_or_else(unknown);
        }
        Err(CalculationError::Syntax(match self.rest.chars().next() {
            None => SyntaxError::ValueMissingAtEnd,
            Some(',') => SyntaxError::Comma,
            Some(next) if "*×·/÷%^)".contains(next) => SyntaxError::ValueMissing(next),
            Some(next) => SyntaxError::Character(next),
        }))
    }

    /// Evaluates what follows an opening parenthesis.
    fn parenthesised(&mut self) -> Evaluation {
        let value = self.nested(Self::sum)?;
        match self.rest.chars().next() {
            _ if self.skip(&[")"]) => Ok(value),
            None => Err(SyntaxError::Unclosed.into()),
            Some(next) => Err(self.operator_missing(next).into()),
        }
    }

    fn nested(&mut self, evaluate: fn(&mut Self) -> Evaluation) -> Evaluation {
        if self.nesting == MAX_NESTING {
            return Err(SyntaxError::TooDeep.into());
        }
        self.nesting += 1;
        let value = evaluate(self);
        self.nesting -= 1;
        value
    }

    /// Returns the reason that the text cannot continue after a value.
    fn operator_missing(&self, next: char) -> SyntaxError {
        let is_value = |next: char| next.is_ascii_alphanumeric() || next == '.';
        match next {
            ',' => SyntaxError::Comma,
            '(' => SyntaxError::OperatorMissing("(".to_owned()),
            _ if is_value(next) => {
                let value = self.rest.chars().take_while(|next| is_value(*next));
                SyntaxError::OperatorMissing(value.collect())
            }
            _ => SyntaxError::Character(next),
        }
    }

    /// Skips the first of these symbols that follows. Returns `false` if none does.
    fn skip(&mut self, symbols: &[&str]) -> bool {
        let rest = symbols.iter().find_map(|it| self.rest.strip_prefix(it));
        self.rest = rest.map_or(self.rest, str::trim_start);
        rest.is_some()
    }

    /// Takes the next bytes.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest.trim_start();
        taken
    }
}

/// Returns the length of the number at the start of the text, or 0.
fn numeral_length(text: &str) -> usize {
    let digits = |from: &str| from.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    let fraction = text[length..].strip_prefix('.').map_or(0, digits);
    if fraction > 0 {
        length += 1 + fraction;
    }
    if let Some(exponent) = text[length..].strip_prefix(['e', 'E'])
        && length > 0
    {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let exponent = digits(&exponent[sign..]);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}
