//! S11, S13, S14: complete replies of a language model, beside a service written by hand.

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

const CONNECTIONS: usize = 32;
const DATABASE: &str = "reference";

/// The service on Postgres and the reference service, with the same upstream and Postgres server.
struct Servers {
    services: LlmServices,
    workload: Workload,
    reference: ServerProcess,
}

impl Servers {
    fn start(environment: &Environment, upstream: &Upstream) -> Result<Self> {
        let services = LlmServices::start(environment, upstream, ResponseMode::Pieces)?;
        let workload = Workload::with_any_reply(services.postgres.endpoint()?, &draft())?;
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
            workload,
            reference: ServerProcess::start(&mut command)?,
        })
    }

    /// Measures chats of both in turns.
    fn measure(&self, connections: usize) -> Result<(MeasuredServer, MeasuredServer)> {
        let endpoint = self.services.postgres.endpoint()?;
        let mut service = MeasuredServer::warm_up(
            endpoint.address,
            self.services.postgres.id()?,
            self.workload.chat_scripts(connections)?,
        )?;
        let mut reference = MeasuredServer::warm_up(
            self.reference.address,
            self.reference.id(),
            self.reference_scripts(connections),
        )?;
        for _ in 0..ROUNDS {
            service.run_round()?;
            reference.run_round()?;
        }
        Ok((service, reference))
    }

    fn reference_scripts(&self, connections: usize) -> Vec<Script> {
        let endpoint = Endpoint {
            address: self.reference.address,
            credential: Credential::Token("none".to_owned()),
        };
        let script = |connection: usize| {
            let own = (1..=CONVERSATIONS).skip(connection).step_by(connections);
            let chats = own.map(|conversation| {
                let body = json!({ "conversation": conversation, "message": MESSAGE });
                endpoint.request("POST", "/chat", Some(&body))
            });
            Script::repeated(chats.collect())
        };
        (0..connections).map(script).collect()
    }
}

/// Measures the requested rows.
pub(super) fn measure(
    environment: &Environment,
    upstream: &Upstream,
    wanted: impl Fn(Row) -> bool,
) -> Result<Vec<Figure>> {
    let servers = Servers::start(environment, upstream)?;
    let mut figures = Vec::new();
    if wanted(Row::S11) {
        let name = "chat by a model ÷ reference service, medians, 1 connection";
        figures.push(single(("S11", name), &servers)?);
    }
    if wanted(Row::S13) {
        let _busy = BusyCores::start()?;
        let name = "S11 with all cores busy at low priority";
        figures.push(single(("S13", name), &servers)?);
    }
    if wanted(Row::S14) {
        figures.extend(many(&servers)?);
    }
    Ok(figures)
}

fn single(row: (&'static str, &'static str), servers: &Servers) -> Result<Figure> {
    let (service, reference) = servers.measure(1)?;
    Ok(Figure::new(
        row,
        Target::AtMost(1.3),
        ratio(&service.percentile(50), &reference.percentile(50)),
        "×",
        both(&service, &reference),
    ))
}

fn many(servers: &Servers) -> Result<[Figure; 2]> {
    let (service, reference) = servers.measure(CONNECTIONS)?;
    let throughput = Figure::new(
        (
            "S14",
            "chat by a model ÷ reference service, chats/s, 32 connections",
        ),
        Target::AtLeast(5.0),
        ratio(&service.per_second(), &reference.per_second()),
        "×",
        both(&service, &reference),
    );
    let processor = Figure::new(
        ("S14", "processor time of a chat by a model"),
        Target::AtMost(250.0),
        median(service.cpu_per_request()),
        "µs",
        vec![],
    );
    Ok([throughput, processor])
}

fn both(service: &MeasuredServer, reference: &MeasuredServer) -> Vec<Part> {
    let mut both = parts("chat", service);
    both.extend(parts("reference", reference));
    both
}

fn parts(name: &str, server: &MeasuredServer) -> Vec<Part> {
    let part =
        |what: &str, values, unit| Part::new(format!("{name}, {what}"), median(values), unit);
    vec![
        part("median", server.percentile(50), "ms"),
        part("p99", server.percentile(99), "ms"),
        part("rate", server.per_second(), "/s"),
        part("processor", server.cpu_per_request(), "µs"),
    ]
}
