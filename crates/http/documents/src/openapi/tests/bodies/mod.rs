//! Bodies that are checked against the published schemas.

mod agreement;
mod faults;
mod json;
mod parse;
mod unions;

use kit::body::{BodyError, Schemas, parse_value, typed};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::document;

/// Validators for what the tests send.
fn schemas() -> &'static Schemas {
    static SCHEMAS: std::sync::LazyLock<Schemas> = std::sync::LazyLock::new(|| {
        let names = [
            "AgentDraft",
            "AgentDraftPatch",
            "ChatRequest",
            "ConfigBody",
            "ConversationDraftPatch",
            "KeyRequest",
        ];
        Schemas::new(&document(), &names).unwrap()
    });
    &SCHEMAS
}

/// Reads and checks a body, and gives it its type.
fn parse<T: DeserializeOwned>(
    bytes: &[u8],
    schema: &str,
    schemas: &Schemas,
) -> Result<T, BodyError> {
    typed(parse_value(bytes, schema, schemas)?, schema)
}

/// Returns the faults of `body`, one line each: pointer, code, detail.
fn faults_of(schema: &str, body: &Value) -> Vec<String> {
    faults_of_text(schema, &body.to_string())
}

fn faults_of_text(schema: &str, body: &str) -> Vec<String> {
    let faults = match parse_value(body.as_bytes(), schema, schemas()) {
        Ok(_) => Vec::new(),
        Err(BodyError::Faults(faults)) => faults,
        Err(BodyError::Malformed { detail }) => panic!("malformed: {detail}"),
        Err(BodyError::TooLarge) => panic!("too large"),
    };
    faults
        .into_iter()
        .map(|fault| {
            let code = serde_json::to_value(fault.code).unwrap();
            format!(
                "{} {}: {}",
                fault.pointer,
                code.as_str().unwrap(),
                fault.detail
            )
        })
        .collect()
}
