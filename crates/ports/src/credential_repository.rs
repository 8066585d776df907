//! API keys and OAuth clients in a store.

use async_trait::async_trait;
use domain::{
    Credential, CredentialId, CredentialKind, IdempotencyEntry, Listed, Page, SecretDigest, Seq,
    TenantId, Timestamp, credential::PublicKeys,
};

use crate::{Idempotent, RepositoryError};

/// Shows a new key to the operator. Returns `true` if that succeeded.
pub type ShowKey = Box<dyn FnOnce() -> bool + Send>;

/// The new proof of a credential after a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewProof {
    /// A new secret.
    Secret {
        /// The digest of the secret.
        digest: SecretDigest,
        /// The last four characters of the whole secret.
        last4: String,
        /// The end of the time in which the previous secret stays valid; `None` to invalidate it at
        /// once.
        previous_until: Option<Timestamp>,
    },
    /// New public keys.
    Keys(PublicKeys),
}

/// API keys and OAuth clients in a store; an id is unique among both. A method that takes power from
/// a credential MUST raise the store-wide access version in the same transaction, so that
/// every node discards its cached credentials.
#[async_trait]
pub trait CredentialRepository: Send + Sync {
    /// Stores the first key of the store, then shows it. Returns `true` if both succeeded. MUST
    /// call `show` only after the commit, and delete the key if `show` returns `false`. MUST count
    /// the key as held only after `show` succeeded, so that a process that ended before does not
    /// prevent the next first key. MUST write nothing, not call `show`, and return `false` if the
    /// store holds a key or has ever held one, also if two processes call it at the same time.
    /// OAuth clients do not count as keys.
    async fn insert_first_key(
        &self,
        key: &Credential,
        show: ShowKey,
    ) -> Result<bool, RepositoryError>;

    /// Returns `true` if the store holds a key or has ever held one.
    async fn has_ever_held_a_key(&self) -> Result<bool, RepositoryError>;

    /// Finds a credential of a kind by its public id, in any tenant, including revoked and expired
    /// credentials.
    async fn find(
        &self,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> Result<Option<Credential>, RepositoryError>;

    /// Lists a tenant's credentials of a kind, newest first, in the commit order of the
    /// transactions that created them. The page starts after the position `after`. It MUST end at
    /// about `sizes::PAGE_BYTES` and contain at least one credential if any is left.
    async fn list(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<Credential>>, RepositoryError>;

    /// Replaces the proof of a credential and returns the credential as stored. MUST raise the
    /// access version and write the idempotency entry in the same transaction. MUST keep the
    /// current secret as the previous one until the given time, and discard any older one. MUST
    /// write nothing if the entry's key was used before, whatever else is wrong. MUST write nothing
    /// and return `Applied(None)` if the tenant has no such credential, or it is revoked, or its
    /// proof is of the other kind (secret or public keys).
    async fn rotate(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        proof: &NewProof,
        idempotency: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Option<Credential>>, RepositoryError>;

    /// Records the times at which credentials were last used. MUST NOT move the time of a
    /// credential backwards.
    async fn touch(&self, used: &[(CredentialId, Timestamp)]) -> Result<(), RepositoryError>;

    /// Returns the store-wide access version, which grows with every revocation, rotation and
    /// change of content.
    async fn access_version(&self) -> Result<i64, RepositoryError>;
}
