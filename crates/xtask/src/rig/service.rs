//! The service under measurement.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use super::{
    listening::Listening,
    load::{Client, Credential, Endpoint},
    memory,
};
use crate::process::{output, signal};

/// Rate limits that no generator of load meets: requests are counted as ever, but none is refused.
const NO_LIMITS: [(&str, &str); 9] = [
    ("LIMITS__STREAMS", "100000"),
    ("LIMITS__REQUESTS__PER_MINUTE", "100000000"),
    ("LIMITS__REQUESTS__BURST", "1000000"),
    ("LIMITS__CHAT__PER_MINUTE", "100000000"),
    ("LIMITS__CHAT__BURST", "1000000"),
    ("LIMITS__LOG_BYTES__PER_MINUTE", "4294967295"),
    ("LIMITS__LOG_BYTES__BURST", "4294967295"),
    ("LIMITS__ADDRESS__PER_MINUTE", "100000000"),
    ("LIMITS__ADDRESS__BURST", "1000000"),
];

/// A running service on one store.
pub(crate) struct Service {
    settings: Settings,
    listening: Option<Listening>,
}

/// How a service is started.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) program: PathBuf,
    pub(crate) workers: usize,
    pub(crate) database_url: String,
    /// A key with all scopes.
    pub(crate) key: String,
    /// Further variables, over those that all have.
    pub(crate) variables: Vec<(String, String)>,
    /// The file to which the service's log is added; ours when absent.
    pub(crate) log: Option<PathBuf>,
}

impl Settings {
    fn command(&self) -> Result<Command> {
        let mut command = Command::new(&self.program);
        if let Some(log) = &self.log {
            let file = File::options().append(true).create(true).open(log);
            command.stderr(file.context("cannot write a log")?);
        }
        command
            .env("DATABASE_URL", &self.database_url)
            .env("SERVER__HOST", "127.0.0.1")
            .env("SERVER__PORT", "0")
            .env("SERVER__WORKERS", self.workers.to_string())
            .env("AUTH__BOOTSTRAP_KEY", &self.key)
            .env("LOG__LEVEL", "warn")
            .env("SERVER__ALLOWED_ORIGINS", "https://app.example.org")
            .envs(NO_LIMITS)
            .envs(self.variables.iter().cloned());
        Ok(command)
    }

    /// Brings the store's schema up to date, without serving.
    pub(crate) fn migrate(&self) -> Result<()> {
        self.run(&["migrate"])?;
        Ok(())
    }

    /// Runs another command of the service on the store, and returns the line that it prints.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        let printed = output(self.command()?.args(arguments))?;
        Ok(printed.trim().to_owned())
    }
}

/// A new API key, as `program` makes it.
pub(crate) fn generate_key(program: &Path) -> Result<String> {
    let printed = output(Command::new(program).args(["keys", "generate"]))?;
    Ok(printed.trim().to_owned())
}

impl Service {
    /// Starts the service; it is killed when this is dropped.
    pub(crate) fn start(settings: Settings) -> Result<Self> {
        let listening = Listening::start(&mut settings.command()?)?;
        Ok(Self {
            settings,
            listening: Some(listening),
        })
    }

    /// Where requests go.
    pub(crate) fn endpoint(&self) -> Result<Endpoint> {
        Ok(Endpoint {
            address: self.listening()?.address,
            credential: Credential::Key(self.settings.key.clone()),
        })
    }

    /// Names the process to the system.
    pub(crate) fn id(&self) -> Result<u32> {
        Ok(self.listening()?.id())
    }

    /// Memory that is resident, in MiB.
    pub(crate) fn resident(&self) -> Result<f64> {
        memory::resident(self.id()?)
    }

    /// Kills the service and starts it again; answers how long it took from the start of the
    /// process until `path` had been answered.
    pub(crate) fn restart(&mut self, path: &str) -> Result<Duration> {
        self.kill();
        let started = Instant::now();
        self.start_again()?;
        Client::connect(&self.endpoint()?)?.call("GET", path, None)?;
        Ok(started.elapsed())
    }

    /// Kills the service, which can do nothing about it (`SIGKILL`).
    pub(crate) fn kill(&mut self) {
        self.listening = None;
    }

    /// Starts the service after it has gone; it then listens elsewhere.
    pub(crate) fn start_again(&mut self) -> Result<()> {
        self.kill();
        self.listening = Some(Listening::start(&mut self.settings.command()?)?);
        Ok(())
    }

    /// Asks the service to go (`SIGTERM`).
    pub(crate) fn terminate(&self) -> Result<()> {
        signal("TERM", &[self.id()?])
    }

    /// How the service ended, or `None` while it has not.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let listening = self.listening.as_mut();
        listening.context("the service is not there")?.ended()
    }

    fn listening(&self) -> Result<&Listening> {
        self.listening.as_ref().context("the service is not there")
    }
}
