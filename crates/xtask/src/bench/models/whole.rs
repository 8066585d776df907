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
    /// A chat by rules is one write, and a read of an agent none.
    rules: Bearer,
    reads: Bearer,
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
                    "chat by an instant LLM, added median less two writes, SQLite",
                ),
                ("S5", "chat by an instant LLM, added p99, SQLite"),
            ],
            on_sqlite,
        ),
        (
            [
                (
                    "S5",
                    "chat by an instant LLM, added median less two writes, Postgres",
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
    let by_rules = Talk::prepare(endpoint.clone())?;
    let warm = |scripts| Bearer::warm(endpoint.address, service.id()?, scripts);
    let mut bearers = Bearers {
        // The generator of load and the upstream are one process.
        upstream: Bearer::warm(upstream.address, std::process::id(), direct(upstream))?,
        chats: warm(by_model.chatting(CONNECTIONS)?)?,
        rules: warm(by_rules.chatting(CONNECTIONS)?)?,
        reads: warm(by_rules.reading(CONNECTIONS)?)?,
    };
    for _ in 0..ROUNDS {
        bearers.upstream.take_turn()?;
        bearers.chats.take_turn()?;
        bearers.rules.take_turn()?;
    }
    bearers.reads.take_turn()?;
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
    let added = |percent| less(&bearers.chats, &bearers.upstream, percent);
    let write = median(bearers.rules.percentile(50)) - median(bearers.reads.percentile(50));
    let part = |what: &str, bearer: &Bearer, percent| {
        Part::new(what, median(bearer.percentile(percent)), "ms")
    };
    let medians = vec![
        part("the upstream itself, median", &bearers.upstream, 50),
        part("chat, median", &bearers.chats, 50),
        Part::new("added, median", median(added(50)), "ms"),
        Part::new("a write: a chat by rules less a read, medians", write, "ms"),
        Part::new("chats", median(bearers.chats.per_second()), "/s"),
        Part::new("chats, processor", median(bearers.chats.cost()), "µs"),
        Part::new("chats by rules", median(bearers.rules.per_second()), "/s"),
    ];
    let tails = vec![
        part("the upstream itself, p99", &bearers.upstream, 99),
        part("chat, p99", &bearers.chats, 99),
    ];
    let less_writes = median(added(50)) - 2.0 * write;
    [
        Figure::new(rows[0], Target::AtMost(1.0), less_writes, "ms", medians),
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
fn less(one: &Bearer, other: &Bearer, percent: usize) -> Vec<f64> {
    let pairs = one
        .percentile(percent)
        .into_iter()
        .zip(other.percentile(percent));
    pairs.map(|(one, other)| one - other).collect()
}
