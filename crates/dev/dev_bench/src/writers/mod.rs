//! 64 clients write at once; afterwards the log must hold exactly their acknowledged writes:
//! positions 1, 2, 3 … without a gap, the events of each write once and together, no other events,
//! and no write before another that was acknowledged before it was sent.

mod acknowledged_write;
mod log;
mod verify;
mod writer;

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use dev_load::{Endpoint, http::BlockingApiClient, runtime};
use tokio::{task::JoinSet, time::timeout};

use self::{acknowledged_write::AcknowledgedWrite, log::LogEntry, writer::Writer};

const WRITERS: usize = 64;
const MUTATIONS: usize = 10_000;
/// The number of conversations that several writers share, each by fewer than may queue in it.
const SHARED_TARGETS: usize = 8;
/// The longest that all writes may take.
const TIMEOUT: Duration = Duration::from_mins(4);
/// The number of violations that are printed.
const SHOWN: usize = 10;

/// Writes to an empty store, and fails unless its log is complete.
pub(super) fn check(endpoint: &Endpoint) -> Result<()> {
    let started = Instant::now();
    let written = runtime()?.block_on(async { timeout(TIMEOUT, write(endpoint)).await });
    let writes = written.context("the writers did not finish in time")??;
    let seconds = started.elapsed().as_secs_f64();
    let log = log::read(&BlockingApiClient::new(endpoint)?)?;
    print(&writes, &log, seconds);
    let violations = verify::violations(&writes, &log);
    if !violations.is_empty() {
        let shown = violations.iter().take(SHOWN).map(String::as_str);
        let shown: Vec<&str> = shown.collect();
        bail!(
            "{} violations in the log:\n{}",
            violations.len(),
            shown.join("\n")
        );
    }
    println!("no gap, no missing event, no extra event, every write in order");
    Ok(())
}

async fn write(endpoint: &Endpoint) -> Result<Vec<AcknowledgedWrite>> {
    let mut owner = Writer::new(endpoint, 0);
    let mut targets = Vec::with_capacity(SHARED_TARGETS);
    for _ in 0..SHARED_TARGETS {
        targets.push(owner.create_target().await?);
    }
    let mut writes = owner.into_writes();
    let remaining = Arc::new(AtomicUsize::new(MUTATIONS - writes.len()));
    let mut tasks = JoinSet::new();
    for (number, target) in (1..=WRITERS).zip(targets.iter().cycle()) {
        let client = Writer::new(endpoint, number);
        tasks.spawn(client.work(target.clone(), Arc::clone(&remaining)));
    }
    while let Some(ended) = tasks.join_next().await {
        writes.extend(ended.context("a writer's task panicked")??);
    }
    Ok(writes)
}

fn print(writes: &[AcknowledgedWrite], log: &[LogEntry], seconds: f64) {
    println!(
        "{WRITERS} writers, {} writes acknowledged in {seconds:.1} s",
        writes.len()
    );
    print_counts(writes.iter().map(|write| write.operation));
    println!("{} events in the log", log.len());
    print_counts(log.iter().map(|event| event.name.kind.as_str()));
}

fn print_counts<'n>(names: impl Iterator<Item = &'n str>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    for (name, count) in counts {
        println!("  {name:<24} {count:>7}");
    }
}
