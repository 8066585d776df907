//! S9: the start time, memory and size of the service.

use std::{fs, thread, time::Duration};

use anyhow::{Context as _, Result};
use dev_load::{latencies::median, service::Service};

use super::{
    chat::Workloads,
    environment::Environment,
    figures::{Figure, Part, Target},
    measured_server::ROUNDS,
};

/// The idle time before memory is read.
const IDLE: Duration = Duration::from_secs(3);

/// The profile of releases.
const SHIPPED: &str = "release";

/// Restarts the service on both stores, and lets it rest.
pub(super) fn measure(
    environment: &mut Environment,
    workloads: &Workloads<'_>,
    profile: &str,
) -> Result<Vec<Figure>> {
    let sqlite = starts(&mut environment.sqlite, &workloads.sqlite.agent_path()?)?;
    let postgres = starts(&mut environment.postgres, &workloads.postgres.agent_path()?)?;
    thread::sleep(IDLE);
    let resident = [
        environment.sqlite.resident()?,
        environment.postgres.resident()?,
    ];
    let bytes = fs::metadata(&environment.binaries.service)
        .context("cannot look at the binary")?
        .len();
    #[expect(clippy::cast_precision_loss, reason = "a file of some megabytes")]
    let binary = Figure::new(
        ("S9", "size of the binary"),
        Target::AtMost(40.0),
        bytes as f64 / f64::from(1 << 20),
        "MiB",
        vec![],
    );
    Ok(vec![
        Figure::new(
            ("S9", "start on an existing store to the first 200"),
            Target::AtMost(150.0),
            sqlite.max(postgres),
            "ms",
            on_both([sqlite, postgres], "ms"),
        ),
        Figure::new(
            ("S9", "resident when idle"),
            Target::AtMost(30.0),
            resident[0].max(resident[1]),
            "MiB",
            on_both(resident, "MiB"),
        ),
        if profile == SHIPPED {
            binary
        } else {
            binary.unjudged()
        },
    ])
}

fn on_both([sqlite, postgres]: [f64; 2], unit: &'static str) -> Vec<Part> {
    vec![
        Part::new("on SQLite", sqlite, unit),
        Part::new("on Postgres", postgres, unit),
    ]
}

/// Returns the median of several starts, in milliseconds.
fn starts(service: &mut Service, path: &str) -> Result<f64> {
    let starts = (0..ROUNDS).map(|_| Ok(service.measure_restart(path)?.as_secs_f64() * 1_000.0));
    Ok(median(starts.collect::<Result<_>>()?))
}
