//! The use cases for keys and clients.

use std::sync::Arc;

use domain::{
    Credential, CredentialDraft, CredentialId, CredentialKind, CredentialSecret, IdempotencyEntry,
    IdempotencyKey, Page, Principal, Seq, Timestamp,
    credential::{Proof, PublicKeys},
    cursor,
};
use ports::{Clock, CredentialRepository, IdSource, IdempotencyRepository, Idempotent, NewProof};

use super::{
    CredentialError, Rotation, minting, privilege,
    told::{self, Told},
};
use crate::Authenticator;
use application::{Created, idempotency};

/// A credential right after creation or rotation. Only now its secret exists in plain text.
#[derive(Debug)]
pub struct MintedCredential {
    /// The credential as it is stored.
    pub credential: Credential,
    /// The whole secret, to be shown once. `None` for a client with its own keys.
    pub secret: Option<CredentialSecret>,
}

/// The use cases for keys and clients: create, list, rotate, revoke. Every method is limited to the
/// caller's tenant. Methods that create or change a credential reject a caller with less access
/// than the credential has.
pub struct CredentialService {
    credentials: Arc<dyn CredentialRepository>,
    claims: Arc<dyn IdempotencyRepository>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    name_characters: u32,
    authenticator: Option<Arc<Authenticator>>,
}

impl CredentialService {
    /// Creates the service. `name_characters` is the maximum length of a name.
    pub fn new(
        credentials: Arc<dyn CredentialRepository>,
        claims: Arc<dyn IdempotencyRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        name_characters: u32,
    ) -> Self {
        Self {
            credentials,
            claims,
            clock,
            ids,
            name_characters,
            authenticator: None,
        }
    }

    /// Adds the authenticator of this process, so that changes take effect in it at once.
    #[must_use]
    pub fn beside(mut self, authenticator: Arc<Authenticator>) -> Self {
        self.authenticator = Some(authenticator);
        self
    }

