//! Who is let in: keys, our own tokens, and those of foreign issuers.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use application::{
    Authenticator,
    access::{
        LastUsed,
        server::{OwnTokens, SigningKeys},
        tokens::{AccessTokens, Issuers, KeySets},
    },
};
use ports::{Clock, IdSource};
use tokio::runtime::Handle;
use web_documents::WebDocuments;

use super::Parts;

/// What lets callers in, and the authorization server.
pub(super) struct Access {
    /// From credentials to principals.
    pub(super) authenticator: Arc<Authenticator>,
}

/// Puts it together and starts what runs in the background.
pub(super) async fn wire(
    parts: &Parts<'_>,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn IdSource>,
) -> Result<Access> {
    let storage = &parts.storage;
    let signing_keys = Arc::new(SigningKeys::new(
        Arc::clone(&storage.signing_keys),
        Arc::clone(clock),
        Arc::clone(ids),
        None,
        Duration::from_hours(30 * 24),
    ));
    signing_keys.prepare().await.context("the signing keys")?;
    let own = Arc::new(OwnTokens::new(
        parts.public_url.clone(),
        Arc::clone(&signing_keys),
        Arc::clone(&storage.credentials),
        Arc::clone(&storage.tokens),
        Arc::clone(clock),
        Arc::clone(ids),
    ));
    let key_sets = KeySets::new(
        Arc::new(WebDocuments::new(Vec::new())),
        Arc::clone(clock),
        parts.tasks.clone(),
        Handle::current(),
    );
    let foreign = Issuers::new(
        parts.settings.auth.issuers.clone(),
        &key_sets,
        Arc::clone(&storage.tenants),
        Arc::clone(clock),
    );
    let last_used = Arc::new(LastUsed::new(Arc::clone(&storage.credentials)));
    let authenticator = Arc::new(Authenticator::new(
        Arc::clone(&storage.credentials),
        Arc::new(AccessTokens::new(own, foreign)),
        Arc::clone(clock),
        Arc::clone(&last_used),
    ));
    authenticator.watch().await?;

    let (tasks, stop) = (&parts.tasks, &parts.stop);
    tasks.spawn(signing_keys.run(stop.clone()));
    tasks.spawn(Arc::clone(&authenticator).run(stop.clone()));
    tasks.spawn(last_used.run(stop.clone()));
    Ok(Access { authenticator })
}
