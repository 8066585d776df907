//! Everything that is measured, up and running.

use std::thread::available_parallelism;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::{
    binaries::Binaries,
    listening::Listening,
    service::{Service, Settings, generate_key},
};
use crate::database::MeasuredServer;

/// The service on both stores, and what they stand on. Goes away with everything when dropped.
pub(crate) struct Stage {
    // In this order they are dropped: who uses the server or the folder goes first.
    pub(crate) sqlite: Service,
    pub(crate) postgres: Service,
    pub(crate) server: MeasuredServer,
    pub(crate) folder: TempDir,
    pub(crate) binaries: Binaries,
    settings: Settings,
}

impl Stage {
    /// Starts a Postgres server, and the service on empty stores.
    pub(crate) fn set(binaries: Binaries) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("agent-service-bench-")
            .tempdir()
            .context("cannot make a temporary folder")?;
        let server = MeasuredServer::start()?;
        server.create("service")?;
        let file = folder.path().join("service.db");
        let settings = Settings {
            workers: available_parallelism().map_or(1, usize::from),
            database_url: format!("sqlite://{}", file.display()),
            key: generate_key(&binaries.service)?,
            program: binaries.service.clone(),
        };
        Ok(Self {
            sqlite: Service::start(settings.clone())?,
            postgres: Service::start(Settings {
                database_url: server.url("service"),
                ..settings.clone()
            })?,
            server,
            folder,
            binaries,
            settings,
        })
    }

    /// How the service would be started on another database of the Postgres server.
    pub(crate) fn on_database(&self, name: &str) -> Settings {
        Settings {
            database_url: self.server.url(name),
            ..self.settings.clone()
        }
    }

    /// The bare framework, with bodies of so many bytes.
    pub(crate) fn bare_hello(&self, bytes: usize) -> Result<Listening> {
        let mut command = std::process::Command::new(&self.binaries.bare_hello);
        let arguments = [self.settings.workers, bytes].map(|number| number.to_string());
        Listening::start(command.args(arguments))
    }
}
