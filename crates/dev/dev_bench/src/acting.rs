//! J3: the cost of a round of tool calls, in writes of the store.

use std::thread;

use anyhow::{Context as _, Result};
use dev_load::{
    generator,
    latencies::median,
    service::Service,
    upstream::{ResponseMode, Upstream},
};
use serde_json::{Value, json};

use crate::{
    environment::Environment,
    figures::{Figure, Part, Target},
    measured_server::{MeasuredServer, ROUND_DURATION, ROUNDS, WARM_UP},
    models::{self, LlmServices},
    nodes::{Bus, NodePair},
    workload::Workload,
};

/// A chat by a model is two writes: begin and end. A round of tools between them is at most two more.
const WRITES_OF_CHAT: f64 = 2.0;
const ADDED_WRITES: f64 = 2.0;

/// Chats without and with a call, on one connection.
struct ComparedServers {
    plain: MeasuredServer,
    calling: MeasuredServer,
}

/// Measures chats by a model that call a tool, in turns with chats that call none: on both stores, and beside
/// a second node that writes to the same tenant.
pub(crate) fn measure(environment: &Environment) -> Result<Vec<Figure>> {
    let upstream = Upstream::start()?;
    let mode = ResponseMode::Calling;
    let services = LlmServices::start(environment, &upstream, mode)?;
    let variables = models::variables(&upstream, mode);
    let pair = NodePair::start(environment, &Bus::Postgres, "acting", &variables)?;
    let sqlite = ComparedServers::warm_up(&services.sqlite)?.run()?;
    let postgres = ComparedServers::warm_up(&services.postgres)?.run()?;
    let beside = beside_a_writing_node(&pair)?;
    Ok(vec![
        sqlite.figure("a round of tools, added median in writes of the store, SQLite"),
        postgres.figure("a round of tools, added median in writes of the store, Postgres"),
        beside.figure(
            "a round of tools beside a node that writes to the tenant, added median in writes, Postgres",
        ),
    ])
}

/// Measures on one node while the other one chats in the same tenant, one chat after the other.
fn beside_a_writing_node(pair: &NodePair) -> Result<ComparedServers> {
    let other = pair.listener.endpoint()?;
    let scripts = Workload::prepare(other.clone())?.chat_scripts(1)?;
    let mut servers = ComparedServers::warm_up(&pair.worker)?;
    let rounds = u32::try_from(ROUNDS * servers.all().len())?;
    // It ends after the last round.
    let duration = ROUND_DURATION * rounds + WARM_UP;
    let writing = thread::spawn(move || generator::run(other.address, &scripts, duration));
    let servers = servers.run()?;
    let written = writing
        .join()
        .ok()
        .context("the other node's load failed")??;
    println!(
        "the other node wrote {:.0} chats meanwhile",
        written.responses
    );
    Ok(servers)
}

impl ComparedServers {
    fn warm_up(service: &Service) -> Result<Self> {
        let endpoint = service.endpoint()?;
        let warm = |agent: &Value| {
            let workload = Workload::with_agent(endpoint.clone(), agent)?;
            let scripts = workload.chat_scripts(1)?;
            MeasuredServer::warm_up(endpoint.address, service.id()?, scripts)
        };
        Ok(Self {
            plain: warm(&models::draft())?,
            calling: warm(&calling())?,
        })
    }

    fn all(&mut self) -> [&mut MeasuredServer; 2] {
        [&mut self.plain, &mut self.calling]
    }

    fn run(mut self) -> Result<Self> {
        for _ in 0..ROUNDS {
            for server in self.all() {
                server.run_round()?;
            }
        }
        Ok(self)
    }

    fn figure(&self, work: &'static str) -> Figure {
        let request = self.plain.engine_percentile(50);
        let (plain, calling) = (self.plain.percentile(50), self.calling.percentile(50));
        let elsewhere = self.plain.percentile_outside_store(50);
        let writes: Vec<_> = plain
            .iter()
            .zip(&elsewhere)
            .map(|(all, rest)| (all - rest) / WRITES_OF_CHAT)
            .collect();
        // A round also asks the model once more.
        let added = calling.iter().zip(&plain).zip(&request);
        let added = added.map(|((with, without), request)| with - without - request);
        let in_writes = added.zip(&writes).map(|(added, write)| added / write);
        let in_writes = median(in_writes.collect());
        let parts = vec![
            Part::new(
                "a request to the model as the service sees it, median",
                median(request),
                "ms",
            ),
            Part::new("chat, median", median(plain), "ms"),
            Part::new("chat with a call, median", median(calling), "ms"),
            Part::new("one write, median", median(writes), "ms"),
            processor("chat, processor", &self.plain),
            processor("chat with a call, processor", &self.calling),
        ];
        let target = Target::AtMost(ADDED_WRITES);
        Figure::new(("J3", work), target, in_writes, "writes", parts)
    }
}

fn processor(what: &'static str, server: &MeasuredServer) -> Part {
    Part::new(what, median(server.cpu_per_request()), "µs")
}

/// An agent that calls a tool for each message. It is given no results of earlier messages, which the model
/// server would take for those of the last one.
fn calling() -> Value {
    let mut draft = models::draft();
    draft["config"]["tools"] = json!([{ "name": "calculator", "approval": "never" }]);
    draft["config"]["history"] = json!({ "toolResults": false });
    draft
}
