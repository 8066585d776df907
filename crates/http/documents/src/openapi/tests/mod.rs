mod bodies;
mod config_body;
mod configured_sizes;
mod document;
mod merge_patch;
mod published;

use domain::Sizes;
use kit::operations::OperationTable;
use serde_json::Value;
use utoipa::OpenApi as _;

use document::{derived, document};

/// The operations of all surfaces.
pub(crate) fn table() -> OperationTable {
    let surfaces = [
        rest::OPERATIONS,
        socket::OPERATIONS,
        regions::OPERATIONS,
        crate::OPERATIONS,
    ];
    OperationTable::new(&surfaces, &[])
}

/// The published document, with the default sizes.
pub(crate) fn published_document(url: &str) -> Value {
    let paths = rest::Paths::openapi()
        .merge_from(socket::Paths::openapi())
        .merge_from(regions::Paths::openapi())
        .merge_from(crate::Paths::openapi());
    super::document(&Sizes::default(), url, &table(), paths).unwrap()
}
