//! J3: the cost of a round of tool calls, in writes of the store.

use anyhow::Result;
use dev_load::{latencies::median, service::Service};
use serde_json::{Value, json};

use crate::{
    environment::Environment,
    figures::{Figure, Part, Target},
    measured_server::{MeasuredServer, ROUNDS},
    workload::{MESSAGE, REPLY, Workload},
};

/// A plain chat by rules is one write. One with a round of tools begins, records its calls, records their
/// ends, and ends: at most four.
const ADDED_WRITES: f64 = 3.0;

/// Measures chats that call a tool on both stores, in turns with chats that call none.
pub(crate) fn measure(environment: &Environment) -> Result<Vec<Figure>> {
    let on_sqlite = "a round of tools by rules, added median in writes of the store, SQLite";
    let on_postgres = "a round of tools by rules, added median in writes of the store, Postgres";
    Ok(vec![
        figure(("J3", on_sqlite), &environment.sqlite)?,
        figure(("J3", on_postgres), &environment.postgres)?,
    ])
}

fn figure(row: (&'static str, &'static str), service: &Service) -> Result<Figure> {
    let endpoint = service.endpoint()?;
    let plain = Workload::prepare(endpoint.clone())?;
    let calling = Workload::with_agent(endpoint.clone(), &draft())?;
    let warm = |workload: &Workload| {
        let scripts = workload.chat_scripts(1)?;
        MeasuredServer::warm_up(endpoint.address, service.id()?, scripts)
    };
    let (mut plain, mut calling) = (warm(&plain)?, warm(&calling)?);
    for _ in 0..ROUNDS {
        plain.run_round()?;
        calling.run_round()?;
    }
    let medians = plain.percentile(50);
    let elsewhere = plain.percentile_outside_store(50);
    let writes = medians.iter().zip(&elsewhere).map(|(all, rest)| all - rest);
    let added = calling.percentile(50).into_iter().zip(&medians);
    let in_writes = added.zip(writes.clone());
    let in_writes = in_writes.map(|((with, without), write)| (with - without) / write);
    let parts = vec![
        Part::new("chat, median", median(medians.clone()), "ms"),
        Part::new(
            "chat with a call, median",
            median(calling.percentile(50)),
            "ms",
        ),
        Part::new("one write, median", median(writes.collect()), "ms"),
        Part::new("chat, processor", median(plain.cpu_per_request()), "µs"),
        Part::new(
            "chat with a call, processor",
            median(calling.cpu_per_request()),
            "µs",
        ),
    ];
    let target = Target::AtMost(ADDED_WRITES);
    Ok(Figure::new(
        row,
        target,
        median(in_writes.collect()),
        "writes",
        parts,
    ))
}

/// An agent that calls a tool for each message.
fn draft() -> Value {
    let call = json!({ "tool": "calculator", "arguments": { "expression": "2 + 3" } });
    json!({
        "name": "Ada of the parcel desk",
        "config": {
            "engine": "rules",
            "tools": [{ "name": "calculator", "approval": "never" }],
            "rules": [{ "pattern": MESSAGE.replace('?', "\\?"), "call": call, "reply": REPLY }],
        },
    })
}
