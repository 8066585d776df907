//! S5: the latency that a chat adds to its upstream.

use anyhow::Result;
use dev_load::{
    Credential, Endpoint,
    generator::Script,
    latencies::median,
    service::Service,
    upstream::{ResponseMode, Upstream},
};
use serde_json::json;

use super::measure::{LlmServices, draft};
use crate::{
    figures::{Figure, Part, Target},
    measured_server::{MeasuredServer, ROUNDS},
    workload::{MESSAGE, Workload},
};

/// With more, the closed loop uses both cores, and the latency is that of the machine.
const CONNECTIONS: usize = 16;

/// The servers that are compared.
struct ComparedServers {
    upstream: MeasuredServer,
    chats: MeasuredServer,
}

/// Measures chats on both stores, in turns with direct requests to the upstream.
pub(super) fn measure(services: &LlmServices, upstream: &Upstream) -> Result<Vec<Figure>> {
    let on_sqlite = on(&services.sqlite, upstream)?;
    let on_postgres = on(&services.postgres, upstream)?;
    let mut figures = Vec::new();
    for (rows, servers) in [
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
        figures.extend(figures_of(rows, &servers));
    }
    Ok(figures)
}

fn on(service: &Service, upstream: &Upstream) -> Result<ComparedServers> {
    let endpoint = service.endpoint()?;
    let by_model = Workload::with_agent(endpoint.clone(), &draft())?;
    let warm = |scripts| MeasuredServer::warm_up(endpoint.address, service.id()?, scripts);
    let mut servers = ComparedServers {
        // The load generator and the upstream are one process.
        upstream: MeasuredServer::warm_up(upstream.address, std::process::id(), direct(upstream))?,
        chats: warm(by_model.chat_scripts(CONNECTIONS)?)?,
    };
    for _ in 0..ROUNDS {
        servers.upstream.run_round()?;
        servers.chats.run_round()?;
    }
    Ok(servers)
}

/// Scripts that send the requests of an engine to the upstream.
fn direct(upstream: &Upstream) -> Vec<Script> {
    let endpoint = Endpoint {
        address: upstream.address,
        credential: Credential::Token("mock".to_owned()),
    };
    let path = format!("/{}/v1/chat/completions", ResponseMode::Instant.name());
    let body = json!({
        "model": "mock",
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": [{ "role": "user", "content": MESSAGE }],
    });
    let request = endpoint.request("POST", &path, Some(&body));
    vec![Script::repeated(vec![request]); CONNECTIONS]
}

fn figures_of(rows: [(&'static str, &'static str); 2], servers: &ComparedServers) -> [Figure; 2] {
    let (chats, upstream) = (&servers.chats, &servers.upstream);
    let added = |percent| differences(&chats.percentile(percent), &upstream.percentile(percent));
    // The time of two writes; the history is in memory.
    let elsewhere = chats.percentile_outside_store(50);
    let less_store = median(differences(&elsewhere, &upstream.percentile(50)));
    let part = |what: &str, server: &MeasuredServer, percent| {
        Part::new(what, median(server.percentile(percent)), "ms")
    };
    let medians = vec![
        part("the upstream itself, median", &servers.upstream, 50),
        part("chat, median", &servers.chats, 50),
        Part::new("added, median", median(added(50)), "ms"),
        Part::new(
            "chat less its time in the store, median",
            median(elsewhere),
            "ms",
        ),
        Part::new("chats", median(servers.chats.per_second()), "/s"),
        Part::new(
            "chats, processor",
            median(servers.chats.cpu_per_request()),
            "µs",
        ),
    ];
    let tails = vec![
        part("the upstream itself, p99", &servers.upstream, 99),
        part("chat, p99", &servers.chats, 99),
        Part::new(
            "chat less its time in the store, p99",
            median(chats.percentile_outside_store(99)),
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

/// The differences, by round.
fn differences(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter()
        .zip(other)
        .map(|(one, other)| one - other)
        .collect()
}
