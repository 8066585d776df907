//! F3: the disk that holds SQLite's file and the log is full, and has space again later.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use tokio::{task::JoinSet, time::Instant};

use super::{
    audit,
    chance::Chance,
    chats::Chats,
    findings::Findings,
    ground::{Cast, Ground},
    probes::{self, Away},
    terminate,
    told::{Nodes, Told},
};
use crate::{database::is_root, process::output, rig::service::Service};

/// How long there is no space.
const FULL: Duration = Duration::from_secs(12);
/// How long chats go on before and afterwards.
const AROUND: Duration = Duration::from_secs(4);
/// Between two chats.
const BETWEEN: Duration = Duration::from_millis(20);
/// What is written at once to fill the disk up.
const BLOCK: [u8; 4096] = [0; 4096];

/// A small disk in memory, taken away when dropped.
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

    /// Takes all the space that is left.
    fn fill(&self) -> Result<()> {
        let mut filler = File::create(self.filler()).context("cannot fill the disk")?;
        while filler.write_all(&BLOCK).is_ok() {}
        Ok(())
    }

    /// Gives the space back.
    fn clear(&self) -> Result<()> {
        fs::remove_file(self.filler()).context("cannot clear the disk")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: whoever still uses it keeps it to its end. There is nobody to tell of a failure.
        let _ = output(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}

/// Fills the disk under load, and clears it.
pub(super) async fn run(ground: &Ground) -> Result<Findings> {
    let findings = Findings::of(
        "F3",
        "SQLite and the log on a full disk for 12 s, under 50 chats/s",
    );
    if !is_root()? {
        return Ok(findings.skipped("only root can mount a small disk"));
    }
    match SmallDisk::mount(ground.folder.path().join("small")) {
        Ok(disk) => fill(ground, &disk, findings).await,
        Err(error) => Ok(findings.skipped(format!("no small disk can be mounted: {error:#}"))),
    }
}

async fn fill(ground: &Ground, disk: &SmallDisk, mut findings: Findings) -> Result<Findings> {
    let name = "disk_full";
    findings.expect_none(&["other errors", "not refused", "exit code"]);
    let mut settings = ground.settings_at(database(&disk.0), name);
    settings.log = Some(disk.0.join("log"));
    let mut service = Service::start(settings)?;
    let endpoint = service.endpoint()?;
    let cast = Cast::prepare(&endpoint).await?;
    let nodes = Nodes::default();
    nodes.are(vec![endpoint.clone()]);
    let chance = Chance::new(ground.seed);
    let mut chats = Chats::prepare(&endpoint, &cast, name.to_owned(), chance).await?;
    chats.between = BETWEEN;
    let mut load = JoinSet::new();
    load.spawn(async move {
        let mut asking = JoinSet::new();
        chats
            .go_on(&nodes, AROUND + FULL + AROUND, &mut asking)
            .await;
        asking.join_all().await
    });
    let probing = probes::begin(&endpoint, &cast.rules, name, AROUND + FULL + AROUND);
    // The load goes on beside this, on threads of its own.
    thread::sleep(AROUND);
    disk.fill()?;
    let gone = Instant::now();
    thread::sleep(FULL);
    let returning = Instant::now();
    disk.clear()?;
    let away = Away {
        gone,
        returning,
        back: Instant::now(),
        // What has its place in the write-ahead log already can still be written.
        is_total: false,
    };
    let probes: Vec<_> = probing.join_all().await.into_iter().flatten().collect();
    away.judge(&probes, &mut findings);
    let told: Vec<Told> = load.join_all().await.into_iter().flatten().collect();
    audit::run(&endpoint, &told, &mut findings).await?;
    // A shutdown does not depend on the log either.
    disk.fill()?;
    terminate::end(&mut service, &mut findings)?;
    Ok(findings)
}

fn database(folder: &Path) -> String {
    format!("sqlite://{}/full.db", folder.display())
}
