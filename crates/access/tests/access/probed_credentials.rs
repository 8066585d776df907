//! A credential repository that counts its reads, and fails or hangs on demand.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use domain::{
    Credential, CredentialId, CredentialKind, IdempotencyEntry, Listed, Page, Seq, TenantId,
    Timestamp,
};
use ports::{CredentialRepository, Idempotent, NewProof, RepositoryError, ShowKey};
use tokio::sync::RwLock;

use crate::world::World;

/// A credential repository that counts its reads, and fails or hangs on demand.
pub(crate) struct ProbedCredentials {
    inner: Arc<dyn CredentialRepository>,
    /// A flag that makes reads of the access version fail.
    pub(crate) blind: AtomicBool,
    /// A flag that makes lookups of credentials fail.
    pub(crate) lost: AtomicBool,
    /// The number of lookups.
    pub(crate) finds: AtomicUsize,
    /// A lock that makes lookups wait while a test holds it for writing.
    pub(crate) gate: RwLock<()>,
    under_way: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl ProbedCredentials {
    /// Replaces the credential repository of a world with one that delegates to it.
    pub(crate) fn in_front_of(world: &mut World) -> Arc<Self> {
        let probed = Arc::new(Self {
            inner: Arc::clone(&world.storage.credentials),
            blind: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            finds: AtomicUsize::new(0),
            gate: RwLock::new(()),
            under_way: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
        });
        world.storage.credentials = probed.clone();
        probed
    }

    /// Returns the number of lookups since the last call.
    pub(crate) fn finds(&self) -> usize {
        self.finds.swap(0, Ordering::SeqCst)
    }

    /// The number of lookups that are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::SeqCst)
    }

    /// The maximum number of concurrent lookups so far.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }
}

/// Returns an error while a flag is set.
fn unless(is_away: &AtomicBool) -> Result<(), RepositoryError> {
    if is_away.load(Ordering::SeqCst) {
        return Err(RepositoryError::Unavailable("away".into()));
    }
    Ok(())
}

/// A guard that decrements a counter on drop.
struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Implements the repository. The listed methods only delegate.
macro_rules! handed_on {
    ($(fn $method:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        #[async_trait]
        impl CredentialRepository for ProbedCredentials {
            async fn access_version(&self) -> Result<i64, RepositoryError> {
                unless(&self.blind)?;
                self.inner.access_version().await
            }

            async fn find(
                &self,
                kind: CredentialKind,
                id: &CredentialId,
            ) -> Result<Option<Credential>, RepositoryError> {
                self.finds.fetch_add(1, Ordering::SeqCst);
                let at_once = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
                let _under_way = UnderWay(&self.under_way);
                self.most_at_once.fetch_max(at_once, Ordering::SeqCst);
                let _open = self.gate.read().await;
                unless(&self.lost)?;
                self.inner.find(kind, id).await
            }

            $(async fn $method(&self, $($argument: $type),*) -> Result<$output, RepositoryError> {
                self.inner.$method($($argument),*).await
            })*
        }
    };
}

handed_on! {
    fn insert(credential: &Credential, claim: Option<&IdempotencyEntry>) -> Idempotent<()>;
    fn insert_first_key(key: &Credential, show: ShowKey) -> bool;
    fn has_ever_held_a_key() -> bool;
    fn list(kind: CredentialKind, tenant: &TenantId, after: Option<Seq>, limit: usize) -> Page<Listed<Credential>>;
    fn rotate(kind: CredentialKind, tenant: &TenantId, id: &CredentialId, proof: &NewProof, claim: Option<&IdempotencyEntry>) -> Idempotent<Option<Credential>>;
    fn revoke(kind: CredentialKind, tenant: &TenantId, id: &CredentialId, at: Timestamp) -> bool;
    fn touch(used: &[(CredentialId, Timestamp)]) -> ();
}
