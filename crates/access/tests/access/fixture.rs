//! Resources that all processes of a test share: a store, a clock, random numbers, the web.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::{
    Credential, CredentialKind, CredentialSecret, LimitOverrides, Scope, TenantId, Timestamp,
    credential::{Proof, PublicKeys, StoredSecret},
    credential_secret::RANDOM_BYTES,
};
use ports::{Clock, IdSource, Storage};
use sqlite_store::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;
use uuid::Uuid;
use writes::{CreateCredential, RevokeCredential, WriteTimeouts, Writes};

use crate::fake_web::FakeWeb;

/// The time at which every test begins: a whole second.
pub(crate) const START: Timestamp = Timestamp::from_milliseconds(1_795_167_000_000);

/// A clock that moves only when a test moves it.
pub(crate) struct ManualClock {
    now: AtomicI64,
    running_for: AtomicU64,
}

impl ManualClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            now: AtomicI64::new(START.milliseconds()),
            running_for: AtomicU64::new(0),
        })
    }

    pub(crate) fn forward(&self, by: Duration) {
        let milliseconds = i64::try_from(by.as_millis()).expect("a short time");
        self.now.fetch_add(milliseconds, Ordering::SeqCst);
        self.run(by);
    }

    /// Advances the running time only, as if the time of day had been set back.
    pub(crate) fn run(&self, by: Duration) {
        let milliseconds = u64::try_from(by.as_millis()).expect("a short time");
        self.running_for.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_milliseconds(self.now.load(Ordering::SeqCst))
    }

    fn running_for(&self) -> Duration {
        Duration::from_millis(self.running_for.load(Ordering::SeqCst))
    }
}

/// A source of ids and bytes that differ each time, but are the same in every run.
#[derive(Default)]
pub(crate) struct SequentialIds(AtomicU64);

impl IdSource for SequentialIds {
    fn next_id(&self) -> Uuid {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Uuid::from_u128(0x019a_a0c2_0000_7000_8000_0000_0000_0000 + u128::from(number))
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        // The factor is odd, so no two numbers have the same bytes.
        let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = spread[index % spread.len()];
        }
    }
}

/// Resources that all processes of a test share.
pub(crate) struct Fixture {
    pub(crate) storage: Storage,
    pub(crate) writes: Writes,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) ids: Arc<SequentialIds>,
    pub(crate) web: Arc<FakeWeb>,
    _folder: TempDir,
}

impl Fixture {
    /// A fixture with an empty store.
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the store");
        let url = format!("sqlite://{}", folder.path().join("test.db").display());
        let store = SqliteStore::open(&url, SqliteOptions::default(), &TaskTracker::new()).await;
        let store = store.expect("a store");
        store.migrate().await.expect("a schema");
        let (storage, tasks) = (store.storage(), TaskTracker::new());
        let writer = Arc::clone(&storage.writes);
        Self {
            writes: Writes::start(writer, WriteTimeouts::default(), &tasks),
            storage,
            clock: ManualClock::new(),
            ids: Arc::default(),
            web: Arc::default(),
            _folder: folder,
        }
    }

    /// Stores a client that authenticates with a secret. The client has `agents:read` and
    /// `chat:write`, and is then changed by `change`.
    pub(crate) async fn client(
        &self,
        change: impl FnOnce(&mut Credential),
    ) -> (Credential, CredentialSecret) {
        let secret = self.new_secret();
        let mut client = client(&secret, self.clock.now());
        change(&mut client);
        self.insert(&client).await;
        (client, secret)
    }

    /// Stores a client that signs its assertions.
    pub(crate) async fn signing_client(&self, keys: PublicKeys) -> Credential {
        let secret = self.new_secret();
        let mut client = client(&secret, self.clock.now());
        client.proof = Proof::Keys(keys);
        self.insert(&client).await;
        client
    }

    /// A client secret that is not stored.
    pub(crate) fn new_secret(&self) -> CredentialSecret {
        let mut random = [0; RANDOM_BYTES];
        self.ids.fill_random(&mut random);
        CredentialSecret::mint(CredentialKind::Client, &random)
    }

    /// Revokes a client.
    pub(crate) async fn revoke(&self, client: &Credential) {
        let revoke = RevokeCredential {
            tenant: client.tenant.clone(),
            kind: client.kind,
            id: client.id.clone(),
            at: self.clock.now(),
        };
        assert!(self.writes.write(revoke).await.expect("a store"));
    }

    async fn insert(&self, client: &Credential) {
        let create = CreateCredential {
            credential: client.clone(),
            idempotency: None,
        };
        self.writes.write(create).await.expect("a new client");
    }
}

fn client(secret: &CredentialSecret, now: Timestamp) -> Credential {
    Credential {
        kind: CredentialKind::Client,
        id: secret.id(),
        tenant: TenantId::DEFAULT.parse().expect("the id of a tenant"),
        name: "a test's".to_owned(),
        scopes: [Scope::AgentsRead, Scope::ChatWrite].into_iter().collect(),
        agents: domain::AgentReach::ALL,
        proof: Proof::Secret(StoredSecret {
            digest: secret.digest(),
            last4: secret.last4().to_owned(),
            previous: None,
        }),
        created_at: now,
        expires_at: None,
        last_used_at: None,
        revoked_at: None,
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
    }
}
