//! S1: the cost that the service adds to the framework.

use anyhow::{Context as _, Result};
use dev_load::{generator::Script, latencies::median, server_process::ServerProcess};

use super::{
    environment::Environment,
    figures::{Figure, Part, Target},
    measured_server::{MeasuredServer, ROUNDS, ratio},
    workload::Workload,
};

/// The number of clients that read at once.
pub(super) const CONNECTIONS: usize = 64;

/// Reads an agent, in turns with a body of the same size from the bare framework.
pub(super) fn measure(environment: &Environment, workload: &Workload) -> Result<Figure> {
    let bytes = serde_json::to_vec(&workload.agent).context("the agent is no JSON")?;
    let hello_server = environment.bare_hello(bytes.len())?;
    let mut hello = MeasuredServer::warm_up(
        hello_server.address,
        hello_server.id(),
        hello_scripts(&hello_server),
    )?;
    let address = environment.sqlite.endpoint()?.address;
    let mut service = MeasuredServer::warm_up(
        address,
        environment.sqlite.id()?,
        workload.reads(CONNECTIONS)?,
    )?;
    for _ in 0..ROUNDS {
        hello.run_round()?;
        service.run_round()?;
    }
    Ok(Figure::new(
        (
            "S1",
            "GET agent ÷ bare actix-web, same body, 64 connections",
        ),
        Target::AtLeast(0.60),
        ratio(&service.per_second(), &hello.per_second()),
        "×",
        vec![
            // The ratio that would remain if generating the load cost nothing.
            part(
                "the servers' processor time alone",
                ratio(&hello.cpu_per_request(), &service.cpu_per_request()),
                "×",
            ),
            part("bare actix-web", median(hello.per_second()), "/s"),
            part(
                "bare actix-web, processor",
                median(hello.cpu_per_request()),
                "µs",
            ),
            part("bare actix-web, generator", share(&hello), "cores"),
            part("GET agent", median(service.per_second()), "/s"),
            part(
                "GET agent, processor",
                median(service.cpu_per_request()),
                "µs",
            ),
            part("GET agent, generator", share(&service), "cores"),
            part("GET agent, median", median(service.percentile(50)), "ms"),
            part("GET agent, p99", median(service.percentile(99)), "ms"),
        ],
    ))
}

/// Scripts that request the body of the bare framework.
pub(super) fn hello_scripts(hello: &ServerProcess) -> Vec<Script> {
    let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", hello.address);
    vec![Script::repeated(vec![request.into_bytes()]); CONNECTIONS]
}

fn share(server: &MeasuredServer) -> f64 {
    median(server.generator_share())
}

fn part(what: &str, value: f64, unit: &'static str) -> Part {
    Part::new(what, value, unit)
}
