//! The service as a process that is started, killed and restarted.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use dev_tools::process::{output, signal};

use crate::{
    Credential, Endpoint,
    http::{BlockingApiClient, Method},
    process_stats,
    server_process::ServerProcess,
};

/// Rate limits that no load generator reaches: requests are counted, and none is rejected.
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

/// The service on one store; killed when dropped.
pub struct Service {
    settings: Settings,
    process: Option<ServerProcess>,
}

/// The settings of a service process.
#[derive(Clone)]
pub struct Settings {
    /// The binary.
    pub program: PathBuf,
    /// The number of HTTP workers.
    pub workers: usize,
    /// The URL of the store.
    pub database_url: String,
    /// An API key with all scopes.
    pub key: String,
    /// Further environment variables, which override the others.
    pub variables: Vec<(String, String)>,
    /// The file to which the log is appended; standard error when absent.
    pub log: Option<PathBuf>,
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

    /// Migrates the store, without serving.
    pub fn migrate(&self) -> Result<()> {
        self.run(&["migrate"])?;
        Ok(())
    }

    /// Runs a subcommand of the service on the store, and returns the line that it prints.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        let printed = output(self.command()?.args(arguments))?;
        Ok(printed.trim().to_owned())
    }
}

/// Returns a new API key that `program` generates.
pub fn generate_key(program: &Path) -> Result<String> {
    let printed = output(Command::new(program).args(["keys", "generate"]))?;
    Ok(printed.trim().to_owned())
}

impl Service {
    /// Starts the service and waits until it listens.
    pub fn start(settings: Settings) -> Result<Self> {
        let process = ServerProcess::start(&mut settings.command()?)?;
        Ok(Self {
            settings,
            process: Some(process),
        })
    }

    /// The address of the service, with the key that has all scopes.
    pub fn endpoint(&self) -> Result<Endpoint> {
        Ok(Endpoint {
            address: self.process()?.address,
            credential: Credential::Key(self.settings.key.clone()),
        })
    }

    /// The process id.
    pub fn id(&self) -> Result<u32> {
        Ok(self.process()?.id())
    }

    /// The resident memory in MiB.
    pub fn resident(&self) -> Result<f64> {
        process_stats::resident(self.id()?)
    }

    /// Kills and restarts the service; returns the time from the start of the process to the
    /// response to `GET path`.
    pub fn measure_restart(&mut self, path: &str) -> Result<Duration> {
        self.kill();
        let started = Instant::now();
        self.restart()?;
        BlockingApiClient::new(&self.endpoint()?)?.call(Method::GET, path, None)?;
        Ok(started.elapsed())
    }

    /// Kills the service (`SIGKILL`).
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Kills the service if it runs, and starts it again; it then listens on another port.
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        self.process = Some(ServerProcess::start(&mut self.settings.command()?)?);
        Ok(())
    }

    /// Sends `SIGTERM`.
    pub fn terminate(&self) -> Result<()> {
        signal("TERM", &[self.id()?])
    }

    /// The exit status, or `None` while the service runs.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>> {
        let process = self.process.as_mut();
        process.context("the service is not running")?.exit_status()
    }

    fn process(&self) -> Result<&ServerProcess> {
        self.process.as_ref().context("the service is not running")
    }
}
