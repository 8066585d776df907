//! S12: the creation of agents, beside the rows that it writes.

use anyhow::Result;
use dev_load::{generator::Script, latencies::median};

use super::{
    environment::Environment,
    figures::{Figure, Part, Target},
    measured_server::{MeasuredServer, ROUND_DURATION, ROUNDS, WARM_UP, ratio},
    pgbench::{Pgbench, Transaction},
    workload,
};

const CONNECTIONS: usize = 32;

/// Measures creations on Postgres, in turns with `pgbench`.
pub(super) fn measure(environment: &Environment, pgbench: &Pgbench<'_>) -> Result<Figure> {
    let endpoint = environment.postgres.endpoint()?;
    let request = endpoint.request("POST", "/api/agents", Some(&workload::draft()));
    let mut creations = MeasuredServer::warm_up(
        endpoint.address,
        environment.postgres.id()?,
        vec![Script::repeated(vec![request]); CONNECTIONS],
    )?;
    let baseline = |duration| pgbench.per_second(Transaction::Creation, CONNECTIONS, duration);
    baseline(WARM_UP)?;
    let mut transactions = Vec::new();
    for _ in 0..ROUNDS {
        creations.run_round()?;
        transactions.push(baseline(ROUND_DURATION)?);
    }
    Ok(Figure::new(
        ("S12", "create agent on Postgres ÷ pgbench, 32 connections"),
        Target::AtLeast(4.0),
        ratio(&creations.per_second(), &transactions),
        "×",
        vec![
            Part::new("pgbench", median(transactions), "/s"),
            Part::new("creations", median(creations.per_second()), "/s"),
            Part::new(
                "creations, processor",
                median(creations.cpu_per_request()),
                "µs",
            ),
            Part::new("creations, median", median(creations.percentile(50)), "ms"),
            Part::new("creations, p99", median(creations.percentile(99)), "ms"),
        ],
    ))
}
