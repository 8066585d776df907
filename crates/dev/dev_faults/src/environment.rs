//! The stores, processes, agents and conversations of a fault.

use std::{fs, path::PathBuf, thread::available_parallelism};

use anyhow::{Context as _, Result};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method},
    service::{Service, Settings, generate_key},
};
use dev_tools::{postgres::DurableServer, process::root, redis_server::RedisProcess};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The folder of the services' logs.
const LOGS: &str = "target/faults";

/// The store of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    /// The display name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "Postgres",
        }
    }
}

/// The resources of all faults, removed when dropped.
pub(super) struct Environment {
    /// Started when a fault needs Postgres.
    server: Option<DurableServer>,
    /// Started when a fault needs Redis.
    redis: Option<Mutex<RedisProcess>>,
    pub(super) folder: TempDir,
    program: PathBuf,
    key: String,
    pub(super) seed: u64,
}

impl Environment {
    /// Prepares to start `program`.
    pub(super) fn new(
        program: PathBuf,
        with_postgres: bool,
        with_redis: bool,
        seed: u64,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("agent-service-faults-")
            .tempdir()
            .context("cannot make a temporary folder")?;
        fs::create_dir_all(root().join(LOGS)).with_context(|| format!("cannot make {LOGS}"))?;
        let server = with_postgres.then(DurableServer::start).transpose()?;
        let redis = with_redis.then(|| {
            RedisProcess::provide(false)?;
            RedisProcess::start(&[]).map(Mutex::new)
        });
        Ok(Self {
            server,
            redis: redis.transpose()?,
            folder,
            key: generate_key(&program)?,
            program,
            seed,
        })
    }

    /// The Postgres server.
    pub(super) fn server(&self) -> Result<&DurableServer> {
        self.server
            .as_ref()
            .context("no Postgres server was started")
    }

    /// The Redis server.
    pub(super) fn redis(&self) -> Result<MutexGuard<'_, RedisProcess>> {
        let redis = self.redis.as_ref().context("no Redis server was started")?;
        Ok(redis.lock())
    }

    /// The settings of the service on a new store of this name.
    pub(super) fn settings(&self, store: Store, name: &str) -> Result<Settings> {
        let database_url = match store {
            Store::Sqlite => {
                let file = self.folder.path().join(name).with_extension("db");
                format!("sqlite://{}", file.display())
            }
            Store::Postgres => {
                self.server()?.create(name)?;
                self.server()?.url(name)
            }
        };
        Ok(self.settings_at(database_url, name))
    }

    /// The settings of the service on this store.
    pub(super) fn settings_at(&self, database_url: String, name: &str) -> Settings {
        Settings {
            program: self.program.clone(),
            workers: available_parallelism().map_or(1, usize::from),
            database_url,
            key: self.key.clone(),
            variables: Vec::new(),
            log: Some(root().join(LOGS).join(name).with_extension("log")),
        }
    }

    /// Starts the service on a new store of this name, and creates its agents.
    pub(super) async fn start(&self, store: Store, name: &str) -> Result<(Service, Agents)> {
        let service = Service::start(self.settings(store, name)?)?;
        let agents = Agents::create(&service.endpoint()?).await?;
        Ok((service, agents))
    }
}

/// The agents of a service.
#[derive(Debug, Clone)]
pub(super) struct Agents {
    /// Replies at once, by a rule.
    pub(super) rules: String,
    /// Plays the script in the message.
    pub(super) scripted: String,
}

impl Agents {
    /// Creates the agents.
    pub(super) async fn create(endpoint: &Endpoint) -> Result<Self> {
        let echo = json!([{ "pattern": r"echo ([\w-]+)", "reply": "Echo of {{capture.1}}." }]);
        let rules = json!({ "engine": "rules", "rules": echo });
        let mut ids = Vec::new();
        for (name, config) in [
            ("Rules", rules),
            ("Scripted", json!({ "engine": "scripted" })),
        ] {
            let draft = json!({ "name": name, "config": config });
            ids.push(post(endpoint, "/api/agents", &draft).await?);
        }
        let [rules, scripted] = ids.try_into().ok().context("two agents")?;
        Ok(Self { rules, scripted })
    }
}

/// Creates conversations with an agent.
pub(super) async fn create_conversations(
    endpoint: &Endpoint,
    agent: &str,
    number: usize,
) -> Result<Vec<String>> {
    let mut conversations = Vec::with_capacity(number);
    for _ in 0..number {
        conversations
            .push(post(endpoint, "/api/conversations", &json!({ "agentId": agent })).await?);
    }
    Ok(conversations)
}

/// Creates a resource and returns its id.
async fn post(endpoint: &Endpoint, path: &str, body: &Value) -> Result<String> {
    let client = ApiClient::new(endpoint);
    let made = client.call(Method::POST, path, Some(body));
    let id = made.await?["id"].as_str().map(str::to_owned);
    id.with_context(|| format!("POST {path} returned no id"))
}
