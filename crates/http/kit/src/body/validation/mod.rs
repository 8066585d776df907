//! The faults of a body that its schema rejects.

mod error_mapping;
mod one_of;
mod truncate;

pub(super) use error_mapping::map_error;
pub(super) use truncate::truncate;
