//! The operations of all surfaces, and the documents that describe them.

use documents::{asyncapi, openapi};
use domain::Sizes;
use kit::{
    body::MissingComponent,
    operations::{Operation, OperationTable},
};
use serde_json::Value;
use utoipa::OpenApi as _;

/// The operations of the API itself, by crate.
const SURFACES: [&[Operation]; 4] = [
    rest::OPERATIONS,
    socket::OPERATIONS,
    regions::OPERATIONS,
    documents::OPERATIONS,
];

/// Returns the operations of all surfaces.
pub fn table() -> OperationTable {
    OperationTable::new(&SURFACES, protocols::PROTOCOLS)
}

/// Generates the OpenAPI document of a server with these sizes, whose clients reach it at `url`.
pub fn openapi_document(sizes: &Sizes, url: &str) -> Result<Value, openapi::DocumentError> {
    let paths = rest::Paths::openapi()
        .merge_from(socket::Paths::openapi())
        .merge_from(regions::Paths::openapi())
        .merge_from(documents::Paths::openapi());
    openapi::document(sizes, url, &table(), paths)
}

/// Generates the AsyncAPI document of a server that clients reach at `url`. `openapi` is the
/// finished OpenAPI document, which has the same components.
pub fn asyncapi_document(openapi: &Value, url: &str) -> Result<Value, MissingComponent> {
    asyncapi::document(openapi, url, &table())
}
