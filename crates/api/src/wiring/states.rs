//! Builds the states of the layers and the surfaces.

use std::sync::Arc;

use ::documents::DocumentState;
use ::regions::Regions;
use actix_web::web::Data;
use anyhow::{Context as _, Result};
use application::node::Node;
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
    let settings = parts.settings;
    let site = site(parts);
    domain::problem::set_base_path(&site.base_path);
    let metrics = parts.metrics.clone();
    let regions = Data::new(regions::regions(parts, node));
    let surfaces = SurfaceStates {
        rest: Data::new(RestState {
            oauth: auth.server,
            oauth_metadata: Metadata::new(
                parts.issuer_url(),
                &parts.public_url,
                settings.auth.issuers.iter().map(|it| it.name.clone()),
            ),
            metrics: Box::new(move || metrics.render()),
        }),
        sockets: Data::new(settings.limits.sockets),
        regions,
        documents: Data::new(DocumentState {
            documents: documents::documents(settings, &parts.public_url),
            console: documents::console(settings, &site.base_path),
        }),
    };
    let checks = parts.peers.links.checks.iter().cloned();
    let state = HttpState {
        operations: operations::table().without_protocols(settings.disabled_protocols.clone()),
        authenticator: auth.authenticator,
        tickets: auth.tickets,
        region,
        site,
        rates: Rates {
            principals: auth.limits,
            large_responses: LargeResponses::default(),
            #[cfg(feature = "address-guard")]
            address_guard: super::rate_limits::address_guard(parts),
            address_quota: cfg!(feature = "address-guard").then_some(settings.limits.address),
            sockets: SOCKET_LIMITS,
        },
        bodies: Bodies {
            schemas: documents::schemas(settings, &parts.public_url),
            cpu_pool: CpuPool::start().context("cannot start threads")?,
            sizes: settings.limits.sizes.clone(),
            deadline: settings.limits.body_deadline,
        },
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
