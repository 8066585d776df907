//! The processes that are measured.

use std::thread::available_parallelism;

use anyhow::{Context as _, Result};
use dev_load::{
    binaries::Binaries,
    server_process::ServerProcess,
    service::{Service, Settings, generate_key},
};
use dev_tools::postgres::DurableServer;
use tempfile::TempDir;

use super::access::Issuer;

/// The service on both stores, and everything that it needs. Dropping it removes all.
pub(crate) struct Environment {
    // Fields are dropped in this order: services before their database server and folder.
    pub(crate) sqlite: Service,
    pub(crate) postgres: Service,
    pub(crate) server: DurableServer,
    pub(crate) folder: TempDir,
    pub(crate) issuer: Issuer,
    pub(crate) binaries: Binaries,
    settings: Settings,
}

impl Environment {
    /// Starts a Postgres server, and the service on empty stores.
    pub(crate) fn start(binaries: Binaries) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("agent-service-bench-")
            .tempdir()
            .context("cannot make a temporary folder")?;
        let server = DurableServer::start()?;
        server.recycle_log_segments()?;
        server.create("service")?;
        let issuer = Issuer::start()?;
        let settings = Settings {
            workers: available_parallelism().map_or(1, usize::from),
            database_url: file(&folder, "service"),
            key: generate_key(&binaries.service)?,
            program: binaries.service.clone(),
            variables: issuer.settings().into(),
            log: None,
        };
        Ok(Self {
            sqlite: Service::start(settings.clone())?,
            postgres: Service::start(Settings {
                database_url: server.url("service"),
                ..settings.clone()
            })?,
            server,
            folder,
            issuer,
            binaries,
            settings,
        })
    }

    /// The number of HTTP workers of each server.
    pub(crate) const fn workers(&self) -> usize {
        self.settings.workers
    }

    /// The settings of the service on another database of the Postgres server.
    pub(crate) fn on_database(&self, name: &str) -> Settings {
        Settings {
            database_url: self.server.url(name),
            ..self.settings.clone()
        }
    }

    /// Starts the service without access control on an empty store; `counted` if it counts
    /// requests.
    pub(crate) fn open_reading(&self, counted: bool) -> Result<Service> {
        let (name, variables) = if counted {
            (
                "counted",
                vec![("COUNT_REQUESTS".to_owned(), "1".to_owned())],
            )
        } else {
            ("open", vec![])
        };
        Service::start(Settings {
            program: self.binaries.baseline("api", "open_reading")?,
            variables,
            ..self.on_file(name)
        })
    }

    /// Starts the service on an empty store with the lowest limit for unknown addresses.
    pub(crate) fn guarded(&self) -> Result<Service> {
        let mut settings = self.on_file("guarded");
        for name in ["LIMITS__ADDRESS__PER_MINUTE", "LIMITS__ADDRESS__BURST"] {
            settings.variables.push((name.to_owned(), "1".to_owned()));
        }
        Service::start(settings)
    }

    /// Starts the service on an empty store for the sockets.
    pub(crate) fn for_sockets(&self) -> Result<Service> {
        Service::start(self.on_file("sockets"))
    }

    /// The settings of the service on another SQLite file.
    pub(crate) fn on_file(&self, name: &str) -> Settings {
        Settings {
            database_url: file(&self.folder, name),
            ..self.settings.clone()
        }
    }

    /// Starts the bare framework with a body of `bytes` bytes.
    pub(crate) fn bare_hello(&self, bytes: usize) -> Result<ServerProcess> {
        let program = self.binaries.baseline("api", "bare_hello")?;
        let mut command = std::process::Command::new(program);
        let arguments = [self.settings.workers, bytes].map(|number| number.to_string());
        ServerProcess::start(command.args(arguments))
    }
}

fn file(folder: &TempDir, name: &str) -> String {
    let path = folder.path().join(name).with_extension("db");
    format!("sqlite://{}", path.display())
}
