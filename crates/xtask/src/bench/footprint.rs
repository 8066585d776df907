//! S9: how soon the service is there, and what it takes.

use std::{fs, thread, time::Duration};

use anyhow::{Context as _, Result};

use super::{
    chatting::Talks,
    figures::{Figure, Part, Target},
    rounds::ROUNDS,
    stage::Stage,
};
use crate::rig::{load::median, service::Service};

/// How long a service that was started has nothing to do before its memory is read.
const IDLE: Duration = Duration::from_secs(3);

/// The profile of what is shipped.
const SHIPPED: &str = "release";

/// Starts the service again on both stores, and lets it rest.
pub(super) fn measure(stage: &mut Stage, talks: &Talks<'_>, profile: &str) -> Result<Vec<Figure>> {
    let sqlite = starts(&mut stage.sqlite, &talks.sqlite.agent_path()?)?;
    let postgres = starts(&mut stage.postgres, &talks.postgres.agent_path()?)?;
    thread::sleep(IDLE);
    let resident = [stage.sqlite.resident()?, stage.postgres.resident()?];
    let bytes = fs::metadata(&stage.binaries.service)
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

/// The median of several starts, in milliseconds.
fn starts(service: &mut Service, path: &str) -> Result<f64> {
    let starts = (0..ROUNDS).map(|_| Ok(service.restart(path)?.as_secs_f64() * 1_000.0));
    Ok(median(starts.collect::<Result<_>>()?))
}
