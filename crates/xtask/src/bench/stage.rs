//! Everything that is measured, up and running.

use std::thread::available_parallelism;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::access::Issuer;
use crate::{
    database::MeasuredServer,
    rig::{
        binaries::Binaries,
        listening::Listening,
        service::{Service, Settings, generate_key},
    },
};

/// The service on both stores, and what they stand on. Goes away with everything when dropped.
pub(crate) struct Stage {
    // In this order they are dropped: who uses the server or the folder goes first.
    pub(crate) sqlite: Service,
    pub(crate) postgres: Service,
    pub(crate) server: MeasuredServer,
    pub(crate) folder: TempDir,
    pub(crate) issuer: Issuer,
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

    /// How the service would be started on another database of the Postgres server.
    pub(crate) fn on_database(&self, name: &str) -> Settings {
        Settings {
            database_url: self.server.url(name),
            ..self.settings.clone()
        }
    }

    /// The service without access, on an empty store; `counted` if it counts requests all the same.
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
            program: self.binaries.open_reading.clone(),
            variables,
            ..self.on_file(name)
        })
    }

    /// The service on an empty store, letting nobody in of whom it knows nothing yet.
    pub(crate) fn guarded(&self) -> Result<Service> {
        let mut settings = self.on_file("guarded");
        for name in ["LIMITS__ADDRESS__PER_MINUTE", "LIMITS__ADDRESS__BURST"] {
            settings.variables.push((name.to_owned(), "1".to_owned()));
        }
        Service::start(settings)
    }

    /// The service on an empty store, for sockets alone.
    pub(crate) fn for_sockets(&self) -> Result<Service> {
        Service::start(self.on_file("sockets"))
    }

    /// How the service would be started on another file.
    pub(crate) fn on_file(&self, name: &str) -> Settings {
        Settings {
            database_url: file(&self.folder, name),
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

fn file(folder: &TempDir, name: &str) -> String {
    let path = folder.path().join(name).with_extension("db");
    format!("sqlite://{}", path.display())
}
