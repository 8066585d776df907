//! From a body's bytes to a command, with all that is wrong with it at once.

use domain::{Fault, FaultCode};
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::{faults::Faults, json, schema::Schemas};

/// Why a body is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyError {
    /// It is not JSON, or not JSON that this service reads: `malformed_json`.
    Malformed {
        /// What is wrong and where, without quoting the body.
        detail: String,
    },
    /// It is JSON, but not what the route takes: `validation_failed`.
    Faults(Vec<Fault>),
}

/// Gives a value that component `schema` allows its type.
pub fn typed<T: DeserializeOwned>(value: Value, schema: &str) -> Result<T, BodyError> {
    serde_json::from_value(value).map_err(|error| {
        // The document allows what the type does not: ours to mend, but still not a body to act
        // on. The error's text could quote the body.
        let kind = error.classify();
        tracing::error!(schema, ?kind, "a body passed its schema but not its type");
        let detail = "not a value that can be read here";
        BodyError::Faults(vec![Fault::new("", FaultCode::BadFormat, detail)])
    })
}

/// Reads a body that the component `schema` of the document describes.
///
/// # Panics
/// When `schema` was not compiled (see [`Schemas::check`]).
pub fn parse_value(bytes: &[u8], schema: &str, schemas: &Schemas) -> Result<Value, BodyError> {
    read(bytes)?.checked(schema, schemas)
}

/// JSON that was read, with what is wrong with it whatever its schema is.
#[derive(Debug)]
pub struct Unchecked {
    value: Value,
    faults: Faults,
}

/// Reads a text of which only its content says which schema describes it.
pub fn read(bytes: &[u8]) -> Result<Unchecked, BodyError> {
    let (value, faults) = json::read(bytes).map_err(|detail| BodyError::Malformed { detail })?;
    Ok(Unchecked { value, faults })
}

impl Unchecked {
    /// What it says, right or wrong.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value, if the component `schema` allows it.
    ///
    /// # Panics
    /// When `schema` was not compiled (see [`Schemas::check`]).
    pub fn checked(mut self, schema: &str, schemas: &Schemas) -> Result<Value, BodyError> {
        schemas.check_into(schema, &self.value, &mut self.faults);
        let faults = self.faults.into_sorted();
        if !faults.is_empty() {
            return Err(BodyError::Faults(faults));
        }
        write_integers_as_such(&mut self.value);
        Ok(self.value)
    }
}

/// To JSON Schema 60000.0 is an integer, to serde it is not.
fn write_integers_as_such(value: &mut Value) {
    /// Up to here a double knows its neighbours.
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
        Value::Array(items) => items.iter_mut().for_each(write_integers_as_such),
        Value::Object(members) => members.values_mut().for_each(write_integers_as_such),
        _ => {}
    }
}
