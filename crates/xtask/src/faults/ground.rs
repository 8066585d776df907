//! Where the service is broken: stores, processes, agents and conversations.

use std::{fs, path::PathBuf, thread::available_parallelism};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    database::MeasuredServer,
    process::root,
    rig::{
        load::{Connection, Endpoint},
        service::{Service, Settings, generate_key},
    },
};

/// Where the services' logs are kept.
const LOGS: &str = "target/faults";

/// What the service stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "Postgres",
        }
    }
}

/// Everything that the faults need. Goes away when dropped.
pub(super) struct Ground {
    /// Started when it is needed first.
    server: Option<MeasuredServer>,
    pub(super) folder: TempDir,
    program: PathBuf,
    key: String,
    pub(super) seed: u64,
}

impl Ground {
    /// Prepares to start `program`.
    pub(super) fn new(program: PathBuf, with_postgres: bool, seed: u64) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("agent-service-faults-")
            .tempdir()
            .context("cannot make a temporary folder")?;
        fs::create_dir_all(root().join(LOGS)).with_context(|| format!("cannot make {LOGS}"))?;
        let server = with_postgres.then(MeasuredServer::start).transpose()?;
        Ok(Self {
            server,
            folder,
            key: generate_key(&program)?,
            program,
            seed,
        })
    }

    /// The Postgres server.
    pub(super) fn server(&self) -> Result<&MeasuredServer> {
        self.server.as_ref().context("there is no Postgres server")
    }

    /// How the service is started on a new store of this name.
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

    /// How the service is started on this store.
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

    /// Starts the service on a new store of this name, with its agents.
    pub(super) async fn start(&self, store: Store, name: &str) -> Result<(Service, Cast)> {
        let service = Service::start(self.settings(store, name)?)?;
        let cast = Cast::prepare(&service.endpoint()?).await?;
        Ok((service, cast))
    }
}

/// The agents that answer.
#[derive(Debug, Clone)]
pub(super) struct Cast {
    /// Answers at once.
    pub(super) rules: String,
    /// Does what the message says.
    pub(super) scripted: String,
}

impl Cast {
    /// Makes the agents.
    pub(super) async fn prepare(endpoint: &Endpoint) -> Result<Self> {
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

/// Makes so many conversations with an agent.
pub(super) async fn rooms(endpoint: &Endpoint, agent: &str, number: usize) -> Result<Vec<String>> {
    let mut rooms = Vec::with_capacity(number);
    for _ in 0..number {
        rooms.push(post(endpoint, "/api/conversations", &json!({ "agentId": agent })).await?);
    }
    Ok(rooms)
}

/// Makes something, and answers its id.
async fn post(endpoint: &Endpoint, path: &str, body: &Value) -> Result<String> {
    let mut connection = Connection::open(endpoint.address).await?;
    let made = endpoint.call(&mut connection, "POST", path, Some(body));
    let id = made.await?["id"].as_str().map(str::to_owned);
    id.with_context(|| format!("POST {path} tells no id"))
}
