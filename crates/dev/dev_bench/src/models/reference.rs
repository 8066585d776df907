//! S11, S13: complete replies of a language model on one connection, beside a service written by
//! hand.

use std::process::Command;

use anyhow::Result;
use dev_load::{
    Credential, Endpoint,
    generator::Script,
    latencies::median,
    server_process::ServerProcess,
    upstream::{ResponseMode, Upstream},
};
use serde_json::json;

use super::measure::{LlmServices, draft};
use crate::{
    Row,
    busy_cores::BusyCores,
    environment::Environment,
    figures::{Figure, Part, Target},
    measured_server::{MeasuredServer, ROUNDS, ratio},
    workload::{CONVERSATIONS, MESSAGE, Workload},
};

const DATABASE: &str = "reference";

/// The service on Postgres and the reference service, with the same upstream and Postgres server.
pub(super) struct Servers {
    services: LlmServices,
    pub(super) by_model: Workload,
    reference: ServerProcess,
}

/// The number of transactions in which the reference service stores a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Commits {
    One,
    Two,
}

impl Servers {
    pub(super) fn start(environment: &Environment, upstream: &Upstream) -> Result<Self> {
        let services = LlmServices::start(environment, upstream, ResponseMode::Pieces)?;
        let by_model = Workload::with_any_reply(services.postgres.endpoint()?, &draft())?;
        environment.server.create(DATABASE)?;
        let program = environment
            .binaries
            .baseline("dev_bench", "reference_service")?;
        let mut command = Command::new(program);
        command
            .arg(environment.workers().to_string())
            .arg(environment.server.url(DATABASE))
            .arg(upstream.base_url(ResponseMode::Pieces));
        Ok(Self {
            services,
            by_model,
            reference: ServerProcess::start(&mut command)?,
        })
    }

    /// The address of the service.
    pub(super) fn endpoint(&self) -> Result<Endpoint> {
        self.services.postgres.endpoint()
    }

    /// The process of the service.
    pub(super) fn process(&self) -> Result<u32> {
        self.services.postgres.id()
    }

    /// Warms the service up for requests of these scripts.
    pub(super) fn service(&self, scripts: Vec<Script>) -> Result<MeasuredServer> {
        MeasuredServer::warm_up(self.endpoint()?.address, self.process()?, scripts)
    }

    /// Warms the reference service up for chats.
    pub(super) fn reference(&self, connections: usize, commits: Commits) -> Result<MeasuredServer> {
        MeasuredServer::warm_up(
            self.reference.address,
            self.reference.id(),
            self.reference_scripts(connections, commits),
        )
    }

    fn reference_scripts(&self, connections: usize, commits: Commits) -> Vec<Script> {
        let endpoint = Endpoint {
            address: self.reference.address,
            credential: Credential::Token("none".to_owned()),
        };
        let script = |connection: usize| {
            let own = (1..=CONVERSATIONS).skip(connection).step_by(connections);
            let chats = own.map(|conversation| {
                let body = json!({
                    "conversation": conversation,
                    "message": MESSAGE,
                    "commits_twice": commits == Commits::Two,
                });
                endpoint.request("POST", "/chat", Some(&body))
            });
            Script::repeated(chats.collect())
        };
        (0..connections).map(script).collect()
    }
}

/// Measures the requested rows.
pub(super) fn measure(servers: &Servers, wanted: impl Fn(Row) -> bool) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    if wanted(Row::S11) {
        let name = "chat by a model ÷ reference service, medians, 1 connection";
        let target = Target::AtMost(1.2);
        figures.push(single(("S11", name), target, servers, Commits::One)?);
    }
    if wanted(Row::S13) {
        let _busy = BusyCores::start()?;
        let name = "S11 with all cores busy, reference with two commits";
        let target = Target::AtMost(1.3);
        figures.push(single(("S13", name), target, servers, Commits::Two)?);
    }
    Ok(figures)
}

fn single(
    row: (&'static str, &'static str),
    target: Target,
    servers: &Servers,
    commits: Commits,
) -> Result<Figure> {
    let mut service = servers.service(servers.by_model.chat_scripts(1)?)?;
    let mut reference = servers.reference(1, commits)?;
    for _ in 0..ROUNDS {
        service.run_round()?;
        reference.run_round()?;
    }
    let mut both = parts("chat", &service);
    both.extend(parts("reference", &reference));
    let value = ratio(&service.percentile(50), &reference.percentile(50));
    Ok(Figure::new(row, target, value, "×", both))
}

/// The latencies, rate and processor time of a server.
pub(super) fn parts(name: &str, server: &MeasuredServer) -> Vec<Part> {
    let part =
        |what: &str, values, unit| Part::new(format!("{name}, {what}"), median(values), unit);
    vec![
        part("median", server.percentile(50), "ms"),
        part("p99", server.percentile(99), "ms"),
        part("rate", server.per_second(), "/s"),
        part("processor", server.cpu_per_request(), "µs"),
    ]
}
