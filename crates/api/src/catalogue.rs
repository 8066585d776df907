//! What agents on this server can use.

use actix_web::HttpResponse;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::{AnyCredential, Authorized};

/// All there is of something; few enough for one answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct Listing<T> {
    data: Vec<T>,
}

/// A reply engine of this server.
#[derive(Debug, Serialize, ToSchema)]
pub struct EngineEntry {
    /// Its name, for `config.engine` and `config.fallbacks`.
    name: String,
    /// Whether it answers for agents that name none.
    default: bool,
}

/// A capability that does something.
#[derive(Debug, Serialize, ToSchema)]
pub struct CapabilityEntry {
    /// Its name, for an agent's `capabilities`.
    name: String,
    /// What kind of thing stands behind it.
    kind: CapabilityKind,
    /// What it does.
    description: String,
    /// Whether it works at the moment.
    available: bool,
}

/// What stands behind a capability.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapabilityKind {
    /// One tool.
    Tool,
    /// A server with its tools.
    Server,
}

/// List the reply engines of this server.
#[utoipa::path(
    get, path = "/api/engines", operation_id = "list_engines", tag = "Catalogue",
    responses((status = 200, description = "The engines.", body = Listing<EngineEntry>)),
)]
pub async fn list_engines(authorized: Authorized<AnyCredential>) -> HttpResponse {
    let default = authorized.engines.default_name();
    let entry = |name: &str| EngineEntry {
        name: name.to_owned(),
        default: name == default,
    };
    HttpResponse::Ok().json(Listing {
        data: authorized.engines.names().map(entry).collect(),
    })
}

/// List the capabilities that do something. Any other name is description only.
#[utoipa::path(
    get, path = "/api/capabilities", operation_id = "list_capabilities", tag = "Catalogue",
    responses((status = 200, description = "The capabilities.", body = Listing<CapabilityEntry>)),
)]
pub async fn list_capabilities(_authorized: Authorized<AnyCredential>) -> HttpResponse {
    HttpResponse::Ok().json(Listing::<CapabilityEntry> { data: Vec::new() })
}
