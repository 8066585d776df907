//! API keys and OAuth clients in a store.

use async_trait::async_trait;
use domain::{
    Credential, CredentialId, CredentialKind, IdempotencyClaim, Listed, Page, SecretDigest, Seq,
    TenantId, Timestamp, credential::PublicKeys,
};

use crate::{Once, RepositoryError};

/// Shows a new key to the operator; answers whether that succeeded.
pub type ShowKey = Box<dyn FnOnce() -> bool + Send>;

/// What a rotation puts in place of a credential's proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewProof {
    /// A new secret.
    Secret {
        /// Its digest.
        digest: SecretDigest,
        /// The last four characters of its whole value.
        last4: String,
        /// Until when the secret before is good as well; not at all when absent.
        previous_until: Option<Timestamp>,
    },
    /// New public keys.
    Keys(PublicKeys),
}

/// API keys and OAuth clients in a store; an id is unique among both. Whatever makes a credential
/// less powerful MUST raise the store-wide access version in the same transaction, so that every
/// node drops what it cached.
#[async_trait]
pub trait CredentialRepository: Send + Sync {
    /// Stores a new credential. MUST write the claim in the same transaction; MUST write nothing
    /// when the claim's key was used before; MUST answer `Conflict` when the id exists.
    async fn insert(
        &self,
        credential: &Credential,
        claim: Option<&IdempotencyClaim>,
    ) -> Result<Once<()>, RepositoryError>;

    /// Stores the first key of the store, then shows it; answers whether both succeeded. MUST call
    /// `show` only after the commit, and delete the key when `show` answers `false`. MUST count the
    /// key as held only after it was shown, so that a process that ended before does not prevent
    /// the next first key. MUST write nothing, show nothing and answer `false` when the store holds
    /// a key or has ever held one, also when two processes call at the same time. Clients do not
    /// count.
    async fn insert_first_key(
        &self,
        key: &Credential,
        show: ShowKey,
    ) -> Result<bool, RepositoryError>;

    /// Whether the store holds a key or has ever held one.
    async fn has_ever_held_a_key(&self) -> Result<bool, RepositoryError>;

    /// Finds a credential of a kind by its public id, in whatever tenant, revoked and expired ones
    /// included.
    async fn find(
        &self,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> Result<Option<Credential>, RepositoryError>;

    /// Lists a tenant's credentials of a kind, newest first, in the order of the transactions that
    /// made them. The page begins after the place `after`. It MUST end at about
    /// `sizes::PAGE_BYTES`, with at least one credential.
    async fn list(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<Credential>>, RepositoryError>;

    /// Gives a credential a new proof. MUST raise the access version and write the claim in the
    /// same transaction. MUST keep the secret before as the previous one until the time given, and
    /// forget any older one. MUST write nothing when the claim's key was used before, whatever else
    /// is wrong; MUST write nothing and answer `Done(None)` when the tenant has no such credential,
    /// or a revoked one, or one whose proof is of the other sort. Answers the credential as it is
    /// then.
    async fn rotate(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        proof: &NewProof,
        claim: Option<&IdempotencyClaim>,
    ) -> Result<Once<Option<Credential>>, RepositoryError>;

    /// Refuses a credential from now on. MUST raise the access version. Answers whether there is
    /// such a credential in the tenant; one revoked before stays as it was.
    async fn revoke(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        at: Timestamp,
    ) -> Result<bool, RepositoryError>;

    /// Notes that credentials were used. MUST NOT move a credential's time backwards.
    async fn touch(&self, used: &[(CredentialId, Timestamp)]) -> Result<(), RepositoryError>;

    /// The store-wide number that grows with every revocation and rotation.
    async fn access_version(&self) -> Result<i64, RepositoryError>;
}
