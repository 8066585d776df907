mod client;
mod server;

use std::sync::LazyLock;

use kit::body::Schemas;

use super::{components, document};

/// Validators for frames of both directions.
static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
    let openapi = serde_json::from_str(include_str!("../../../../../../openapi.json")).unwrap();
    let document = document(&openapi).unwrap();
    let names: Vec<&str> = components().chain(["ServerFrame"]).collect();
    Schemas::new(&document, &names).unwrap()
});
