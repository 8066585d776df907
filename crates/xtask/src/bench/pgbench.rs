//! The measure of a write: the same rows by `pgbench`, one transaction a chat.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, Result, bail};

use super::{
    stage::Stage,
    talk::{CONVERSATIONS, MESSAGE, REPLY},
};
use crate::{database::MeasuredServer, process::output, rig::load::Latencies};

const DATABASE: &str = "baseline";
const SCRIPT: &str = include_str!("pgbench/chat.sql");
const TABLES: &str = include_str!("pgbench/conversations.sql");

/// Numbers of clients, of which the best counts.
pub(crate) const CLIENTS: [usize; 5] = [1, 8, 32, 64, 128];

/// `pgbench` on a database that the service has migrated.
pub(crate) struct Pgbench<'s> {
    server: &'s MeasuredServer,
    folder: &'s Path,
}

impl<'s> Pgbench<'s> {
    /// Makes the database, with an agent and its conversations.
    pub(crate) fn prepare(stage: &'s Stage) -> Result<Self> {
        stage.server.create(DATABASE)?;
        stage.on_database(DATABASE).migrate()?;
        let statements = TABLES.replace("{conversations}", &CONVERSATIONS.to_string());
        stage.server.sql(DATABASE, &statements)?;
        let script = SCRIPT
            .replace("{conversations}", &CONVERSATIONS.to_string())
            .replace("{message}", MESSAGE)
            .replace("{reply}", REPLY);
        let folder = stage.folder.path();
        fs::write(folder.join("chat.sql"), script).context("cannot write pgbench's script")?;
        Ok(Self {
            server: &stage.server,
            folder,
        })
    }

    /// Transactions a second of so many clients at once.
    pub(crate) fn per_second(&self, clients: usize, duration: Duration) -> Result<f64> {
        let printed = self.run(clients, duration, &[])?;
        per_second(&printed)
    }

    /// How long the transactions of a single client take.
    pub(crate) fn latencies(&self, duration: Duration) -> Result<Latencies> {
        for old in self.logs()? {
            fs::remove_file(old).context("cannot remove a log of pgbench")?;
        }
        self.run(1, duration, &["--log", "--log-prefix=transactions"])?;
        let mut took = Vec::new();
        for path in self.logs()? {
            let log = fs::read_to_string(path).context("cannot read the log of pgbench")?;
            let times = log.lines().map(took_of);
            let times: Option<Vec<_>> = times.collect();
            took.extend(times.context("the log of pgbench has another form")?);
        }
        if took.is_empty() {
            bail!("pgbench has logged no transaction");
        }
        Ok(Latencies::new(took))
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

    fn run(&self, clients: usize, duration: Duration, more: &[&str]) -> Result<String> {
        let mut pgbench = self.server.pgbench(DATABASE)?;
        pgbench
            .current_dir(self.folder)
            .args(["--no-vacuum", "--protocol=prepared", "--file=chat.sql"])
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

/// The number in `tps = 2100.5 (without initial connection time)`; nothing is said of it when all
/// the time went by with connecting.
fn per_second(printed: &str) -> Result<f64> {
    if printed.contains("transactions actually processed: 0\n") {
        return Ok(0.0);
    }
    let line = printed.lines().find_map(|it| it.strip_prefix("tps = "));
    let number = line.and_then(|line| line.split_whitespace().next());
    let parsed = number.and_then(|number| number.parse().ok());
    parsed.with_context(|| format!("no tps in what pgbench printed:\n{printed}"))
}

/// The time of a line of the log: client, number, microseconds, script, and when.
fn took_of(line: &str) -> Option<Duration> {
    let microseconds = line.split_whitespace().nth(2)?.parse().ok()?;
    Some(Duration::from_micros(microseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_transactions_a_second() {
        let printed = "latency average = 0.4 ms\ntps = 2100.5 (without initial connection time)\n";
        assert!((per_second(printed).unwrap() - 2100.5).abs() < 1e-9);
        let connecting = "number of transactions actually processed: 0\n";
        assert!(per_second(connecting).unwrap().abs() < 1e-9);
        assert!(per_second("").is_err());
    }

    #[test]
    fn reads_the_time_of_a_transaction() {
        let line = "0 199 2241 0 1175850568 995598";
        assert_eq!(took_of(line), Some(Duration::from_micros(2241)));
        assert_eq!(took_of("0 199 failed 0 1175850568 995598"), None);
    }
}
