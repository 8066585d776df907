//! S2, S3, S4: what a chat costs beside the rows that it writes.

use anyhow::Result;

use super::{
    Row,
    figures::{Figure, Part, Target},
    pgbench::{CLIENTS, Pgbench},
    rounds::{Bearer, ROUNDS, TURN, WARM_UP, ratio},
    stage::Stage,
    talk::Talk,
};
use crate::rig::load::{Latencies, median};

const CONNECTIONS: usize = 128;

/// The two agents that chat.
pub(super) struct Talks<'t> {
    pub(super) sqlite: &'t Talk,
    pub(super) postgres: &'t Talk,
}

/// Many chats at once on both stores, in turns with `pgbench` at its best.
pub(super) fn measure_many(
    stage: &Stage,
    talks: &Talks<'_>,
    pgbench: &Pgbench<'_>,
    wanted: impl Fn(Row) -> bool,
) -> Result<Vec<Figure>> {
    let (clients, mut parts) = best(pgbench)?;
    let address = stage.postgres.endpoint()?.address;
    let mut postgres = Bearer::warm(
        address,
        stage.postgres.id()?,
        talks.postgres.chatting(CONNECTIONS)?,
    )?;
    let address = stage.sqlite.endpoint()?.address;
    let mut sqlite = Bearer::warm(
        address,
        stage.sqlite.id()?,
        talks.sqlite.chatting(CONNECTIONS)?,
    )?;
    let mut transactions = Vec::new();
    for _ in 0..ROUNDS {
        postgres.take_turn()?;
        transactions.push(pgbench.per_second(clients, TURN)?);
        sqlite.take_turn()?;
    }
    let (chats, chats_on_sqlite) = (postgres.per_second(), sqlite.per_second());
    parts.extend(told(&postgres));
    let mut figures = Vec::new();
    if wanted(Row::S2) {
        figures.push(Figure::new(
            ("S2", "chat by rules on Postgres ÷ pgbench, 128 connections"),
            Target::AtLeast(5.0),
            ratio(&chats, &transactions),
            "×",
            parts,
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
            told(&sqlite),
        ));
    }
    Ok(figures)
}

/// The number of clients at which `pgbench` is fastest, and what it does at each.
fn best(pgbench: &Pgbench<'_>) -> Result<(usize, Vec<Part>)> {
    pgbench.per_second(1, WARM_UP)?;
    let (mut best, mut parts) = ((0.0, 1), Vec::new());
    for clients in CLIENTS {
        let per_second = pgbench.per_second(clients, TURN)?;
        let what = format!("pgbench, {clients} clients");
        parts.push(Part::new(what, per_second, "/s"));
        if per_second > best.0 {
            best = (per_second, clients);
        }
    }
    Ok((best.1, parts))
}

/// One chat after the other, in turns with `pgbench` doing the same.
pub(super) fn measure_single(
    stage: &Stage,
    talks: &Talks<'_>,
    pgbench: &Pgbench<'_>,
) -> Result<Figure> {
    let address = stage.postgres.endpoint()?.address;
    let mut chats = Bearer::warm(address, stage.postgres.id()?, talks.postgres.chatting(1)?)?;
    pgbench.latencies(WARM_UP)?;
    let mut transactions: Vec<Latencies> = Vec::new();
    for _ in 0..ROUNDS {
        chats.take_turn()?;
        transactions.push(pgbench.latencies(TURN)?);
    }
    let percentile = |percent| -> Vec<f64> {
        let each = transactions.iter();
        each.map(|latencies| latencies.percentile(percent))
            .collect()
    };
    Ok(Figure::new(
        (
            "S4",
            "chat by rules on Postgres ÷ pgbench, medians, 1 connection",
        ),
        Target::AtMost(1.3),
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

fn told(chats: &Bearer) -> Vec<Part> {
    vec![
        Part::new("chats", median(chats.per_second()), "/s"),
        Part::new("chats, processor", median(chats.cost()), "µs"),
        Part::new("chats, median", median(chats.percentile(50)), "ms"),
        Part::new("chats, p99", median(chats.percentile(99)), "ms"),
    ]
}
