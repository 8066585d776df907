//! S2, S3, S4, S13: the cost of a chat beside the rows that it writes.

use anyhow::Result;
use dev_load::latencies::{Latencies, median};

use super::{
    Row,
    environment::Environment,
    figures::{Figure, Part, Target},
    measured_server::{MeasuredServer, ROUND_DURATION, ROUNDS, WARM_UP, ratio},
    pgbench::{CLIENTS, Pgbench, Transaction},
    workload::Workload,
};

const CONNECTIONS: usize = 128;

/// The workloads of both stores.
pub(super) struct Workloads<'t> {
    pub(super) sqlite: &'t Workload,
    pub(super) postgres: &'t Workload,
}

/// Measures concurrent chats on both stores, in turns with `pgbench` at its best.
pub(super) fn measure_many(
    environment: &Environment,
    workloads: &Workloads<'_>,
    pgbench: &Pgbench<'_>,
    wanted: impl Fn(Row) -> bool,
) -> Result<Vec<Figure>> {
    let (clients, mut baseline_parts) = best(pgbench)?;
    let address = environment.postgres.endpoint()?.address;
    let mut postgres = MeasuredServer::warm_up(
        address,
        environment.postgres.id()?,
        workloads.postgres.chat_scripts(CONNECTIONS)?,
    )?;
    let address = environment.sqlite.endpoint()?.address;
    let mut sqlite = MeasuredServer::warm_up(
        address,
        environment.sqlite.id()?,
        workloads.sqlite.chat_scripts(CONNECTIONS)?,
    )?;
    let mut transactions = Vec::new();
    for _ in 0..ROUNDS {
        postgres.run_round()?;
        transactions.push(pgbench.per_second(Transaction::Chat, clients, ROUND_DURATION)?);
        sqlite.run_round()?;
    }
    let (chats, chats_on_sqlite) = (postgres.per_second(), sqlite.per_second());
    baseline_parts.extend(parts(&postgres));
    let mut figures = Vec::new();
    if wanted(Row::S2) {
        figures.push(Figure::new(
            ("S2", "chat by rules on Postgres ÷ pgbench, 128 connections"),
            Target::AtLeast(5.0),
            ratio(&chats, &transactions),
            "×",
            baseline_parts,
        ));
    }
    if wanted(Row::S3) {
        figures.push(Figure::new(
            (
                "S3",
                "chat by rules on SQLite ÷ on Postgres, 128 connections",
            ),
            Target::AtLeast(0.5),
            ratio(&chats_on_sqlite, &chats),
            "×",
            parts(&sqlite),
        ));
    }
    Ok(figures)
}

/// The number of clients at which `pgbench` is fastest, and its rate at each number.
fn best(pgbench: &Pgbench<'_>) -> Result<(usize, Vec<Part>)> {
    pgbench.per_second(Transaction::Chat, 1, WARM_UP)?;
    let (mut best, mut parts) = ((0.0, 1), Vec::new());
    for clients in CLIENTS {
        let per_second = pgbench.per_second(Transaction::Chat, clients, ROUND_DURATION)?;
        let what = format!("pgbench, {clients} clients");
        parts.push(Part::new(what, per_second, "/s"));
        if per_second > best.0 {
            best = (per_second, clients);
        }
    }
    Ok((best.1, parts))
}

/// Measures one chat after the other on a service without load before, in turns with `pgbench`.
pub(super) fn measure_single(
    row: (&'static str, &'static str),
    target: Target,
    environment: &Environment,
    workloads: &Workloads<'_>,
    pgbench: &Pgbench<'_>,
) -> Result<Figure> {
    let address = environment.postgres.endpoint()?.address;
    let mut chats = MeasuredServer::warm_up(
        address,
        environment.postgres.id()?,
        workloads.postgres.chat_scripts(1)?,
    )?;
    pgbench.latencies(WARM_UP)?;
    let mut transactions: Vec<Latencies> = Vec::new();
    for _ in 0..ROUNDS {
        chats.run_round()?;
        transactions.push(pgbench.latencies(ROUND_DURATION)?);
    }
    let percentile = |percent| -> Vec<f64> {
        let each = transactions.iter();
        each.map(|latencies| latencies.percentile(percent))
            .collect()
    };
    Ok(Figure::new(
        row,
        target,
        ratio(&chats.percentile(50), &percentile(50)),
        "×",
        vec![
            Part::new("pgbench, median", median(percentile(50)), "ms"),
            Part::new("pgbench, p99", median(percentile(99)), "ms"),
            Part::new("chat, median", median(chats.percentile(50)), "ms"),
            Part::new("chat, p99", median(chats.percentile(99)), "ms"),
        ],
    ))
}

fn parts(chats: &MeasuredServer) -> Vec<Part> {
    vec![
        Part::new("chats", median(chats.per_second()), "/s"),
        Part::new("chats, processor", median(chats.cpu_per_request()), "µs"),
        Part::new("chats, median", median(chats.percentile(50)), "ms"),
        Part::new("chats, p99", median(chats.percentile(99)), "ms"),
    ]
}
