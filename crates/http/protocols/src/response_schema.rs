//! The schema of a reply, where the protocol of a client has it.

use application::ChatError;
use domain::{FaultCode, InputFault, ResponseSchema};
use serde_json::Value;

/// Reads the schema at `pointer` of a body; null is none.
pub(crate) fn response_schema(
    schema: &Value,
    pointer: &str,
) -> Result<Option<ResponseSchema>, InputFault> {
    match schema {
        Value::Null => Ok(None),
        Value::Object(members) => Ok(Some(ResponseSchema::new(members.clone()))),
        _ => {
            let detail = "must be a JSON Schema, as an object";
            Err(InputFault::new(pointer, FaultCode::WrongType, detail))
        }
    }
}

/// Names the place of the schema in a rejection that is about it.
pub(crate) fn with_schema_at(pointer: &str, error: ChatError) -> ChatError {
    let ChatError::Invalid(mut faults) = error else {
        return error;
    };
    for fault in &mut faults {
        if fault.pointer == "/responseSchema" {
            pointer.clone_into(&mut fault.pointer);
        }
    }
    ChatError::Invalid(faults)
}
