//! Metadata for clients: where tokens are issued (RFC 8414), and which tokens are accepted (RFC
//! 9728). All URLs are based on the configured public URL, never on `Host`.

use access::{jwt::SignatureAlgorithm, oauth_server::CLIENT_CREDENTIALS};
use actix_web::{
    HttpRequest, HttpResponse,
    http::{Uri, header},
    web::{self, Data, ServiceConfig},
};
use domain::{ProblemCode, Scope};
use kit::{layers::resource_in, problem::ApiError, reads::PUBLIC};
use serde::Serialize;
use utoipa::ToSchema;

use crate::RestState;

/// The methods of client authentication, the same at every endpoint.
const METHODS: [&str; 3] = [
    "client_secret_basic",
    "client_secret_post",
    "private_key_jwt",
];

/// The metadata of the authorization server.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuthorizationServerMetadata {
    /// Its name: the public URL, unless another one is configured.
    issuer: String,
    token_endpoint: String,
    revocation_endpoint: String,
    introspection_endpoint: String,
    jwks_uri: String,
    #[schema(value_type = Vec<Scope>)]
    scopes_supported: &'static [Scope],
    /// Empty: no endpoint is meant for browsers.
    #[schema(value_type = Vec<String>)]
    response_types_supported: [&'static str; 0],
    #[schema(value_type = Vec<String>)]
    grant_types_supported: [&'static str; 1],
    #[schema(value_type = Vec<String>)]
    token_endpoint_auth_methods_supported: [&'static str; 3],
    #[schema(value_type = Vec<String>)]
    token_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    #[schema(value_type = Vec<String>)]
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    #[schema(value_type = Vec<String>)]
    revocation_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    #[schema(value_type = Vec<String>)]
    introspection_endpoint_auth_methods_supported: [&'static str; 3],
    #[schema(value_type = Vec<String>)]
    introspection_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    service_documentation: String,
}

/// The metadata of the protected resource: the tokens that this service accepts.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ProtectedResourceMetadata {
    /// Its name: the public URL.
    resource: String,
    /// The accepted issuers: this service, and the issuers that the operator trusts.
    authorization_servers: Vec<String>,
    jwks_uri: String,
    #[schema(value_type = Vec<Scope>)]
    scopes_supported: &'static [Scope],
    /// Only in `Authorization: Bearer`.
    #[schema(value_type = Vec<String>)]
    bearer_methods_supported: [&'static str; 1],
    #[schema(value_type = String)]
    resource_name: &'static str,
    resource_documentation: String,
}

/// Both documents, created once.
pub struct Metadata {
    server: AuthorizationServerMetadata,
    resource: ProtectedResourceMetadata,
    /// The path of the public URL, without the slash before it; empty if it has none.
    path: String,
}

impl Metadata {
    /// Creates the metadata of a service with the name `issuer` that clients reach at `url`, and
    /// that accepts tokens of the given external issuers too.
    pub fn new(issuer: &str, url: &str, issuers: impl Iterator<Item = String>) -> Self {
        let parsed: Option<Uri> = url.parse().ok();
        let path = parsed.as_ref().map_or("", Uri::path);
        Self {
            server: authorization_server(issuer, url),
            resource: ProtectedResourceMetadata {
                resource: url.to_owned(),
                authorization_servers: std::iter::once(issuer.to_owned()).chain(issuers).collect(),
                jwks_uri: format!("{url}/.well-known/jwks.json"),
                scopes_supported: Scope::ALL,
                bearer_methods_supported: ["header"],
                resource_name: "Agent Service",
                resource_documentation: format!("{url}/docs/"),
            },
            path: path.trim_matches('/').to_owned(),
        }
    }
}

fn authorization_server(issuer: &str, url: &str) -> AuthorizationServerMetadata {
    let algorithms: Vec<&str> = SignatureAlgorithm::ALL
        .iter()
        .map(|algorithm| algorithm.as_str())
        .collect();
    AuthorizationServerMetadata {
        issuer: issuer.to_owned(),
        token_endpoint: format!("{url}/oauth2/token"),
        revocation_endpoint: format!("{url}/oauth2/revoke"),
        introspection_endpoint: format!("{url}/oauth2/introspect"),
        jwks_uri: format!("{url}/.well-known/jwks.json"),
        scopes_supported: Scope::ALL,
        response_types_supported: [],
        grant_types_supported: [CLIENT_CREDENTIALS],
        token_endpoint_auth_methods_supported: METHODS,
        token_endpoint_auth_signing_alg_values_supported: algorithms.clone(),
        revocation_endpoint_auth_methods_supported: METHODS,
        revocation_endpoint_auth_signing_alg_values_supported: algorithms.clone(),
        introspection_endpoint_auth_methods_supported: METHODS,
        introspection_endpoint_auth_signing_alg_values_supported: algorithms,
        service_documentation: format!("{url}/docs/"),
    }
}

/// Read the metadata of the authorization server (RFC 8414).
#[utoipa::path(
    get, path = "/.well-known/oauth-authorization-server",
    operation_id = "get_authorization_server", tag = "OAuth",
    responses((status = 200, description = "The metadata.", body = AuthorizationServerMetadata)),
)]
pub async fn get_authorization_server(state: Data<RestState>) -> HttpResponse {
    public(&state.oauth_metadata.server)
}

/// Read the metadata of the protected resource: which access tokens this service accepts (RFC
/// 9728).
#[utoipa::path(
    get, path = "/.well-known/oauth-protected-resource",
    operation_id = "get_protected_resource", tag = "OAuth",
    responses((status = 200, description = "The metadata.", body = ProtectedResourceMetadata)),
)]
pub async fn get_protected_resource(state: Data<RestState>) -> HttpResponse {
    public(&state.oauth_metadata.resource)
}

/// Registers the metadata under the path of the public URL (RFC 8414 and RFC 9728).
pub fn configure_metadata(config: &mut ServiceConfig) {
    config
        .service(
            resource_in("", "/.well-known/oauth-authorization-server/{path:.*}")
                .route(web::get().to(get_authorization_server_at_path)),
        )
        .service(
            resource_in("", "/.well-known/oauth-protected-resource/{path:.*}")
                .route(web::get().to(get_protected_resource_at_path)),
        );
}

/// Returns the metadata at the path that the standard requires if the public URL has a path: the
/// path follows the well-known part.
async fn get_authorization_server_at_path(
    request: HttpRequest,
    state: Data<RestState>,
) -> Result<HttpResponse, ApiError> {
    at_path(&request, &state)?;
    Ok(public(&state.oauth_metadata.server))
}

/// See [`get_authorization_server_at_path`].
async fn get_protected_resource_at_path(
    request: HttpRequest,
    state: Data<RestState>,
) -> Result<HttpResponse, ApiError> {
    at_path(&request, &state)?;
    Ok(public(&state.oauth_metadata.resource))
}

fn at_path(request: &HttpRequest, state: &RestState) -> Result<(), ApiError> {
    let own = &state.oauth_metadata.path;
    if !own.is_empty() && request.match_info().query("path") == own {
        return Ok(());
    }
    Err(ApiError::new(ProblemCode::RouteNotFound))
}

fn public(document: &impl Serialize) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, PUBLIC))
        .json(document)
}
