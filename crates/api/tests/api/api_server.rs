//! A whole server for one test, called over real HTTP.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use api::{
    service::{Service, ShowFirstKey},
    settings::Settings,
    wiring::{self, EnginesByName},
};
use contract::Store;
use domain::{
    Credential, CredentialKind, CredentialSecret, LimitOverrides, Scope, Scopes, TenantId,
    credential::{Proof, StoredSecret},
    credential_secret::RANDOM_BYTES,
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use ports::{ReplyEngine, Storage, ToolProvider};
use serde_json::{Value, json};
use socket::SocketTimeouts;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::caller::Caller;

/// Rate limits that no test reaches unless it sets its own.
const UNLIMITED: [(&str, &str); 8] = [
    ("LIMITS__REQUESTS__PER_MINUTE", "100000000"),
    ("LIMITS__REQUESTS__BURST", "1000000"),
    ("LIMITS__CHAT__PER_MINUTE", "100000000"),
    ("LIMITS__CHAT__BURST", "1000000"),
    ("LIMITS__LOG_BYTES__PER_MINUTE", "4294967295"),
    ("LIMITS__LOG_BYTES__BURST", "4294967295"),
    ("LIMITS__ADDRESS__PER_MINUTE", "100000000"),
    ("LIMITS__ADDRESS__BURST", "1000000"),
];

const DATABASE_FILE: &str = "agents.db";

/// The configuration of a test server.
#[derive(Default)]
pub(crate) struct ApiServerBuilder {
    engines: EnginesByName,
    tools: Vec<Arc<dyn ToolProvider>>,
    settings: Vec<(String, String)>,
    wrap_storage: Option<Box<dyn FnOnce(Storage) -> Storage + Send>>,
    sockets: Option<SocketTimeouts>,
    metrics: Option<PrometheusHandle>,
}

impl ApiServerBuilder {
    /// Adds an engine to the built-in ones.
    pub(crate) fn engine(mut self, name: &str, engine: impl ReplyEngine + 'static) -> Self {
        self.engines.insert(name.to_owned(), Arc::new(engine));
        self
    }

    /// Adds tools to the built-in ones.
    pub(crate) fn tools(mut self, provider: impl ToolProvider + 'static) -> Self {
        self.tools.push(Arc::new(provider));
        self
    }

    /// Sets an environment variable.
    pub(crate) fn setting(mut self, variable: &str, value: &str) -> Self {
        self.settings.push((variable.to_owned(), value.to_owned()));
        self
    }

    /// Uses the recorder of these metrics.
    pub(crate) fn metrics(mut self, metrics: PrometheusHandle) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Uses shorter socket timeouts.
    pub(crate) fn sockets(mut self, times: SocketTimeouts) -> Self {
        self.sockets = Some(times);
        self
    }

    /// Wraps the store.
    pub(crate) fn wrap_storage(
        mut self,
        wrap_storage: impl FnOnce(Storage) -> Storage + Send + 'static,
    ) -> Self {
        self.wrap_storage = Some(Box::new(wrap_storage));
        self
    }

    /// Starts the server on a new store, with a key for each kind of caller.
    pub(crate) async fn start(self) -> ApiServer {
        let folder = tempfile::tempdir().expect("a folder for the store");
        let (service, storage, first_key) = self.serve(&folder).await;
        let first_key = first_key.expect("an empty store gets a key");
        let keys = Keys::make(&first_key, &storage).await;
        ApiServer::new(folder, service, storage, keys)
    }

    /// Starts another server on the store of a running one, for the same callers. The store must be
    /// a database server, and the settings must name it.
    pub(crate) async fn join(self, other: &ApiServer) -> ApiServer {
        let folder = tempfile::tempdir().expect("a folder that stays empty");
        let (service, storage, first_key) = self.serve(&folder).await;
        assert!(first_key.is_none(), "the store has its keys");
        ApiServer::new(folder, service, storage, other.keys.clone())
    }

    async fn serve(self, folder: &TempDir) -> (Service, Box<Store>, Option<CredentialSecret>) {
        let database = folder.path().join(DATABASE_FILE);
        let own = [
            ("DATABASE_URL", format!("sqlite://{}", database.display())),
            (
                "FILES__URL",
                format!("file://{}/files", folder.path().display()),
            ),
            ("SERVER__PORT", "0".to_owned()),
            ("SERVER__WORKERS", "1".to_owned()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let generous = UNLIMITED.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables = own.into_iter().chain(generous).chain(self.settings);
        let settings = Settings::load(None, variables);
        let mut settings = settings.expect("the test's settings are valid");
        if let Some(times) = self.sockets {
            settings.limits.sockets = times;
        }
        let mut engines = wiring::built_in_engines().expect("threads can be started");
        engines.extend(self.engines);
        // A recorder for this test: a process can have only one global recorder.
        let metrics = self
            .metrics
            .unwrap_or_else(|| PrometheusBuilder::new().build_recorder().handle());
        let mut storage = None;
        let wrap_storage = self
            .wrap_storage
            .unwrap_or_else(|| Box::new(|storage| storage));
        let wrap_storage = |stored: Storage| {
            storage = Some(stored.clone());
            wrap_storage(stored)
        };
        let (minting, mut first_key) = oneshot::channel();
        let show: ShowFirstKey = Box::new(|key, _url| minting.send(key.clone()).is_ok());
        let (tools, no_migrate) = (self.tools, false);
        let service = Service::start_with_storage(
            &settings,
            no_migrate,
            engines,
            tools,
            metrics,
            show,
            wrap_storage,
        );
        let service = service.await.expect("the service starts");
        let storage = storage.expect("the service asked for its store");
        let storage = Box::new(Store::new(storage));
        (service, storage, first_key.try_recv().ok())
    }
}

/// The keys of a test's callers.
#[derive(Clone)]
struct Keys {
    writer: String,
    reader: String,
    other_tenant: String,
}

impl Keys {
    async fn make(first_key: &CredentialSecret, storage: &Store) -> Self {
        let (clock, _) = wiring::system();
        let other: TenantId = "other".parse().expect("the id of a tenant");
        let made = storage.tenants.insert(&other, clock.now()).await;
        made.expect("a second tenant");
        let reads = [
            Scope::AgentsRead,
            Scope::ConversationsRead,
            Scope::EventsRead,
        ];
        Self {
            writer: first_key.reveal().to_owned(),
            reader: store_key(storage, |key| key.scopes = reads.into_iter().collect()).await,
            other_tenant: store_key(storage, |key| key.tenant = other).await,
        }
    }
}

/// Stores a new key with all scopes in the default tenant, changed by `change`.
async fn store_key(storage: &Store, change: impl FnOnce(&mut Credential)) -> String {
    let (clock, ids) = wiring::system();
    let mut random = [0; RANDOM_BYTES];
    ids.fill_random(&mut random);
    let secret = CredentialSecret::mint(CredentialKind::Key, &random);
    let mut key = Credential {
        kind: CredentialKind::Key,
        id: secret.id(),
        tenant: "default".parse().expect("the id of a tenant"),
        name: "a test's".to_owned(),
        scopes: Scopes::all(),
        agents: domain::AgentReach::ALL,
        proof: Proof::Secret(StoredSecret {
            digest: secret.digest(),
            last4: secret.last4().to_owned(),
            previous: None,
        }),
        created_at: clock.now(),
        expires_at: None,
        last_used_at: None,
        revoked_at: None,
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
    };
    change(&mut key);
    storage
        .credentials
        .insert(&key, None)
        .await
        .expect("the key is stored");
    secret.reveal().to_owned()
}

/// A running server, and its callers.
pub(crate) struct ApiServer {
    /// The address that it listens on.
    pub(crate) address: SocketAddr,
    /// The ports of its store, without the wrapper of the builder.
    pub(crate) storage: Box<Store>,
    service: Service,
    keys: Keys,
    http: reqwest::Client,
    folder: TempDir,
}

impl ApiServer {
    fn new(folder: TempDir, service: Service, storage: Box<Store>, keys: Keys) -> Self {
        // Connections are closed after each request, so that none delays a shutdown.
        let http = reqwest::Client::builder()
            // Tests see what the server sends.
            .no_gzip()
            .no_deflate()
            .pool_max_idle_per_host(0)
            .timeout(Duration::from_secs(30))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("an HTTP client");
        Self {
            address: service.address,
            storage,
            service,
            keys,
            http,
            folder,
        }
    }

    /// A server with default settings.
    pub(crate) async fn start() -> Self {
        ApiServerBuilder::default().start().await
    }

    /// The database file.
    pub(crate) fn database_file(&self) -> PathBuf {
        self.folder.path().join(DATABASE_FILE)
    }

    /// A caller with all scopes.
    pub(crate) fn writer(&self) -> Caller {
        self.caller(Some(&self.keys.writer))
    }

    /// A caller that may read agents, conversations and events in the writer's tenant.
    pub(crate) fn reader(&self) -> Caller {
        self.caller(Some(&self.keys.reader))
    }

    /// A caller with all scopes in another tenant.
    pub(crate) fn other_tenant(&self) -> Caller {
        self.caller(Some(&self.keys.other_tenant))
    }

    /// A caller without a credential.
    pub(crate) fn anonymous(&self) -> Caller {
        self.caller(None)
    }

    /// A caller with these scopes in the writer's tenant.
    pub(crate) async fn caller_with_scopes(&self, scopes: &[Scope]) -> Caller {
        let scopes = scopes.iter().copied().collect();
        self.caller_with_key(|key| key.scopes = scopes).await
    }

    /// A caller with the writer's key, changed by `change`.
    pub(crate) async fn caller_with_key(&self, change: impl FnOnce(&mut Credential)) -> Caller {
        let key = store_key(&self.storage, change).await;
        self.caller(Some(&key))
    }

    /// A caller with this credential.
    pub(crate) fn caller(&self, key: Option<&str>) -> Caller {
        Caller {
            http: self.http.clone(),
            address: self.address,
            key: key.map(ToOwned::to_owned),
        }
    }

    /// Shuts the server down, and deletes its store.
    pub(crate) async fn stop(self) {
        self.drain_and_stop(Duration::ZERO).await;
    }

    /// Drains the server for a while, then ends it.
    pub(crate) async fn drain_and_stop(self, goodbye: Duration) {
        self.service.drain(goodbye).await;
    }

    /// Restarts the server on the same store, with the same keys.
    pub(crate) async fn restart(self, builder: ApiServerBuilder) -> Self {
        self.service.drain(Duration::ZERO).await;
        let (service, storage, first_key) = builder.serve(&self.folder).await;
        assert!(first_key.is_none(), "the store has its keys");
        Self::new(self.folder, service, storage, self.keys)
    }

    /// Creates an agent.
    pub(crate) async fn agent(&self, draft: Value) -> Value {
        self.writer().post("/api/agents", draft).await.created()
    }

    /// Creates an agent with small talk only, and returns its id.
    pub(crate) async fn agent_id(&self) -> String {
        id_of(&self.agent(json!({"name": "Ada"})).await)
    }

    /// Creates a conversation.
    pub(crate) async fn conversation(&self, draft: Value) -> Value {
        self.writer()
            .post("/api/conversations", draft)
            .await
            .created()
    }

    /// Sends a message, and returns the reply.
    pub(crate) async fn chat(&self, command: Value) -> Value {
        self.writer().post("/api/chat", command).await.ok()
    }
}

/// The id of a created resource.
pub(crate) fn id_of(made: &Value) -> String {
    made["id"]
        .as_str()
        .expect("what is made has an id")
        .to_owned()
}