    /// Creates a key or client.
    pub async fn create(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        draft: CredentialDraft,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<MintedCredential>, CredentialError> {
        let now = self.clock.now();
        let claim = idempotency::claim(caller, creation(kind), key, &draft, now);
        let keys = draft.public_keys();
        let outcome = self.insert(caller, kind, draft, claim.as_ref(), now).await;
        self.answer(caller, kind, keys, claim.as_ref(), outcome)
            .await
    }

    async fn insert(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        draft: CredentialDraft,
        claim: Option<&IdempotencyEntry>,
        now: Timestamp,
    ) -> Result<Idempotent<MintedCredential>, CredentialError> {
        let faults = draft.check(kind, self.name_characters, now);
        if !faults.is_empty() {
            return Err(CredentialError::Invalid(faults));
        }
        privilege::check(caller, draft.scopes)?;
        let secret = minting::minted(&*self.ids, kind);
        let id = secret.id();
        let claim = idempotency::answering(claim, &Told::of(&id, None));
        let (proof, secret) = match draft.public_keys() {
            Some(keys) => (Proof::Keys(keys), None),
            None => (minting::with_secret(&secret), Some(secret)),
        };
        let credential = draft.into_credential(kind, id, caller.tenant.clone(), proof, now);
        let inserted = self.credentials.insert(&credential, claim.as_ref());
        Ok(match inserted.await? {
            Idempotent::Applied(()) => Idempotent::Applied(MintedCredential { credential, secret }),
            Idempotent::Replayed(record) => Idempotent::Replayed(record),
        })
    }

    /// Builds the result of a command. `keys` are the public keys in the command; `None` if it
    /// generates a secret.
    async fn answer(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        keys: Option<PublicKeys>,
        claim: Option<&IdempotencyEntry>,
        outcome: Result<Idempotent<MintedCredential>, CredentialError>,
    ) -> Result<Created<MintedCredential>, CredentialError> {
        match idempotency::judged(&*self.claims, &caller.tenant, claim, outcome).await? {
            Idempotent::Applied(value) => Ok(Created {
                value,
                is_replayed: false,
            }),
            Idempotent::Replayed(record) => {
                told::again(&*self.credentials, kind, keys, record).await
            }
        }
    }

    /// Lists keys or clients, newest first, and returns the cursor of the next page.
    pub async fn list(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(Page<Credential>, Option<String>), CredentialError> {
        let binding = (caller.tenant.as_str(), "credentials", kind.as_str());
        let after = cursor
            .map(|cursor| cursor::decode::<Seq>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| CredentialError::InvalidCursor)?;
        let page = self
            .credentials
            .list(kind, &caller.tenant, after, limit)
            .await?;
        let last = page.items.last().filter(|_| page.has_more);
        let next = last.map(|last| cursor::encode(&binding, &last.sort_seq));
        Ok((page.into_items(), next))
    }

    /// Returns a key or client.
    pub async fn get(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> Result<Credential, CredentialError> {
        let found = self.credentials.find(kind, id).await?;
        found
            .filter(|credential| credential.tenant == caller.tenant)
            .ok_or(CredentialError::NotFound(kind))
    }

    /// Replaces the secret of a key or client, or the public keys of a client.
    pub async fn rotate(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        id: &CredentialId,
        rotation: Rotation,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<MintedCredential>, CredentialError> {
        let now = self.clock.now();
        let command = (id, rotation.overlap_seconds.unwrap_or(0), &rotation.jwks);
        let claim = idempotency::claim(caller, replacement(kind), key, &command, now);
        let replaced = self.replace(caller, kind, id, &rotation, claim.as_ref());
        let outcome = replaced.await;
        let keys = rotation.public_keys();
        self.answer(caller, kind, keys, claim.as_ref(), outcome)
            .await
    }

    async fn replace(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        id: &CredentialId,
        rotation: &Rotation,
        claim: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<MintedCredential>, CredentialError> {
        let before = self.get(caller, kind, id).await?;
        privilege::check(caller, before.scopes)?;
        let now = self.clock.now();
        if !before.is_alive(now) {
            return Err(CredentialError::Ended(kind));
        }
        rotation
            .check(&before.proof)
            .map_err(CredentialError::Invalid)?;
        let (proof, secret) = if let Some(keys) = rotation.public_keys() {
            (NewProof::Keys(keys), None)
        } else {
            let secret = minting::minted_for(&*self.ids, kind, id);
            (rotation.to(&secret, now), Some(secret))
        };
        let claim = idempotency::answering(claim, &Told::of(id, before.last_used_at));
        let rotated = self
            .credentials
            .rotate(kind, &caller.tenant, id, &proof, claim.as_ref())
            .await?;
        Ok(match rotated {
            Idempotent::Applied(rotated) => {
                // It existed a moment ago, so it was revoked meanwhile.
                let rotated = rotated.ok_or(CredentialError::Ended(kind))?;
                self.forget_old_secrets().await;
                let credential = Credential {
                    // The same value as in the idempotency record, for equal replays.
                    last_used_at: before.last_used_at,
                    ..rotated
                };
                Idempotent::Applied(MintedCredential { credential, secret })
            }
            Idempotent::Replayed(record) => Idempotent::Replayed(record),
        })
    }

    /// Revokes a key or client. One that is already revoked does not change.
    pub async fn revoke(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> Result<(), CredentialError> {
        let credential = self.get(caller, kind, id).await?;
        privilege::check(caller, credential.scopes)?;
        let now = self.clock.now();
        if !self
            .credentials
            .revoke(kind, &caller.tenant, id, now)
            .await?
        {
            return Err(CredentialError::NotFound(kind));
        }
        self.forget_old_secrets().await;
        Ok(())
    }

    /// Applies the change in this process at once, not only at the next check of the access
    /// version.
    async fn forget_old_secrets(&self) {
        if let Some(authenticator) = &self.authenticator {
            authenticator.watch_after_change().await;
        }
    }
}

const fn creation(kind: CredentialKind) -> &'static str {
    match kind {
        CredentialKind::Key => "keys.create",
        CredentialKind::Client => "clients.create",
    }
}

const fn replacement(kind: CredentialKind) -> &'static str {
    match kind {
        CredentialKind::Key => "keys.rotate",
        CredentialKind::Client => "clients.rotate",
    }
}
