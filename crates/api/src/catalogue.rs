//! What agents on this server can use.

use actix_web::HttpResponse;
use application::engines::EngineInfo;
use ports::{CapabilityInfo, CapabilityKind as Kind};
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
    /// Whether it is asked at the moment: no health check. It is `false` only while an engine that
    /// failed too often is left alone and an agent's fallbacks answer, until a turn has tried it
    /// again. Otherwise it is `true`, also of an engine that was never reached.
    available: bool,
    /// The models that `config.llm.model` can name, where the engine knows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    models: Option<Vec<String>>,
}

impl From<EngineInfo> for EngineEntry {
    fn from(info: EngineInfo) -> Self {
        Self {
            name: info.name,
            default: info.is_default,
            available: info.is_available,
            models: info.models,
        }
    }
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

impl From<CapabilityInfo> for CapabilityEntry {
    fn from(info: CapabilityInfo) -> Self {
        Self {
            name: info.name,
            kind: info.kind.into(),
            description: info.description,
            available: info.is_available,
        }
    }
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

impl From<Kind> for CapabilityKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Tool => Self::Tool,
            Kind::Server => Self::Server,
        }
    }
}

/// List the reply engines of this server.
///
/// `rules` is always there; the operator names the others. The lists of models are those of the
/// engines' servers, asked lately: one that has just been asked for the first time can take two
/// seconds.
#[utoipa::path(
    get, path = "/api/engines", operation_id = "list_engines", tag = "Catalogue",
    responses((status = 200, description = "The engines.", body = Listing<EngineEntry>)),
)]
pub async fn list_engines(authorized: Authorized<AnyCredential>) -> HttpResponse {
    let engines = authorized.engines.list(&authorized.caller().tenant).await;
    let entries: Vec<EngineEntry> = engines.into_iter().map(Into::into).collect();
    HttpResponse::Ok().json(Listing { data: entries })
}

/// List the capabilities that do something. Any other name is description only.
///
/// A tool is a capability by its name. So is a server with all its tools, of which each is also one
/// of its own: `<server>/<tool>`. What is not available at the moment stays listed, and agents that
/// have it answer without.
#[utoipa::path(
    get, path = "/api/capabilities", operation_id = "list_capabilities", tag = "Catalogue",
    responses((status = 200, description = "The capabilities.", body = Listing<CapabilityEntry>)),
)]
pub async fn list_capabilities(authorized: Authorized<AnyCredential>) -> HttpResponse {
    let capabilities = authorized.toolbox.capabilities();
    let entries: Vec<CapabilityEntry> = capabilities.into_iter().map(Into::into).collect();
    HttpResponse::Ok().json(Listing { data: entries })
}
