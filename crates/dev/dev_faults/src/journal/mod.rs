//! J1: processes die, are suspended or lose their store at every boundary of a turn with three tools.
//! J4: answers to its calls race.

mod away;
mod boundary;
mod client;
mod doubles;
mod http_double;
mod judge;
mod lab;
mod postgres_messages;
mod prompt;
mod race;
mod record;
mod round;
mod store_gate;
mod strike;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::{sync::Semaphore, task::JoinSet};

use self::{
    boundary::Boundary,
    lab::{Approver, Lab, Plan, Setup},
    round::Round,
};
use crate::{
    environment::{Environment, Store},
    event_log::EventLog,
    random::Random,
    report::Report,
};

/// The number of stores at a time: most of a run is waiting for leases to expire.
const LABS: usize = 4;

/// Strikes `runs` times at each boundary, on one node of each of these stores and on two of Postgres.
pub(super) async fn run(
    environment: &Environment,
    stores: &[Store],
    runs: usize,
) -> Result<Vec<Report>> {
    let setups = [Setup::Sqlite, Setup::OneNode, Setup::TwoNodes];
    let setups = setups.into_iter().filter(|it| stores.contains(&it.store()));
    let places = Arc::new(Semaphore::new(LABS));
    let mut labs = JoinSet::new();
    let pairs = Boundary::ALL
        .into_iter()
        .flat_map(|boundary| setups.clone().map(move |setup| (boundary, setup)));
    for (number, (boundary, setup)) in pairs.enumerate() {
        let name = format!("journal_{}_{}", boundary.slug(), setup.slug());
        let plan = Plan::new(environment, setup, &name)?;
        let random = Random::new(environment.seed.wrapping_add(u64::try_from(number)?));
        let places = Arc::clone(&places);
        labs.spawn(async move {
            let _place = places.acquire_owned().await.context("no place")?;
            anyhow::Ok((number, strike(plan, boundary, runs, random).await))
        });
    }
    let mut reports = Vec::new();
    while let Some(finished) = labs.join_next().await {
        reports.push(finished.context("a laboratory panicked")??);
    }
    reports.sort_by_key(|(number, _)| *number);
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

/// Races answers to calls, on one node of SQLite and on two of Postgres.
pub(super) async fn race(environment: &Environment, store: Store) -> Result<Vec<Report>> {
    let setup = match store {
        Store::Sqlite => Setup::Sqlite,
        Store::Postgres => Setup::TwoNodes,
    };
    let mut reports = Vec::new();
    for approver in [Approver::User, Approver::Staff] {
        let name = format!("race_{}_{}", setup.slug(), approver.name());
        reports.push(race::run(Plan::new(environment, setup, &name)?, approver).await?);
    }
    Ok(reports)
}

/// Strikes at one boundary on one store.
async fn strike(plan: Plan, boundary: Boundary, runs: usize, mut random: Random) -> Report {
    let setup = plan.setup.name();
    let done = format!("{}, {runs} times, {setup}", boundary.name());
    let mut report = Report::new("J1", done);
    report.expect_no(judge::LOSSES);
    let struck = strike_all(plan, boundary, runs, &mut random, &mut report).await;
    if let Err(error) = struck {
        report.record_loss("not run", || format!("{error:#}"));
    }
    println!("{}, {setup}: {}", boundary.name(), report.summary());
    report
}

async fn strike_all(
    plan: Plan,
    boundary: Boundary,
    runs: usize,
    random: &mut Random,
    report: &mut Report,
) -> Result<()> {
    let mut lab = Lab::start(plan).await?;
    let mut slowest = 0.0_f64;
    for number in 0..runs {
        let round = Round {
            lab: &mut lab,
            boundary,
            number,
            random: &mut *random,
            report: &mut *report,
        };
        slowest = slowest.max(round.run().await?);
    }
    report.add_figure("slowest turn after it", slowest, "s");
    lab.restore().await?;
    let mut log = EventLog::default();
    log.read_on(&lab.endpoint(0)?).await?;
    report.record_losses("lost", log.gaps.clone());
    report.record_losses("lost", log.unsound());
    Ok(())
}
