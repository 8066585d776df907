//! A whole service of the test's own, reached over HTTP like any other.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use api::{
    server::{Service, ShowFirstKey},
    settings::Settings,
    socket::SocketTimes,
    wiring::{self, EnginesByName},
};
use domain::{
    Credential, CredentialKind, CredentialSecret, LimitOverrides, Scope, Scopes, TenantId,
    credential::{Proof, StoredSecret},
    credential_secret::RANDOM_BYTES,
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use ports::{ReplyEngine, Storage};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::caller::Caller;

/// Rate limits that no test meets unless it sets them.
const GENEROUS: [(&str, &str); 8] = [
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

/// What a service is started with.
#[derive(Default)]
pub(crate) struct Plan {
    engines: EnginesByName,
    settings: Vec<(String, String)>,
    over: Option<Box<dyn FnOnce(Storage) -> Storage + Send>>,
    sockets: Option<SocketTimes>,
    metrics: Option<PrometheusHandle>,
}

impl Plan {
    /// With an engine beside the built-in ones.
    pub(crate) fn engine(mut self, name: &str, engine: impl ReplyEngine + 'static) -> Self {
        self.engines.insert(name.to_owned(), Arc::new(engine));
        self
    }

    /// With a setting, by its variable.
    pub(crate) fn setting(mut self, variable: &str, value: &str) -> Self {
        self.settings.push((variable.to_owned(), value.to_owned()));
        self
    }

    /// With what renders these metrics.
    pub(crate) fn metrics(mut self, metrics: PrometheusHandle) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// With less patience for clients of sockets.
    pub(crate) fn sockets(mut self, times: SocketTimes) -> Self {
        self.sockets = Some(times);
        self
    }

    /// With something between the use cases and the store.
    pub(crate) fn over(mut self, over: impl FnOnce(Storage) -> Storage + Send + 'static) -> Self {
        self.over = Some(Box::new(over));
        self
    }

    /// Starts the service on a store of its own, with a key for each kind of caller.
    pub(crate) async fn start(self) -> Api {
        let folder = tempfile::tempdir().expect("a folder for the store");
        let (service, storage, minted) = self.serve(&folder).await;
        let minted = minted.expect("an empty store gets a key");
        let keys = Keys::make(&minted, &storage).await;
        Api::new(folder, service, storage, keys)
    }

    /// Starts one more service on the store of one that is up, for the same callers. That store
    /// must be a server, and the plan must name it.
    pub(crate) async fn join(self, other: &Api) -> Api {
        let folder = tempfile::tempdir().expect("a folder that stays empty");
        let (service, storage, minted) = self.serve(&folder).await;
        assert!(minted.is_none(), "the store has its keys");
        Api::new(folder, service, storage, other.keys.clone())
    }

    async fn serve(self, folder: &TempDir) -> (Service, Storage, Option<CredentialSecret>) {
        let database = folder.path().join(DATABASE_FILE);
        let own = [
            ("DATABASE_URL", format!("sqlite://{}", database.display())),
            ("SERVER__PORT", "0".to_owned()),
            ("SERVER__WORKERS", "1".to_owned()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let generous = GENEROUS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables = own.into_iter().chain(generous).chain(self.settings);
        let settings = Settings::load(None, variables);
        let mut settings = settings.expect("the test's settings are valid");
        if let Some(times) = self.sockets {
            settings.limits.sockets = times;
        }
        let mut engines = wiring::built_in_engines().expect("threads can be started");
        engines.extend(self.engines);
        // A recorder of the test's own: the process has room for one global recorder only.
        let metrics = self
            .metrics
            .unwrap_or_else(|| PrometheusBuilder::new().build_recorder().handle());
        let mut storage = None;
        let over = self.over.unwrap_or_else(|| Box::new(|storage| storage));
        let over = |stored: Storage| {
            storage = Some(stored.clone());
            over(stored)
        };
        let (minting, mut minted) = oneshot::channel();
        let show: ShowFirstKey = Box::new(|key, _url| minting.send(key.clone()).is_ok());
        let service = Service::start_over(&settings, false, engines, metrics, show, over)
            .await
            .expect("the service starts");
        let storage = storage.expect("the service asked for its store");
        (service, storage, minted.try_recv().ok())
    }
}

/// The keys of a test's callers.
#[derive(Clone)]
struct Keys {
    writer: String,
    reader: String,
    stranger: String,
}

impl Keys {
    async fn make(minted: &CredentialSecret, storage: &Storage) -> Self {
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
            writer: minted.reveal().to_owned(),
            reader: store_key(storage, |key| key.scopes = reads.into_iter().collect()).await,
            stranger: store_key(storage, |key| key.tenant = other).await,
        }
    }
}

/// Stores a new key, with all scopes in the default tenant but for what `change` changes.
async fn store_key(storage: &Storage, change: impl FnOnce(&mut Credential)) -> String {
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

/// A service that is up, and those who call it.
pub(crate) struct Api {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Its store's ports, without what the plan put over them.
    pub(crate) storage: Storage,
    service: Service,
    keys: Keys,
    http: reqwest::Client,
    folder: TempDir,
}

impl Api {
    fn new(folder: TempDir, service: Service, storage: Storage, keys: Keys) -> Self {
        // No connection outlives its request, so that none keeps the service from ending.
        let http = reqwest::Client::builder()
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

    /// A service as an operator gets it.
    pub(crate) async fn start() -> Self {
        Plan::default().start().await
    }

    /// The file of its store.
    pub(crate) fn database_file(&self) -> PathBuf {
        self.folder.path().join(DATABASE_FILE)
    }

    /// Who may do everything.
    pub(crate) fn writer(&self) -> Caller {
        self.caller(Some(&self.keys.writer))
    }

    /// Who may read agents, conversations and events, in the writer's tenant.
    pub(crate) fn reader(&self) -> Caller {
        self.caller(Some(&self.keys.reader))
    }

    /// Who may do everything, in another tenant.
    pub(crate) fn stranger(&self) -> Caller {
        self.caller(Some(&self.keys.stranger))
    }

    /// Who has no credential.
    pub(crate) fn anonymous(&self) -> Caller {
        self.caller(None)
    }

    /// Who has these scopes, in the writer's tenant.
    pub(crate) async fn holder_of(&self, scopes: &[Scope]) -> Caller {
        let scopes = scopes.iter().copied().collect();
        self.holder_with(|key| key.scopes = scopes).await
    }

    /// Who has the writer's rights but for what `change` changes in its key.
    pub(crate) async fn holder_with(&self, change: impl FnOnce(&mut Credential)) -> Caller {
        let key = store_key(&self.storage, change).await;
        self.caller(Some(&key))
    }

    /// Who has this credential.
    pub(crate) fn caller(&self, key: Option<&str>) -> Caller {
        Caller {
            http: self.http.clone(),
            address: self.address,
            key: key.map(ToOwned::to_owned),
        }
    }

    /// Ends the service in order, and with it its store.
    pub(crate) async fn stop(self) {
        self.stop_after(Duration::ZERO).await;
    }

    /// Ends the service after it has told load balancers for a while.
    pub(crate) async fn stop_after(self, goodbye: Duration) {
        self.service.drain(goodbye).await;
    }

    /// Ends the service and starts another one on the same store, with the same keys.
    pub(crate) async fn restart(self, plan: Plan) -> Self {
        self.service.drain(Duration::ZERO).await;
        let (service, storage, minted) = plan.serve(&self.folder).await;
        assert!(minted.is_none(), "the store has its keys");
        Self::new(self.folder, service, storage, self.keys)
    }

    /// An agent that exists.
    pub(crate) async fn agent(&self, draft: Value) -> Value {
        self.writer().post("/api/agents", draft).await.made()
    }

    /// The id of an agent that only talks small talk.
    pub(crate) async fn agent_id(&self) -> String {
        id_of(&self.agent(json!({"name": "Ada"})).await)
    }

    /// A conversation that exists.
    pub(crate) async fn conversation(&self, draft: Value) -> Value {
        self.writer().post("/api/conversations", draft).await.made()
    }

    /// The reply to a message.
    pub(crate) async fn chat(&self, command: Value) -> Value {
        self.writer().post("/api/chat", command).await.ok()
    }
}

/// The id of what was made.
pub(crate) fn id_of(made: &Value) -> String {
    made["id"]
        .as_str()
        .expect("what is made has an id")
        .to_owned()
}
