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

use crate::fixture::Fixture;

/// A credential repository that counts its reads, and fails or hangs on demand.
pub(crate) struct InstrumentedCredentials {
    inner: Arc<dyn CredentialRepository>,
    /// A flag that makes reads of the access version fail.
    pub(crate) fail_access_version: AtomicBool,
    /// The number of reads of the access version.
    pub(crate) version_reads: AtomicUsize,
    /// A flag that makes lookups of credentials fail.
    pub(crate) fail_find: AtomicBool,
    /// The number of lookups.
    pub(crate) finds: AtomicUsize,
    /// A lock that makes lookups wait while a test holds it for writing.
    pub(crate) gate: RwLock<()>,
    in_progress: AtomicUsize,
    max_concurrent: AtomicUsize,
}

impl InstrumentedCredentials {
    /// Replaces the credential repository of a fixture with one that delegates to it.
    pub(crate) fn wrap(fixture: &mut Fixture) -> Arc<Self> {
        let instrumented = Arc::new(Self {
            inner: Arc::clone(&fixture.storage.credentials),
            fail_access_version: AtomicBool::new(false),
            version_reads: AtomicUsize::new(0),
            fail_find: AtomicBool::new(false),
            finds: AtomicUsize::new(0),
            gate: RwLock::new(()),
            in_progress: AtomicUsize::new(0),
            max_concurrent: AtomicUsize::new(0),
        });
        fixture.storage.credentials = instrumented.clone();
        instrumented
    }

    /// Returns the number of lookups since the last call.
    pub(crate) fn finds(&self) -> usize {
        self.finds.swap(0, Ordering::SeqCst)
    }

    /// The number of lookups that are under way.
    pub(crate) fn in_progress(&self) -> usize {
        self.in_progress.load(Ordering::SeqCst)
    }

    /// The maximum number of concurrent lookups so far.
    pub(crate) fn max_concurrent(&self) -> usize {
        self.max_concurrent.load(Ordering::SeqCst)
    }
}

/// Returns an error while a flag is set.
fn fail_if(fails: &AtomicBool) -> Result<(), RepositoryError> {
    if fails.load(Ordering::SeqCst) {
        return Err(RepositoryError::Unavailable("away".into()));
    }
    Ok(())
}

/// A guard that decrements a counter on drop.
struct InProgress<'a>(&'a AtomicUsize);

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Implements the repository. The listed methods only delegate.
macro_rules! delegate {
    ($(fn $method:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        #[async_trait]
        impl CredentialRepository for InstrumentedCredentials {
            async fn access_version(&self) -> Result<i64, RepositoryError> {
                self.version_reads.fetch_add(1, Ordering::SeqCst);
                fail_if(&self.fail_access_version)?;
                self.inner.access_version().await
            }

            async fn find(
                &self,
                kind: CredentialKind,
                id: &CredentialId,
            ) -> Result<Option<Credential>, RepositoryError> {
                self.finds.fetch_add(1, Ordering::SeqCst);
                let concurrent = self.in_progress.fetch_add(1, Ordering::SeqCst) + 1;
                let _under_way = InProgress(&self.in_progress);
                self.max_concurrent.fetch_max(concurrent, Ordering::SeqCst);
                let _open = self.gate.read().await;
                fail_if(&self.fail_find)?;
                self.inner.find(kind, id).await
            }

            $(async fn $method(&self, $($argument: $type),*) -> Result<$output, RepositoryError> {
                self.inner.$method($($argument),*).await
            })*
        }
    };
}

delegate! {
    fn insert_first_key(key: &Credential, show: ShowKey) -> bool;
    fn has_ever_held_a_key() -> bool;
    fn list(kind: CredentialKind, tenant: &TenantId, after: Option<Seq>, limit: usize) -> Page<Listed<Credential>>;
    fn rotate(kind: CredentialKind, tenant: &TenantId, id: &CredentialId, proof: &NewProof, claim: Option<&IdempotencyEntry>) -> Idempotent<Option<Credential>>;
    fn touch(used: &[(CredentialId, Timestamp)]) -> ();
}
