//! Many clients write at once; afterwards the log must tell exactly what they did: positions
//! 1, 2, 3 … without a hole, the events of each acknowledged change once and together, none
//! besides, and in an order in which nothing stands before what was acknowledged earlier.

mod deed;
mod log;
mod verify;
mod writer;

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tokio::{task::JoinSet, time::timeout};

use self::{deed::Deed, log::Logged, writer::Writer};
use crate::rig::load::{Client, Endpoint, runtime};

const WRITERS: usize = 64;
const MUTATIONS: usize = 10_000;
/// Rooms that are used by several writers each: fewer than may queue up in a conversation.
const SHARED_ROOMS: usize = 8;
/// How long all the writing may take.
const PATIENCE: Duration = Duration::from_mins(4);
/// Faults that are shown.
const SHOWN: usize = 10;

/// Writes to an empty store, and fails unless its log is whole.
pub(super) fn check(endpoint: &Endpoint) -> Result<()> {
    let started = Instant::now();
    let written = runtime()?.block_on(async { timeout(PATIENCE, write(endpoint)).await });
    let deeds = written.context("the writers did not come to an end")??;
    let seconds = started.elapsed().as_secs_f64();
    let log = log::read(&mut Client::connect(endpoint)?)?;
    tell(&deeds, &log, seconds);
    let faults = verify::faults(&deeds, &log);
    if !faults.is_empty() {
        let shown = faults.iter().take(SHOWN).map(String::as_str);
        let shown: Vec<&str> = shown.collect();
        bail!("{} faults in the log:\n{}", faults.len(), shown.join("\n"));
    }
    println!("no hole, no event missing, none too many, every change in its place");
    Ok(())
}

async fn write(endpoint: &Endpoint) -> Result<Vec<Deed>> {
    let mut host = Writer::connect(endpoint, 0).await?;
    let mut rooms = Vec::with_capacity(SHARED_ROOMS);
    for _ in 0..SHARED_ROOMS {
        rooms.push(host.make_room().await?);
    }
    let mut deeds = host.into_deeds();
    let left = Arc::new(AtomicUsize::new(MUTATIONS - deeds.len()));
    let mut writers = JoinSet::new();
    for (number, room) in (1..=WRITERS).zip(rooms.iter().cycle()) {
        let writer = Writer::connect(endpoint, number).await?;
        writers.spawn(writer.work(room.clone(), Arc::clone(&left)));
    }
    while let Some(ended) = writers.join_next().await {
        deeds.extend(ended.context("a writer's task panicked")??);
    }
    Ok(deeds)
}

fn tell(deeds: &[Deed], log: &[Logged], seconds: f64) {
    println!(
        "{WRITERS} writers, {} changes acknowledged in {seconds:.1} s",
        deeds.len()
    );
    tell_counts(deeds.iter().map(|deed| deed.what));
    println!("{} events in the log", log.len());
    tell_counts(log.iter().map(|event| event.name.kind.as_str()));
}

fn tell_counts<'n>(names: impl Iterator<Item = &'n str>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    for (name, count) in counts {
        println!("  {name:<24} {count:>7}");
    }
}
