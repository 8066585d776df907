mod config_body;
mod document;
mod merge_patch;
mod published;
mod sizes;

pub(crate) use document::{derived, document};
