//! The engines and capabilities that agents can use.

use actix_web::HttpResponse;
use application::engines::EngineInfo;
use domain::FileKinds;
use kit::auth::{AgentsRead, Authorized};
use ports::{CapabilityInfo, CapabilityKind as Kind};
use serde::Serialize;
use utoipa::ToSchema;

/// All items of a kind; few enough for one response.
#[derive(Debug, Serialize, ToSchema)]
pub struct Listing<T> {
    data: Vec<T>,
}

/// A reply engine of this server.
#[derive(Debug, Serialize, ToSchema)]
pub struct EngineEntry {
    /// The name, for `config.engine` and `config.fallbacks`.
    name: String,
    /// True for the engine of agents that name none.
    default: bool,
    /// False while the circuit breaker of the engine is open: it failed too often, and the
    /// fallbacks of agents reply until a turn has tried it again. Also false if the last request to
    /// its server, a chat or one for its models, got no connection. This is not a health check: a
    /// server that accepts connections and rejects every chat is available at first.
    available: bool,
    /// The models for `config.llm.model`, if the engine knows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    models: Option<Vec<String>>,
    /// The kinds of files that it takes besides texts; those of its own model, if it has several.
    inputs: Vec<EngineInput>,
}

/// A kind of file that an engine takes.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineInput {
    /// Pictures.
    Image,
    /// PDF documents.
    Pdf,
    /// Sound.
    Audio,
}

impl EngineInput {
    fn list(kinds: FileKinds) -> Vec<Self> {
        let all = [
            (kinds.image, Self::Image),
            (kinds.pdf, Self::Pdf),
            (kinds.audio, Self::Audio),
        ];
        let taken = all.into_iter().filter(|(is_taken, _)| *is_taken);
        taken.map(|(_, kind)| kind).collect()
    }
}

impl From<EngineInfo> for EngineEntry {
    fn from(info: EngineInfo) -> Self {
        Self {
            name: info.name,
            default: info.is_default,
            available: info.is_available,
            models: info.models,
            inputs: EngineInput::list(info.inputs),
        }
    }
}

/// A capability with an effect.
#[derive(Debug, Serialize, ToSchema)]
pub struct CapabilityEntry {
    /// The name, for an agent's `capabilities`.
    name: String,
    /// The kind of the capability.
    kind: CapabilityKind,
    /// A description of its effect.
    description: String,
    /// True if it works at the moment: the server of the tool can be reached, and no engine has found
    /// that it cannot offer the tool to models.
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

/// The kind of a capability.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapabilityKind {
    /// One tool.
    Tool,
    /// A tool server with all its tools.
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
/// `rules` always exists; the operator configures the others. The lists of models come from the
/// servers of the engines and are cached; the first request for a list can take two seconds.
#[utoipa::path(
    get, path = "/api/engines", operation_id = "list_engines", tag = "Catalogue",
    responses((status = 200, description = "The engines.", body = Listing<EngineEntry>)),
)]
pub async fn list_engines(authorized: Authorized<AgentsRead>) -> HttpResponse {
    let engines = authorized.engines.list(&authorized.caller().tenant).await;
    let entries: Vec<EngineEntry> = engines.into_iter().map(Into::into).collect();
    HttpResponse::Ok().json(Listing { data: entries })
}

/// List the capabilities with an effect. Any other name only describes an agent.
///
/// A tool is a capability with the name of the tool. A tool server is a capability with all its
/// tools, and each of them is also a capability of its own: `<server>/<tool>`. Capabilities that
/// are not available at the moment are listed too; agents reply without them.
#[utoipa::path(
    get, path = "/api/capabilities", operation_id = "list_capabilities", tag = "Catalogue",
    responses((status = 200, description = "The capabilities.", body = Listing<CapabilityEntry>)),
)]
pub async fn list_capabilities(authorized: Authorized<AgentsRead>) -> HttpResponse {
    let capabilities = authorized.toolbox.capabilities();
    let entries: Vec<CapabilityEntry> = capabilities.into_iter().map(Into::into).collect();
    HttpResponse::Ok().json(Listing { data: entries })
}
