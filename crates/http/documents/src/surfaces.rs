//! The surfaces of the API itself.

use kit::operations::{Operation, OperationTable};
use utoipa::OpenApi as _;

/// The operations of the API itself, by crate. Those of protocols are not in the documents.
pub const SURFACES: [&[Operation]; 4] = [
    rest::OPERATIONS,
    socket::OPERATIONS,
    regions::OPERATIONS,
    crate::OPERATIONS,
];

/// Returns the operations of the API itself.
pub(crate) fn table() -> OperationTable {
    OperationTable::new(&SURFACES, &[])
}

/// Returns what the handlers say about their operations.
pub(crate) fn paths() -> utoipa::openapi::OpenApi {
    rest::Paths::openapi()
        .merge_from(socket::Paths::openapi())
        .merge_from(regions::Paths::openapi())
        .merge_from(crate::Paths::openapi())
}
