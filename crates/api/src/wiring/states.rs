//! Builds the states of the layers and the surfaces.

use std::sync::Arc;

use ::documents::DocumentState;
use ::regions::Regions;
use access::oauth_server::AuthorizationServer;
use actix_web::web::Data;
use anyhow::{Context as _, Result};
use application::{node::Node, principal_limits::PrincipalLimits};
use cpu_pool::CpuPool;
use domain::web_address;
use kit::{
    auth::LargeResponses,
    layers::AllowedOrigins,
    readiness::Readiness,
    region::OwnRegion,
    request::PagePermit,
    state::{Bodies, HttpState, Rates, Site},
};
use ports::IdSource;
use rest::{Metadata, RestState};
use socket::{SOCKET_LIMITS, SocketTimeouts};
use tokio_util::sync::CancellationToken;

use super::{Parts, auth::Auth, documents, regions};
use crate::operations;

/// The states of the surfaces.
#[derive(Clone)]
pub struct SurfaceStates {
    /// That of the REST operations.
    pub rest: Data<RestState>,
    /// The timeouts of sockets.
    pub sockets: Data<SocketTimeouts>,
    /// That of the regions.
    pub regions: Data<Regions>,
    /// That of the published documents.
    pub documents: Data<DocumentState>,
}

/// Builds the state that the layers and all surfaces share, and those of the surfaces.
pub(super) fn states(
    parts: &Parts<'_>,
    auth: Auth,
    region: OwnRegion,
    node: &Arc<Node>,
    ids: Arc<dyn IdSource>,
) -> Result<(HttpState, SurfaceStates)> {
    let site = site(parts);
    domain::problem::set_base_path(&site.base_path);
    let surfaces = surfaces(parts, auth.server, node, &site);
    let disabled = parts.settings.disabled_protocols.clone();
    let checks = parts.peers.links.checks.iter().cloned();
    let state = HttpState {
        operations: operations::table().without_protocols(disabled),
        authenticator: auth.authenticator,
        tickets: auth.tickets,
        region,
        site,
        rates: rates(parts, auth.limits),
        bodies: bodies(parts)?,
        ids,
        page_permits: PagePermit::new_semaphore(),
        closing: CancellationToken::new(),
        readiness: Readiness::new(
            Arc::clone(&parts.storage.maintenance),
            parts.writes.clone(),
            checks.chain(auth.checks).collect(),
        ),
    };
    Ok((state, surfaces))
}

fn surfaces(
    parts: &Parts<'_>,
    oauth: AuthorizationServer,
    node: &Arc<Node>,
    site: &Site,
) -> SurfaceStates {
    let (settings, url) = (parts.settings, &parts.public_url);
    let issuers = settings.auth.issuers.iter().map(|it| it.name.clone());
    let metrics = parts.metrics.clone();
    SurfaceStates {
        rest: Data::new(RestState {
            oauth,
            oauth_metadata: Metadata::new(parts.issuer_url(), url, issuers),
            metrics: Box::new(move || metrics.render()),
        }),
        sockets: Data::new(settings.limits.sockets),
        regions: Data::new(regions::regions(parts, node)),
        documents: Data::new(DocumentState {
            documents: documents::documents(settings, url),
            console: documents::console(settings, &site.base_path),
        }),
    }
}

fn rates(parts: &Parts<'_>, principals: Arc<PrincipalLimits>) -> Rates {
    let address = parts.settings.limits.address;
    Rates {
        principals,
        large_responses: LargeResponses::default(),
        #[cfg(feature = "address-guard")]
        address_guard: super::rate_limits::address_guard(parts),
        address_quota: cfg!(feature = "address-guard").then_some(address),
        sockets: SOCKET_LIMITS,
    }
}

fn bodies(parts: &Parts<'_>) -> Result<Bodies> {
    let settings = parts.settings;
    Ok(Bodies {
        schemas: documents::schemas(settings, &parts.public_url),
        cpu_pool: CpuPool::start().context("cannot start threads")?,
        sizes: settings.limits.sizes.clone(),
        memory: parts.file_memory.clone(),
        deadline: settings.limits.body_deadline,
    })
}

/// Describes how clients reach this server.
fn site(parts: &Parts<'_>) -> Site {
    let (url, server) = (&parts.public_url, &parts.settings.server);
    Site {
        public_url: url.clone(),
        base_path: web_address::path_of(url),
        resource_metadata: format!(
            "resource_metadata=\"{url}/.well-known/oauth-protected-resource\""
        ),
        allowed_origins: AllowedOrigins::new(&server.allowed_origins, &server.allowed_headers),
    }
}
