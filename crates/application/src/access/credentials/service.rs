//! What callers and operators do with keys and clients.

use std::sync::Arc;

use domain::{
    Credential, CredentialDraft, CredentialId, CredentialKind, CredentialSecret, IdempotencyClaim,
    IdempotencyKey, IdempotencyRecord, Page, Principal, Timestamp,
    credential::{Proof, PublicKeys},
    cursor, public_key_set,
};
use ports::{Clock, CredentialPosition, CredentialRepository, IdSource, NewProof, Once};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{CredentialError, Rotation, minting, privilege};
use crate::{Authenticator, IdempotencyRefused, idempotency};

/// A credential right after it was made or rotated: the only moment in which its secret exists in
/// the clear.
#[derive(Debug)]
pub struct MintedCredential {
    /// The credential as it is stored.
    pub credential: Credential,
    /// The whole secret, to be shown once; none for a client with keys of its own.
    pub secret: Option<CredentialSecret>,
}

/// Where a page ended.
#[derive(Serialize, Deserialize)]
struct Position {
    at: i64,
    id: String,
}

/// Keys and clients: make, list, rotate, take back. Every method sees and touches those of the
/// caller's tenant only, and refuses a caller who holds less than the credential does.
pub struct CredentialService {
    credentials: Arc<dyn CredentialRepository>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    name_characters: u32,
    authenticator: Option<Arc<Authenticator>>,
}

impl CredentialService {
    /// A service over these ports, for names of at most so many characters.
    pub fn new(
        credentials: Arc<dyn CredentialRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        name_characters: u32,
    ) -> Self {
        Self {
            credentials,
            clock,
            ids,
            name_characters,
            authenticator: None,
        }
    }

    /// The same service in a process that lets callers in: it forgets at once what is taken back.
    #[must_use]
    pub fn beside(mut self, authenticator: Arc<Authenticator>) -> Self {
        self.authenticator = Some(authenticator);
        self
    }

    /// Makes a key or client.
    pub async fn create(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        draft: CredentialDraft,
        key: Option<IdempotencyKey>,
    ) -> Result<MintedCredential, CredentialError> {
        let now = self.clock.now();
        let faults = draft.check(kind, self.name_characters, now);
        if !faults.is_empty() {
            return Err(CredentialError::Invalid(faults));
        }
        privilege::check(caller, draft.scopes)?;
        let mut claim = idempotency::claim(caller, operation(kind), key, &draft, now);
        let secret = minting::minted(&*self.ids, kind);
        let id = secret.id();
        if let Some(claim) = &mut claim {
            // The answer shows a secret: all that may be told again is what was made.
            claim.answer = Some(json!({"id": id}));
        }
        let (proof, secret) = match draft.public_keys() {
            Some(keys) => (Proof::Keys(keys), None),
            None => (minting::with_secret(&secret), Some(secret)),
        };
        let credential = draft.into_credential(kind, id, caller.tenant.clone(), proof, now);
        match self.credentials.insert(&credential, claim.as_ref()).await? {
            Once::Done(()) => Ok(MintedCredential { credential, secret }),
            Once::Repeated(record) => Err(repeated(claim.as_ref(), &record)),
        }
    }

    /// Lists keys or clients, newest first; the answer carries the cursor of the next page.
    pub async fn list(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(Page<Credential>, Option<String>), CredentialError> {
        let binding = (caller.tenant.as_str(), "credentials", kind.as_str());
        let after = cursor
            .map(|cursor| position(&binding, cursor))
            .transpose()?;
        let page = self
            .credentials
            .list(kind, &caller.tenant, after.as_ref(), limit)
            .await?;
        let last = page.items.last().filter(|_| page.has_more);
        let next = last.map(|last| {
            let position = Position {
                at: last.created_at.milliseconds(),
                id: last.id.to_string(),
            };
            cursor::encode(&binding, &position)
        });
        Ok((page, next))
    }

    /// Reads a key or client.
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

    /// Gives a key or client a new secret, or a client its new public keys.
    pub async fn rotate(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        id: &CredentialId,
        rotation: Rotation,
    ) -> Result<MintedCredential, CredentialError> {
        let credential = self.get(caller, kind, id).await?;
        privilege::check(caller, credential.scopes)?;
        let now = self.clock.now();
        if !credential.is_alive(now) {
            return Err(CredentialError::Ended(kind));
        }
        rotation
            .check(&credential.proof)
            .map_err(CredentialError::Invalid)?;
        let (proof, secret) = if let Some(set) = &rotation.jwks {
            let keys = PublicKeys::Set(public_key_set::understood(set));
            (NewProof::Keys(keys), None)
        } else {
            let secret = minting::minted_for(&*self.ids, kind, id);
            (rotation.to(&secret, now), Some(secret))
        };
        let rotated = self.credentials.rotate(kind, &caller.tenant, id, &proof);
        // It was there a moment ago: what is gone since was revoked.
        let credential = rotated.await?.ok_or(CredentialError::Ended(kind))?;
        self.forget_old_secrets().await;
        Ok(MintedCredential { credential, secret })
    }

    /// Takes a key or client back; one that was revoked before stays as it was.
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

    /// What was taken back is refused by this process from now on, not only when it looks next.
    async fn forget_old_secrets(&self) {
        if let Some(authenticator) = &self.authenticator {
            authenticator.watch_after_change().await;
        }
    }
}

const fn operation(kind: CredentialKind) -> &'static str {
    match kind {
        CredentialKind::Key => "keys.create",
        CredentialKind::Client => "clients.create",
    }
}

fn repeated(claim: Option<&IdempotencyClaim>, record: &IdempotencyRecord) -> CredentialError {
    let refused = IdempotencyRefused::judge(claim, record);
    let made = record.answer.as_ref().and_then(|made| made["id"].as_str());
    match (refused, made) {
        (IdempotencyRefused::InUse, Some(id)) => CredentialError::MadeBefore { id: id.to_owned() },
        (refused, _) => refused.into(),
    }
}

fn position(binding: &impl Serialize, cursor: &str) -> Result<CredentialPosition, CredentialError> {
    let position: Position =
        cursor::decode(binding, cursor).map_err(|_invalid| CredentialError::InvalidCursor)?;
    let id = position.id.parse();
    Ok(CredentialPosition {
        created_at: Timestamp::from_milliseconds(position.at),
        id: id.map_err(|_malformed| CredentialError::InvalidCursor)?,
    })
}
