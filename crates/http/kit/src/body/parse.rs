//! Converts the bytes of a body into a command, or reports all its faults.

use domain::{
    FaultCode, Faults, InputFault,
    json::{self, JsonError, MAX_DEPTH, SyntaxProblem},
};
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::{schema::Schemas, without_files::bytes_without_files};

/// The reason for which a body is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyError {
    /// It is not JSON, or violates the rules of this service for JSON: `malformed_json`.
    Malformed {
        /// A description with a position, without quoting the body.
        detail: String,
    },
    /// It is JSON, but does not match the schema: `validation_failed`.
    Faults(Vec<InputFault>),
    /// It is too large without the files in it: `body_too_large`.
    TooLarge,
}

/// Converts a value that matches the component `schema` into its type.
pub fn typed<T: DeserializeOwned>(value: Value, schema: &str) -> Result<T, BodyError> {
    serde_json::from_value(value).map_err(|error| {
        // The document allows what the type rejects: a bug of the service, but the body cannot be
        // used. The message of the error could quote the body.
        let kind = error.classify();
        tracing::error!(
            schema,
            ?kind,
            "a body matched its schema but not its type; rejecting it"
        );
        let detail = "has a value that the server cannot process";
        BodyError::Faults(vec![InputFault::new("", FaultCode::BadFormat, detail)])
    })
}

/// Parses a body and validates it against the component `schema` of the document.
///
/// # Panics
///
/// If `schema` was not compiled (see [`Schemas::check`]).
pub fn parse_value(bytes: &[u8], schema: &str, schemas: &Schemas) -> Result<Value, BodyError> {
    read(bytes)?.checked(schema, schemas)
}

/// Parsed JSON before validation, with the faults that do not depend on its schema.
#[derive(Debug)]
pub struct Unchecked {
    value: Value,
    faults: Faults,
}

/// Parses a text whose schema depends on its content.
pub fn read(bytes: &[u8]) -> Result<Unchecked, BodyError> {
    match json::parse(bytes) {
        Ok((value, faults)) => Ok(Unchecked { value, faults }),
        Err(error) => Err(BodyError::Malformed {
            detail: detail(&error),
        }),
    }
}

/// Parses a text that may contain files, and has at most `max` bytes without them.
pub fn read_with_files(bytes: &[u8], max: usize) -> Result<Unchecked, BodyError> {
    if bytes.len() > max && bytes_without_files(bytes) > max {
        return Err(BodyError::TooLarge);
    }
    read(bytes)
}

fn detail(error: &JsonError) -> String {
    let (problem, line, column) = match *error {
        JsonError::NotUtf8 { valid_bytes } => {
            return format!("The body is not UTF-8 after its first {valid_bytes} bytes.");
        }
        JsonError::ByteOrderMark => return "The body begins with a byte order mark.".to_owned(),
        JsonError::Syntax {
            problem,
            line,
            column,
        } => (problem, line, column),
    };
    let problem = match problem {
        SyntaxProblem::TooDeep => format!("The body is nested more than {MAX_DEPTH} deep"),
        SyntaxProblem::Truncated => "The body ends too early".to_owned(),
        SyntaxProblem::Malformed => "The body cannot be read as JSON".to_owned(),
    };
    format!("{problem}, at line {line}, column {column}.")
}

impl Unchecked {
    /// Returns the value, valid or not.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the value of a body without a schema.
    pub fn without_schema(mut self) -> Result<Value, BodyError> {
        let faults = self.faults.into_sorted();
        if !faults.is_empty() {
            return Err(BodyError::Faults(faults));
        }
        normalize_integers(&mut self.value);
        Ok(self.value)
    }

    /// Returns the value if it matches the component `schema`.
    ///
    /// # Panics
    ///
    /// If `schema` was not compiled (see [`Schemas::check`]).
    pub fn checked(mut self, schema: &str, schemas: &Schemas) -> Result<Value, BodyError> {
        schemas.check_into(schema, &self.value, &mut self.faults);
        let faults = self.faults.into_sorted();
        if !faults.is_empty() {
            return Err(BodyError::Faults(faults));
        }
        normalize_integers(&mut self.value);
        Ok(self.value)
    }
}

/// Converts whole numbers such as `60000.0` to integers, which they are for JSON Schema but not for
/// serde.
fn normalize_integers(value: &mut Value) {
    /// All integers up to this one are exact as a double.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let exact = number
                .as_f64()
                .filter(|double| double.fract() == 0.0 && double.abs() <= EXACT);
            if let Some(double) = exact {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "an exact integer below 2^53"
                )]
                let integer = double as i64;
                *number = Number::from(integer);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_integers),
        Value::Object(members) => members.values_mut().for_each(normalize_integers),
        _ => {}
    }
}
