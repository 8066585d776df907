mod bodies;
mod config_body;
mod configured_sizes;
mod document;
mod merge_patch;
mod published;

use domain::Sizes;
use serde_json::Value;

use document::{derived, document};

/// The published document, with the default sizes.
pub(crate) fn published_document(url: &str) -> Value {
    super::document(&Sizes::default(), url).unwrap()
}
