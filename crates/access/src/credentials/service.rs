//! The use cases for keys and clients.

use std::sync::Arc;

use application::{Created, idempotency};
use domain::{
    Credential, CredentialDraft, CredentialId, CredentialKind, CredentialSecret, FaultCode,
    IdempotencyEntry, IdempotencyKey, InputFault, Page, Principal, Seq, Timestamp,
    credential::{Proof, PublicKeys},
    credential_draft::check_reach,
    cursor,
};
use ports::{
    Clock, CredentialRepository, DocumentSource, IdSource, IdempotencyRepository, Idempotent,
    UrlTrust,
};
use writes::{CreateCredential, RevokeCredential, Writes};

use super::{
    CredentialError, generate_secret, privilege,
    replay::{StoredResult, replay},
    stored_secret,
};
use crate::Authenticator;

/// A credential right after creation or rotation. Only now its secret exists in plain text.
#[derive(Debug)]
pub struct IssuedCredential {
    /// The credential as it is stored.
    pub credential: Credential,
    /// The whole secret, to be shown once. `None` for a client with its own keys.
    pub secret: Option<CredentialSecret>,
}

/// The use cases for keys and clients: create, list, change, rotate, revoke. Every method is limited to the
/// caller's tenant. Methods that create or change a credential reject a caller with less access
/// than the credential has.
pub struct CredentialService {
    pub(super) credentials: Arc<dyn CredentialRepository>,
    pub(super) writes: Writes,
    idempotency_records: Arc<dyn IdempotencyRepository>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
    documents: Arc<dyn DocumentSource>,
    pub(super) name_characters: u32,
    authenticator: Option<Arc<Authenticator>>,
}

impl CredentialService {
    /// Creates the service. The keys of clients are fetched from `documents`. `name_characters` is the maximum length of a name.
    pub fn new(
        credentials: Arc<dyn CredentialRepository>,
        writes: Writes,
        idempotency_records: Arc<dyn IdempotencyRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        documents: Arc<dyn DocumentSource>,
        name_characters: u32,
    ) -> Self {
        Self {
            credentials,
            writes,
            idempotency_records,
            clock,
            ids,
            documents,
            name_characters,
            authenticator: None,
        }
    }

    /// Adds the authenticator of this process, so that changes take effect in it at once.
    #[must_use]
    pub fn with_authenticator(mut self, authenticator: Arc<Authenticator>) -> Self {
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
    ) -> Result<Created<IssuedCredential>, CredentialError> {
        let now = self.clock.now();
        let draft = CredentialDraft {
            agents: draft.agents.or(&caller.agents),
            ..draft
        };
        let entry = idempotency::new_entry(caller, create_operation(kind), key, &draft, now);
        let keys = draft.public_keys();
        let outcome = self.insert(caller, kind, draft, entry.as_ref(), now).await;
        self.complete(caller, kind, keys, entry.as_ref(), outcome)
            .await
    }

    async fn insert(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        draft: CredentialDraft,
        entry: Option<&IdempotencyEntry>,
        now: Timestamp,
    ) -> Result<Idempotent<IssuedCredential>, CredentialError> {
        let mut faults = draft.check(kind, self.name_characters, now);
        faults.extend(check_reach(&caller.agents, &draft.agents));
        self.check_key_address(&draft, &mut faults);
        if !faults.is_empty() {
            return Err(CredentialError::Invalid(faults));
        }
        privilege::check(caller, &draft.scopes)?;
        let secret = generate_secret(&*self.ids, kind);
        let id = secret.id();
        let (proof, secret) = match draft.public_keys() {
            Some(keys) => (Proof::Keys(keys), None),
            None => (stored_secret(&secret), Some(secret)),
        };
        let credential = draft.into_credential(kind, id, caller.tenant.clone(), proof, now);
        let entry = idempotency::with_result(entry, &StoredResult::of(&credential));
        let create = CreateCredential {
            credential: credential.clone(),
            idempotency: entry,
        };
        Ok(match self.writes.write(create).await? {
            Idempotent::Applied(()) => Idempotent::Applied(IssuedCredential { credential, secret }),
            Idempotent::Replayed(record) => Idempotent::Replayed(record),
        })
    }

    /// Adds a fault if the URL of the keys is valid, but must not be fetched.
    fn check_key_address(&self, draft: &CredentialDraft, faults: &mut Vec<InputFault>) {
        let pointer = "/jwksUri";
        if let Some(url) = &draft.jwks_uri
            && !faults.iter().any(|fault| fault.pointer == pointer)
            && !self.documents.is_allowed(url, UrlTrust::Tenant)
        {
            let detail = "must be in the public internet or at a host that the operator allowed";
            faults.push(InputFault::new(pointer, FaultCode::BadFormat, detail));
        }
    }

    /// Builds the result of a command. `keys` are the public keys in the command; `None` if it
    /// generates a secret.
    pub(super) async fn complete(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        keys: Option<PublicKeys>,
        entry: Option<&IdempotencyEntry>,
        outcome: Result<Idempotent<IssuedCredential>, CredentialError>,
    ) -> Result<Created<IssuedCredential>, CredentialError> {
        match idempotency::check_key(&*self.idempotency_records, &caller.tenant, entry, outcome)
            .await?
        {
            Idempotent::Applied(value) => Ok(Created {
                value,
                is_replayed: false,
            }),
            Idempotent::Replayed(record) => replay(&*self.credentials, kind, keys, record).await,
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
        let mut page = page.into_items();
        page.items.retain(|it| caller.agents.includes(&it.agents));
        Ok((page, next))
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
            .filter(|credential| caller.agents.includes(&credential.agents))
            .ok_or(CredentialError::NotFound(kind))
    }

    /// Revokes a key or client. One that is already revoked does not change.
    pub async fn revoke(
        &self,
        caller: &Principal,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> Result<(), CredentialError> {
        let credential = self.get(caller, kind, id).await?;
        // Scopes of a newer version, which nobody holds here, must not keep a credential alive.
        privilege::check(caller, &credential.scopes.iter().collect())?;
        let revoke = RevokeCredential {
            tenant: caller.tenant.clone(),
            kind,
            id: id.clone(),
            at: self.clock.now(),
        };
        if !self.writes.write(revoke).await? {
            return Err(CredentialError::NotFound(kind));
        }
        self.refresh_authenticator().await;
        Ok(())
    }

    /// Applies the change in this process at once, not only at the next check of the access
    /// version.
    pub(super) async fn refresh_authenticator(&self) {
        if let Some(authenticator) = &self.authenticator {
            authenticator.refresh_after_change().await;
        }
    }
}

const fn create_operation(kind: CredentialKind) -> &'static str {
    match kind {
        CredentialKind::Key => "keys.create",
        CredentialKind::Client => "clients.create",
    }
}
