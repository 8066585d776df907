//! The operations of all surfaces.

use documents::SURFACES;
use kit::operations::OperationTable;

/// Returns the operations of all surfaces.
pub fn table() -> OperationTable {
    OperationTable::new(&SURFACES, protocols::PROTOCOLS)
}
