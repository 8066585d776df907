mod config_body;
mod document;
mod merge_patch;
mod sizes;

pub(crate) use document::{derived, document};
