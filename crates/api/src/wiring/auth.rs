//! Builds authentication: keys, tokens of this service, and tokens of external issuers.

use std::sync::Arc;

use access::{
    Authenticator, HomeAuthority, LastUseRecorder, Tickets,
    oauth_server::{AuthorizationServer, ClientAssertions, ClientAuthenticator},
    signing_keys::{SigningKeyError, SigningKeys},
    tokens::{AccessTokens, ExternalIssuers, KeySets, OwnTokens, ReservedUserIds},
};
use anyhow::{Context, Result};
use application::{node::Node, principal_limits::PrincipalLimits};
use domain::ProblemCode;
use kit::readiness::Check;
use ports::{Clock, DocumentSource, IdSource, Storage};
use tokio::runtime::Handle;
use web_documents::WebDocuments;

use super::{Parts, rate_limits::start_limiter};
use crate::settings::Settings;

/// The services for authentication, and the authorization server.
pub(super) struct Auth {
    /// Converts credentials into principals.
    pub(super) authenticator: Arc<Authenticator>,
    /// Issues tokens to clients.
    pub(super) server: AuthorizationServer,
    /// Issues and redeems tickets, for sockets that cannot send a credential.
    pub(super) tickets: Arc<Tickets>,
    /// The rate limits of principals.
    pub(super) limits: Arc<PrincipalLimits>,
    /// The checks of the connections that they use beside the store.
    pub(super) checks: Vec<Check>,
}

/// Builds the source of the key sets of clients and external issuers.
pub fn document_source(settings: &Settings) -> Arc<dyn DocumentSource> {
    let documents = WebDocuments::new(settings.auth.client_key_hosts.clone());
    Arc::new(documents.with_insecure_hosts(settings.auth.insecure_hosts.clone()))
}

/// Builds the services and starts their background tasks.
pub(super) async fn wire(
    parts: &Parts<'_>,
    node: &Node,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn IdSource>,
) -> Result<Auth> {
    let storage = &parts.storage;
    let signing_keys = prepared_keys(parts, clock, ids).await?;
    let own = own_tokens(parts, &signing_keys, clock, ids);
    let key_sets = KeySets::new(
        document_source(parts.settings),
        Arc::clone(clock),
        parts.tasks.clone(),
        Handle::current(),
    );
    let external = external_issuers(parts, &key_sets, clock).await?;
    let home = home_authority(parts);
    let last_used = LastUseRecorder::new(Arc::clone(&storage.credentials));
    let last_used = Arc::new(last_used.with_home(home.clone()));
    let authenticator = Authenticator::new(
        Arc::clone(&storage.credentials),
        Arc::new(AccessTokens::new(Arc::clone(&own), external)),
        Arc::clone(clock),
        Arc::clone(&last_used),
    );
    let authenticator = Arc::new(authenticator.with_home(home.clone()));
    if home.is_none() {
        authenticator.refresh().await?;
    }
    let clients = client_authentication(parts, key_sets, clock, &last_used);
    let (limiter, limiter_check) = start_limiter(parts, node);
    let checks = home
        .iter()
        .flat_map(home_checks)
        .chain(limiter_check)
        .collect();
    let rates = parts.settings.limits.rates;
    let limits = Arc::new(PrincipalLimits::new(limiter, rates, Arc::clone(clock)));
    let server = AuthorizationServer::new(
        clients,
        own,
        Arc::clone(&signing_keys),
        Arc::clone(&authenticator),
        Arc::clone(&limits),
        Arc::clone(clock),
    );
    let tickets = Tickets::new(
        Arc::clone(&storage.tickets),
        Arc::clone(&authenticator),
        Arc::clone(ids),
    )
    .with_home(home);

    start_tasks(parts, signing_keys, &authenticator, last_used);
    Ok(Auth {
        authenticator,
        server,
        tickets: Arc::new(tickets),
        limits,
        checks,
    })
}

