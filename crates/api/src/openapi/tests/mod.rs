mod config_body;
mod configured_sizes;
mod document;
mod merge_patch;
mod published;

pub(crate) use document::{derived, document};
