//! S5: what a chat takes more than the upstream that is asked for it.

use anyhow::Result;
use serde_json::json;

use super::measure::{Asking, draft};
use crate::{
    bench::{
        figures::{Figure, Part, Target},
        rounds::{Bearer, ROUNDS},
        talk::{MESSAGE, Talk},
    },
    rig::{
        load::{Credential, Endpoint, Script, median},
        service::Service,
    },
    upstream::{Manner, Upstream},
};

const CONNECTIONS: usize = 32;

/// What is measured in turns.
struct Bearers {
    upstream: Bearer,
    chats: Bearer,
}

/// Chats on both stores, in turns with the upstream asked directly.
pub(super) fn measure(asking: &Asking, upstream: &Upstream) -> Result<Vec<Figure>> {
    let on_sqlite = on(&asking.sqlite, upstream)?;
    let on_postgres = on(&asking.postgres, upstream)?;
    let mut figures = Vec::new();
    for (rows, bearers) in [
        (
            [
                (
                    "S5",
                    "chat by an instant LLM, added median less its time in the store, SQLite",
                ),
                ("S5", "chat by an instant LLM, added p99, SQLite"),
            ],
            on_sqlite,
        ),
        (
            [
                (
                    "S5",
                    "chat by an instant LLM, added median less its time in the store, Postgres",
                ),
                ("S5", "chat by an instant LLM, added p99, Postgres"),
            ],
            on_postgres,
        ),
    ] {
        figures.extend(told(rows, &bearers));
    }
    Ok(figures)
}

fn on(service: &Service, upstream: &Upstream) -> Result<Bearers> {
    let endpoint = service.endpoint()?;
    let by_model = Talk::with(endpoint.clone(), &draft())?;
    let warm = |scripts| Bearer::warm(endpoint.address, service.id()?, scripts);
    let mut bearers = Bearers {
        // The generator of load and the upstream are one process.
        upstream: Bearer::warm(upstream.address, std::process::id(), direct(upstream))?,
        chats: warm(by_model.chatting(CONNECTIONS)?)?,
    };
    for _ in 0..ROUNDS {
        bearers.upstream.take_turn()?;
        bearers.chats.take_turn()?;
    }
    Ok(bearers)
}

/// Asks the upstream as an engine does.
fn direct(upstream: &Upstream) -> Vec<Script> {
    let endpoint = Endpoint {
        address: upstream.address,
        credential: Credential::Token("mock".to_owned()),
    };
    let path = format!("/{}/v1/chat/completions", Manner::Instant.name());
    let body = json!({
        "model": "mock",
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": [{ "role": "user", "content": MESSAGE }],
    });
    let request = endpoint.request("POST", &path, Some(&body));
    vec![Script::repeated(vec![request]); CONNECTIONS]
}

fn told(rows: [(&'static str, &'static str); 2], bearers: &Bearers) -> [Figure; 2] {
    let (chats, upstream) = (&bearers.chats, &bearers.upstream);
    let added = |percent| less(&chats.percentile(percent), &upstream.percentile(percent));
    // Two writes; what was said before is in memory.
    let elsewhere = chats.percentile_elsewhere(50);
    let less_store = median(less(&elsewhere, &upstream.percentile(50)));
    let part = |what: &str, bearer: &Bearer, percent| {
        Part::new(what, median(bearer.percentile(percent)), "ms")
    };
    let medians = vec![
        part("the upstream itself, median", &bearers.upstream, 50),
        part("chat, median", &bearers.chats, 50),
        Part::new("added, median", median(added(50)), "ms"),
        Part::new(
            "chat less its time in the store, median",
            median(elsewhere),
            "ms",
        ),
        Part::new("chats", median(bearers.chats.per_second()), "/s"),
        Part::new("chats, processor", median(bearers.chats.cost()), "µs"),
    ];
    let tails = vec![
        part("the upstream itself, p99", &bearers.upstream, 99),
        part("chat, p99", &bearers.chats, 99),
        Part::new(
            "chat less its time in the store, p99",
            median(chats.percentile_elsewhere(99)),
            "ms",
        ),
    ];
    [
        Figure::new(rows[0], Target::AtMost(1.0), less_store, "ms", medians),
        Figure::new(
            rows[1],
            Target::AtMost(10.0),
            median(added(99)),
            "ms",
            tails,
        ),
    ]
}

/// How much longer one takes than the other, turn by turn.
fn less(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter()
        .zip(other)
        .map(|(one, other)| one - other)
        .collect()
}