/// Starts the background tasks. The home region rotates the signing keys of a replica.
fn start_tasks(
    parts: &Parts<'_>,
    signing_keys: Arc<SigningKeys>,
    authenticator: &Arc<Authenticator>,
    last_used: Arc<LastUseRecorder>,
) {
    let (tasks, stop) = (&parts.tasks, &parts.stop);
    if parts.peers.home.is_none() {
        tasks.spawn(signing_keys.run(stop.clone()));
    }
    tasks.spawn(Arc::clone(authenticator).run(stop.clone()));
    let exchange = Arc::clone(authenticator)
        .exchange_changes(Arc::clone(&parts.peers.links.bus), stop.clone());
    tasks.spawn(exchange);
    tasks.spawn(last_used.run(stop.clone()));
}

/// Returns the signing keys. A replica has those of the home region.
async fn prepared_keys(
    parts: &Parts<'_>,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn IdSource>,
) -> Result<Arc<SigningKeys>> {
    let keys = Arc::new(signing_keys(parts.settings, &parts.storage, clock, ids));
    if parts.peers.home.is_some() {
        keys.reload().await?;
        return Ok(keys);
    }
    match keys.prepare().await {
        Ok(()) => Ok(keys),
        Err(error @ SigningKeyError::Unreadable { .. }) => Err(error).context(
            "the signing keys cannot be read; set AUTH__ENCRYPTION_KEY to its previous value, or, if \
             that is lost, to a new one and run `agent-service signing-keys rotate`",
        ),
        Err(error) => Err(error).context("the first signing key cannot be created"),
    }
}

/// Returns the home region as the authority of a far region.
fn home_authority(parts: &Parts<'_>) -> Option<Arc<HomeAuthority>> {
    let home = parts.peers.home.as_ref()?;
    let offline_for = parts.settings.region.home.as_ref()?.offline_for;
    Some(Arc::new(HomeAuthority::new(
        Arc::clone(home) as _,
        offline_for,
    )))
}

/// Returns the checks of a process in a far region.
fn home_checks(home: &Arc<HomeAuthority>) -> [Check; 2] {
    let (connected, open) = (Arc::clone(home), Arc::clone(home));
    let home = Check::new("home", move || connected.is_home_connected());
    let access = Check::new("access", move || open.is_ready());
    [
        home.replacing_store(),
        access.required(ProblemCode::HomeUnavailable),
    ]
}

fn own_tokens(
    parts: &Parts<'_>,
    signing_keys: &Arc<SigningKeys>,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn IdSource>,
) -> Arc<OwnTokens> {
    let issuers = parts.settings.auth.issuers.iter();
    let reserved: ReservedUserIds = issuers.map(|issuer| issuer.id.clone()).collect();
    let tokens = OwnTokens::new(
        parts.issuer_url().to_owned(),
        Arc::clone(signing_keys),
        Arc::clone(&parts.storage.credentials),
        Arc::clone(&parts.storage.tokens),
        Arc::clone(clock),
        Arc::clone(ids),
    );
    Arc::new(tokens.reserving(reserved))
}

async fn external_issuers(
    parts: &Parts<'_>,
    key_sets: &KeySets,
    clock: &Arc<dyn Clock>,
) -> Result<ExternalIssuers> {
    let external = ExternalIssuers::new(
        parts.settings.auth.issuers.clone(),
        key_sets,
        Arc::clone(&parts.storage.tenants),
        Arc::clone(clock),
    );
    if parts.peers.home.is_none() {
        let created = external.create_missing_tenants().await;
        created.context("the tenants of AUTH__ISSUERS__… cannot be created")?;
    }
    Ok(external)
}

fn client_authentication(
    parts: &Parts<'_>,
    key_sets: KeySets,
    clock: &Arc<dyn Clock>,
    last_used: &Arc<LastUseRecorder>,
) -> ClientAuthenticator {
    let tokens = Arc::clone(&parts.storage.tokens);
    ClientAuthenticator::new(
        Arc::clone(&parts.storage.credentials),
        ClientAssertions::new(parts.issuer_url().to_owned(), tokens, key_sets),
        Arc::clone(clock),
        Arc::clone(last_used),
    )
}

/// Returns the signing keys of a store, with the configured encryption and lifetime.
pub fn signing_keys(
    settings: &Settings,
    storage: &Storage,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn IdSource>,
) -> SigningKeys {
    SigningKeys::new(
        Arc::clone(&storage.signing_keys),
        Arc::clone(clock),
        Arc::clone(ids),
        settings.auth.encryption_key.clone(),
        settings.auth.signing_key_age,
    )
}
