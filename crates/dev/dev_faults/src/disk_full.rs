//! F3: the disk of SQLite and of the log is full for a while.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use dev_load::service::Service;
use dev_tools::{postgres::is_root, process::output};
use tokio::{task::JoinSet, time::Instant};

use super::{
    acknowledgements::{Acknowledgements, Nodes},
    audit,
    chat_load::ChatLoad,
    environment::{Agents, Environment},
    probes::{self, Outage},
    random::Random,
    report::Report,
    terminate,
};

/// The time without space.
const FULL: Duration = Duration::from_secs(12);
/// The time of chats before and after it.
const AROUND: Duration = Duration::from_secs(4);
/// The interval of chats.
const CHAT_INTERVAL: Duration = Duration::from_millis(20);
/// The bytes of one write that fills the disk.
const BLOCK: [u8; 4096] = [0; 4096];

/// A small disk in memory, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: PathBuf) -> Result<Self> {
        fs::create_dir(&path).context("cannot make a folder")?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs"]);
        output(mount.arg(&path))?;
        Ok(Self(path))
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Takes all remaining space.
    fn fill(&self) -> Result<()> {
        let mut filler = File::create(self.filler()).context("cannot fill the disk")?;
        while filler.write_all(&BLOCK).is_ok() {}
        Ok(())
    }

    /// Frees the space.
    fn clear(&self) -> Result<()> {
        fs::remove_file(self.filler()).context("cannot clear the disk")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, since the service may still use it. A failure cannot be reported here.
        let _ = output(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}

/// Fills the disk under load, and clears it.
pub(super) async fn run(environment: &Environment) -> Result<Report> {
    let report = Report::new(
        "F3",
        "SQLite and the log on a full disk for 12 s, under 50 chats/s",
    );
    if !is_root()? {
        return Ok(report.skipped("only root can mount a small disk"));
    }
    match SmallDisk::mount(environment.folder.path().join("small")) {
        Ok(disk) => fill(environment, &disk, report).await,
        Err(error) => Ok(report.skipped(format!("no small disk can be mounted: {error:#}"))),
    }
}

async fn fill(environment: &Environment, disk: &SmallDisk, mut report: Report) -> Result<Report> {
    let name = "disk_full";
    report.expect_no(&["other errors", "not rejected", "exit code"]);
    let mut settings = environment.settings_at(database(&disk.0), name);
    settings.log = Some(disk.0.join("log"));
    let mut service = Service::start(settings)?;
    let endpoint = service.endpoint()?;
    let agents = Agents::create(&endpoint).await?;
    let nodes = Nodes::default();
    nodes.set(vec![endpoint.clone()]);
    let random = Random::new(environment.seed);
    let mut chats = ChatLoad::prepare(&endpoint, &agents, name.to_owned(), random).await?;
    chats.interval = CHAT_INTERVAL;
    let mut load = JoinSet::new();
    load.spawn(async move {
        let mut clients = JoinSet::new();
        chats
            .run(&nodes, AROUND + FULL + AROUND, &mut clients)
            .await;
        clients.join_all().await
    });
    let probe_task = probes::start(&endpoint, &agents.rules, name, AROUND + FULL + AROUND);
    // This thread blocks; the load runs on other threads.
    thread::sleep(AROUND);
    disk.fill()?;
    let started = Instant::now();
    thread::sleep(FULL);
    let ending = Instant::now();
    disk.clear()?;
    let outage = Outage {
        started,
        ending,
        ended: Instant::now(),
        // Writes into space that the write-ahead log already has still succeed.
        is_total: false,
    };
    let probes: Vec<_> = probe_task.join_all().await.into_iter().flatten().collect();
    outage.judge(&probes, &mut report);
    let acks: Vec<Acknowledgements> = load.join_all().await.into_iter().flatten().collect();
    audit::run(&endpoint, &acks, &mut report).await?;
    // A shutdown does not depend on the log either.
    disk.fill()?;
    terminate::terminate_and_wait(&mut service, &mut report)?;
    Ok(report)
}

fn database(folder: &Path) -> String {
    format!("sqlite://{}/full.db", folder.display())
}
