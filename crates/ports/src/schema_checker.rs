//! Checks of schemas, and of replies by them.

use async_trait::async_trait;
use domain::{InputFault, ResponseSchema, TenantId};
use serde_json::Value;

/// A check that has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A keyword of the schema has a value that JSON Schema does not allow, or its reference leads nowhere.
    #[error("the schema is invalid")]
    Invalid,
    /// The tenant has too many checks that wait already.
    #[error("too many checks wait")]
    Overloaded,
}

/// Checks schemas and values. The work is that of the tenant, whose other work waits for it, and takes at most
/// two seconds.
#[async_trait]
pub trait SchemaChecker: Send + Sync {
    /// Checks a schema whose form has no fault.
    async fn check_schema(
        &self,
        tenant: &TenantId,
        schema: &ResponseSchema,
    ) -> Result<(), SchemaError>;

    /// Returns the JSON value of a text that satisfies the schema, or else its faults, at least one, with pointers
    /// into the value. Text around the JSON is a fault, and so is a check that takes too long.
    async fn check_output(
        &self,
        tenant: &TenantId,
        schema: &ResponseSchema,
        text: String,
    ) -> Result<Result<Value, Vec<InputFault>>, SchemaError>;
}
