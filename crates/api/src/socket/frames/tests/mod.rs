mod client;
mod server;

use std::sync::LazyLock;

use domain::Sizes;

use super::{components, document};
use crate::body::Schemas;

/// Validators for frames of both directions.
static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
    let openapi = crate::openapi::document(&Sizes::default(), "http://localhost").unwrap();
    let document = document(&openapi).unwrap();
    let names: Vec<&str> = components().chain(["ServerFrame"]).collect();
    Schemas::new(&document, &names).unwrap()
});
