//! The OpenAPI document.

mod bodies;
mod common;
mod complete;
mod component;
mod config_body;
mod configured_sizes;
mod constraints;
mod document;
mod event_union;
mod headers;
mod links;
mod merge_patch;
mod operations;
mod problems;
mod shared;
mod swagger;
#[cfg(test)]
pub(crate) mod tests;
mod variants;

pub use complete::complete;
pub use document::{BODIES, DocumentError, document};
pub use swagger::{swagger_headers, swagger_page, swagger_ui};
pub(crate) use variants::{pascal_case, tagged_variants};
