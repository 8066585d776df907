//! The baselines of writes: `pgbench` writes the same rows, with one transaction for each request.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, Result, bail};
use dev_load::latencies::Latencies;
use dev_tools::{postgres::DurableServer, process::output};

use super::{
    environment::Environment,
    workload::{self, CONVERSATIONS, MESSAGE, REPLY},
};

const DATABASE: &str = "baseline";
const TABLES: &str = include_str!("pgbench/conversations.sql");

/// The numbers of clients that are tried; the fastest is the baseline.
pub(crate) const CLIENTS: [usize; 5] = [1, 8, 32, 64, 128];

/// The writes of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Transaction {
    /// A chat by rules.
    Chat,
    /// The creation of an agent.
    Creation,
}

impl Transaction {
    /// The file of its script.
    const fn file(self) -> &'static str {
        match self {
            Self::Chat => "chat.sql",
            Self::Creation => "creation.sql",
        }
    }

    fn script(self) -> String {
        match self {
            Self::Chat => include_str!("pgbench/chat.sql")
                .replace("{conversations}", &CONVERSATIONS.to_string())
                .replace("{message}", MESSAGE)
                .replace("{reply}", REPLY),
            Self::Creation => {
                let agent = workload::draft();
                include_str!("pgbench/creation.sql")
                    .replace(
                        "{personality}",
                        agent["personality"].as_str().unwrap_or_default(),
                    )
                    .replace("{config}", &agent["config"].to_string())
                    .replace("{snapshot}", &agent.to_string())
            }
        }
    }
}

/// `pgbench` on a database that the service has migrated.
pub(crate) struct Pgbench<'s> {
    server: &'s DurableServer,
    folder: &'s Path,
}

impl<'s> Pgbench<'s> {
    /// Creates the database with an agent and its conversations.
    pub(crate) fn prepare(environment: &'s Environment) -> Result<Self> {
        environment.server.create(DATABASE)?;
        environment.on_database(DATABASE).migrate()?;
        let statements = TABLES.replace("{conversations}", &CONVERSATIONS.to_string());
        environment.server.sql(DATABASE, &statements)?;
        let folder = environment.folder.path();
        for transaction in [Transaction::Chat, Transaction::Creation] {
            fs::write(folder.join(transaction.file()), transaction.script())
                .context("cannot write pgbench's script")?;
        }
        Ok(Self {
            server: &environment.server,
            folder,
        })
    }

    /// Returns the transactions a second of `clients` concurrent clients.
    pub(crate) fn per_second(
        &self,
        transaction: Transaction,
        clients: usize,
        duration: Duration,
    ) -> Result<f64> {
        let printed = self.run(transaction, clients, duration, &[])?;
        per_second(&printed)
    }

    /// Returns the latencies of the chats of a single client.
    pub(crate) fn latencies(&self, duration: Duration) -> Result<Latencies> {
        for old in self.logs()? {
            fs::remove_file(old).context("cannot remove a log of pgbench")?;
        }
        self.run(
            Transaction::Chat,
            1,
            duration,
            &["--log", "--log-prefix=transactions"],
        )?;
        let mut latencies = Vec::new();
        for path in self.logs()? {
            let log = fs::read_to_string(path).context("cannot read the log of pgbench")?;
            let times = log.lines().map(latency_of);
            let times: Option<Vec<_>> = times.collect();
            latencies.extend(times.context("the log of pgbench has another form")?);
        }
        if latencies.is_empty() {
            bail!("pgbench has logged no transaction");
        }
        Latencies::new(latencies)
    }

    fn logs(&self) -> Result<Vec<std::path::PathBuf>> {
        let entries = fs::read_dir(self.folder).context("cannot list the folder")?;
        let paths = entries.flatten().map(|entry| entry.path());
        Ok(paths
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("transactions.")
            })
            .collect())
    }

    fn run(
        &self,
        transaction: Transaction,
        clients: usize,
        duration: Duration,
        more: &[&str],
    ) -> Result<String> {
        let mut pgbench = self.server.pgbench(DATABASE)?;
        pgbench
            .current_dir(self.folder)
            .args(["--no-vacuum", "--protocol=prepared"])
            .arg(format!("--file={}", transaction.file()))
            .arg(format!("--client={clients}"))
            .arg(format!("--jobs={}", clients.min(2)))
            .arg(format!("--time={}", duration.as_secs().max(1)))
            .args(more);
        let printed = output(&mut pgbench)?;
        if !printed.contains("number of failed transactions: 0 ") {
            bail!("transactions of pgbench have failed:\n{printed}");
        }
        Ok(printed)
    }
}

/// Parses the number of `tps = 2100.5 (without initial connection time)`, which is missing when all
/// the time was spent on connecting.
fn per_second(printed: &str) -> Result<f64> {
    if printed.contains("transactions actually processed: 0\n") {
        return Ok(0.0);
    }
    let line = printed.lines().find_map(|it| it.strip_prefix("tps = "));
    let number = line.and_then(|line| line.split_whitespace().next());
    let parsed = number.and_then(|number| number.parse().ok());
    parsed.with_context(|| format!("no tps in what pgbench printed:\n{printed}"))
}

/// Parses the latency of a line of the log: client, number, microseconds, script, and time.
fn latency_of(line: &str) -> Option<Duration> {
    let microseconds = line.split_whitespace().nth(2)?.parse().ok()?;
    Some(Duration::from_micros(microseconds))
}
