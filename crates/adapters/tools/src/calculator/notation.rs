//! How expressions are written.
//!
//! The expression library binds signs closer than powers and applies powers from left to right,
//! where mathematics does otherwise. So what has two readings is refused with the advice to write
//! parentheses: the model tries again, and nobody gets a wrong value.

use exmex::MatchLiteral;

use super::operations::{CONSTANTS, FUNCTIONS};

/// In characters.
pub(crate) const LONGEST_EXPRESSION: usize = 1_000;

/// Parentheses within parentheses.
const DEEPEST_NESTING: usize = 32;

/// Why an expression is not calculated.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Misread {
    #[error("it is longer than {LONGEST_EXPRESSION} characters")]
    TooLong,
    #[error("parentheses are nested more than {DEEPEST_NESTING} deep")]
    TooDeep,
    #[error("`{0}` cannot stand in an expression")]
    Character(char),
    #[error("`,` cannot stand in an expression: write 1234.5 for 1,234.5")]
    Comma,
    #[error("there is nothing that is called `{0}`")]
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
    #[error("a parenthesis is closed that was not opened")]
    Unopened,
    #[error("powers of powers have two readings: write (a^b)^c or a^(b^c)")]
    PowerOfPower,
    #[error("a sign before a power has two readings: write -(a^b) or (-a)^b")]
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

/// The expression in the library's notation, if it has exactly one reading.
pub(crate) fn read(text: &str) -> Result<String, Misread> {
    if text.chars().count() > LONGEST_EXPRESSION {
        return Err(Misread::TooLong);
    }
    let tokens = tokens(text)?;
    let signs = signs(&tokens)?;
    refuse_two_readings(&tokens, &signs)?;
    let positive_signs =
        |index: usize| signs.contains(&index) && tokens[index] == Token::Additive('+');
    let words = tokens.iter().enumerate();
    let words = words.filter(|(index, _)| !positive_signs(*index));
    Ok(words
        .map(|(_, token)| token.text())
        .collect::<Vec<_>>()
        .join(" "))
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, Misread> {
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

fn named(name: &str) -> Result<Token<'static>, Misread> {
    let lower_case = name.to_ascii_lowercase();
    let find = |names: &'static [&'static str]| names.iter().find(|known| **known == lower_case);
    let function = find(&FUNCTIONS).map(|name| Token::Function(name));
    let constant = find(&CONSTANTS).map(|name| Token::Constant(name));
    function
        .or(constant)
        .ok_or_else(|| Misread::Name(name.to_owned()))
}

fn symbol(character: char) -> Result<Token<'static>, Misread> {
    Ok(match character {
        '+' => Token::Additive('+'),
        '-' | '−' => Token::Additive('-'),
        '*' | '×' | '·' => Token::Operator('*'),
        '/' | '÷' => Token::Operator('/'),
        '%' | '^' => Token::Operator(character),
        '(' => Token::Open,
        ')' => Token::Close,
        ',' => return Err(Misread::Comma),
        _ => return Err(Misread::Character(character)),
    })
}

/// Which tokens are signs, if values and operators take turns as they should.
fn signs(tokens: &[Token<'_>]) -> Result<Vec<usize>, Misread> {
    let mut signs = Vec::new();
    let mut depth = 0_usize;
    let mut has_value = false;
    for (index, token) in tokens.iter().enumerate() {
        match (token, has_value) {
            (Token::Number(_) | Token::Constant(_), false) => has_value = true,
            (Token::Function(name), false) => {
                if tokens.get(index + 1) != Some(&Token::Open) {
                    return Err(Misread::FunctionWithoutValue(name));
                }
            }
            (Token::Additive(_), false) => signs.push(index),
            (Token::Open, false) => depth += 1,
            (Token::Additive(_) | Token::Operator(_), true) => has_value = false,
            (Token::Close, true) => {
                depth = depth.checked_sub(1).ok_or(Misread::Unopened)?;
            }
            (Token::Operator(_) | Token::Close, false) => {
                let follows_percent = index > 0 && tokens[index - 1] == Token::Operator('%');
                let missing = if follows_percent {
                    Misread::ValueMissingAfterPercent
                } else {
                    Misread::ValueMissing
                };
                return Err(missing(token.text()));
            }
            (_, true) => return Err(Misread::OperatorMissing(token.text())),
        }
        if depth > DEEPEST_NESTING {
            return Err(Misread::TooDeep);
        }
    }
    match tokens.last() {
        Some(Token::Operator('%')) => Err(Misread::PercentAtEnd),
        _ if !has_value => Err(Misread::ValueMissingAtEnd),
        _ if depth > 0 => Err(Misread::Unclosed),
        _ => Ok(signs),
    }
}

fn refuse_two_readings(tokens: &[Token<'_>], signs: &[usize]) -> Result<(), Misread> {
    let is_raised = |index: usize| {
        let end = end_of_value(tokens, index + 1);
        tokens.get(end) == Some(&Token::Operator('^'))
    };
    let mut powers = (0..tokens.len()).filter(|index| tokens[*index] == Token::Operator('^'));
    if powers.any(is_raised) {
        return Err(Misread::PowerOfPower);
    }
    let mut minus = signs
        .iter()
        .filter(|index| tokens[**index] == Token::Additive('-'));
    if minus.any(|index| is_raised(*index)) {
        return Err(Misread::SignBeforePower);
    }
    Ok(())
}

/// Where the value ends that begins there with its signs and functions. The tokens are in order.
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

/// Numbers: digits with at most one point among them, and an exponent of ten if there is one.
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

/// How many digits the text begins with.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}
