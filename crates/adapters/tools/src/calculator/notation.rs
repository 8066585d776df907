//! The notation of expressions.
//!
//! The expression library binds signs more tightly than powers and applies powers from left to
//! right, contrary to mathematical convention. Ambiguous expressions are therefore rejected with
//! the advice to write parentheses: the model tries again, and no value is wrong.

use exmex::MatchLiteral;

use super::operations::{CONSTANTS, FUNCTIONS};

/// The maximum length of an expression, in characters.
pub(crate) const MAX_EXPRESSION_CHARS: usize = 1_000;

/// The maximum nesting of parentheses.
const MAX_NESTING: usize = 32;

/// The reason that an expression is rejected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SyntaxError {
    #[error("it is longer than {MAX_EXPRESSION_CHARS} characters")]
    TooLong,
    #[error("parentheses are nested more than {MAX_NESTING} deep")]
    TooDeep,
    #[error("`{0}` is not allowed in an expression")]
    Character(char),
    #[error("`,` is not allowed in an expression: write 1234.5 for 1,234.5")]
    Comma,
    #[error("`{0}` is not a known function or constant")]
    Name(String),
    #[error("`{0}` is a function: write its value in parentheses after it")]
    FunctionWithoutValue(&'static str),
    #[error("an operator is missing before `{0}`")]
    OperatorMissing(String),
    #[error("a value is missing before `{0}`")]
    ValueMissing(String),
    #[error("a value is missing before `{0}`; % is the remainder, so write 15/100 for 15 %")]
    ValueMissingAfterPercent(String),
    #[error("a value is missing at the end")]
    ValueMissingAtEnd,
    #[error("a value is missing at the end; % is the remainder, so write 15/100 for 15 %")]
    PercentAtEnd,
    #[error("a parenthesis is not closed")]
    Unclosed,
    #[error("a closing parenthesis has no opening one")]
    Unopened,
    #[error("powers of powers are ambiguous: write (a^b)^c or a^(b^c)")]
    PowerOfPower,
    #[error("a sign before a power is ambiguous: write -(a^b) or (-a)^b")]
    SignBeforePower,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'a> {
    Number(&'a str),
    Constant(&'static str),
    Function(&'static str),
    /// `+` or `-`, which may also be a sign.
    Additive(char),
    Operator(char),
    Open,
    Close,
}

impl Token<'_> {
    fn text(&self) -> String {
        match self {
            Self::Number(text) => (*text).to_owned(),
            Self::Constant(name) | Self::Function(name) => (*name).to_owned(),
            Self::Additive(character) | Self::Operator(character) => character.to_string(),
            Self::Open => "(".to_owned(),
            Self::Close => ")".to_owned(),
        }
    }
}

/// Converts an expression to the notation of the library, if it is unambiguous.
pub(crate) fn to_library_notation(text: &str) -> Result<String, SyntaxError> {
    if text.chars().count() > MAX_EXPRESSION_CHARS {
        return Err(SyntaxError::TooLong);
    }
    let tokens = tokens(text)?;
    let signs = signs(&tokens)?;
    reject_ambiguity(&tokens, &signs)?;
    let positive_signs =
        |index: usize| signs.contains(&index) && tokens[index] == Token::Additive('+');
    let words = tokens.iter().enumerate();
    let words = words.filter(|(index, _)| !positive_signs(*index));
    Ok(words
        .map(|(_, token)| token.text())
        .collect::<Vec<_>>()
        .join(" "))
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, SyntaxError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(character) = rest.chars().next() {
        let (token, length) = if let Some(numeral) = Numeral::is_literal(rest) {
            (Token::Number(numeral), numeral.len())
        } else if character.is_ascii_alphabetic() {
            let end = rest.find(|character: char| !character.is_ascii_alphanumeric());
            let name = &rest[..end.unwrap_or(rest.len())];
            (named(name)?, name.len())
        } else if rest.starts_with("**") {
            (Token::Operator('^'), 2)
        } else {
            (symbol(character)?, character.len_utf8())
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn named(name: &str) -> Result<Token<'static>, SyntaxError> {
    let lower_case = name.to_ascii_lowercase();
    let find = |names: &'static [&'static str]| names.iter().find(|known| **known == lower_case);
    let function = find(&FUNCTIONS).map(|name| Token::Function(name));
    let constant = find(&CONSTANTS).map(|name| Token::Constant(name));
    function
        .or(constant)
        .ok_or_else(|| SyntaxError::Name(name.to_owned()))
}

fn symbol(character: char) -> Result<Token<'static>, SyntaxError> {
    Ok(match character {
        '+' => Token::Additive('+'),
        '-' | '−' => Token::Additive('-'),
        '*' | '×' | '·' => Token::Operator('*'),
        '/' | '÷' => Token::Operator('/'),
        '%' | '^' => Token::Operator(character),
        '(' => Token::Open,
        ')' => Token::Close,
        ',' => return Err(SyntaxError::Comma),
        _ => return Err(SyntaxError::Character(character)),
    })
}

/// Returns the indices of the tokens that are signs. Checks that values and operators alternate.
fn signs(tokens: &[Token<'_>]) -> Result<Vec<usize>, SyntaxError> {
    let mut signs = Vec::new();
    let mut depth = 0_usize;
    let mut has_value = false;
    for (index, token) in tokens.iter().enumerate() {
        match (token, has_value) {
            (Token::Number(_) | Token::Constant(_), false) => has_value = true,
            (Token::Function(name), false) => {
                if tokens.get(index + 1) != Some(&Token::Open) {
                    return Err(SyntaxError::FunctionWithoutValue(name));
                }
            }
            (Token::Additive(_), false) => signs.push(index),
            (Token::Open, false) => depth += 1,
            (Token::Additive(_) | Token::Operator(_), true) => has_value = false,
            (Token::Close, true) => {
                depth = depth.checked_sub(1).ok_or(SyntaxError::Unopened)?;
            }
            (Token::Operator(_) | Token::Close, false) => {
                let follows_percent = index > 0 && tokens[index - 1] == Token::Operator('%');
                let missing = if follows_percent {
                    SyntaxError::ValueMissingAfterPercent
                } else {
                    SyntaxError::ValueMissing
                };
                return Err(missing(token.text()));
            }
            (_, true) => return Err(SyntaxError::OperatorMissing(token.text())),
        }
        if depth > MAX_NESTING {
            return Err(SyntaxError::TooDeep);
        }
    }
    match tokens.last() {
        Some(Token::Operator('%')) => Err(SyntaxError::PercentAtEnd),
        _ if !has_value => Err(SyntaxError::ValueMissingAtEnd),
        _ if depth > 0 => Err(SyntaxError::Unclosed),
        _ => Ok(signs),
    }
}

fn reject_ambiguity(tokens: &[Token<'_>], signs: &[usize]) -> Result<(), SyntaxError> {
    let is_raised = |index: usize| {
        let end = end_of_value(tokens, index + 1);
        tokens.get(end) == Some(&Token::Operator('^'))
    };
    let mut powers = (0..tokens.len()).filter(|index| tokens[*index] == Token::Operator('^'));
    if powers.any(is_raised) {
        return Err(SyntaxError::PowerOfPower);
    }
    let mut minus = signs
        .iter()
        .filter(|index| tokens[**index] == Token::Additive('-'));
    if minus.any(|index| is_raised(*index)) {
        return Err(SyntaxError::SignBeforePower);
    }
    Ok(())
}

/// Returns the end of the value that starts at `start` with its signs and functions. The tokens are
/// valid.
fn end_of_value(tokens: &[Token<'_>], start: usize) -> usize {
    let is_prefix = |token: &&Token<'_>| matches!(token, Token::Additive(_) | Token::Function(_));
    let start = start + tokens[start..].iter().take_while(is_prefix).count();
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        match token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// A number: digits with at most one point, and an optional exponent of ten.
#[derive(Debug, Clone)]
pub(crate) struct Numeral;

impl MatchLiteral for Numeral {
    fn is_literal(text: &str) -> Option<&str> {
        let whole = digits(text);
        let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
        let mut length = whole;
        if fraction > 0 {
            length += 1 + fraction;
        }
        if length == 0 {
            return None;
        }
        if let Some(exponent) = text[length..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let exponent = digits(&exponent[sign..]);
            if exponent > 0 {
                length += 1 + sign + exponent;
            }
        }
        Some(&text[..length])
    }
}

/// Returns the number of digits at the start of the text.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}
