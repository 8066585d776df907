//! A1 to A4: the cost of authentication for a read.

use anyhow::Result;
use dev_load::{Credential, generator::Script, latencies::median, service::Service};

use crate::{
    environment::Environment,
    figures::{Figure, Part},
    measured_server::{MeasuredServer, ROUNDS, ratio},
    read::CONNECTIONS,
    workload::Workload,
};

/// The tokens of a round. Each is used once, so that none is in a cache.
const TOKENS: usize = 12_000;

/// Reads an agent with each kind of credential, in turns with the service without access control.
pub(super) fn measure(environment: &Environment, workload: &Workload) -> Result<Vec<Figure>> {
    let open = Open::start(environment, false)?;
    let counted = Open::start(environment, true)?;
    let token = Credential::Token(environment.issuer.token("reader")?);
    let by_token = Script::repeated(vec![workload.read_request(&token)?]);
    let mut batches = batches(environment, workload)?.into_iter();
    let mut next_batch = || batches.next().unwrap_or_default();

    let service = &environment.sqlite;
    let mut without = open.warm()?;
    let mut by_key = warm(service, workload.reads(CONNECTIONS)?)?;
    let mut by_token = warm(service, vec![by_token; CONNECTIONS])?;
    let mut by_new_token = warm(service, next_batch())?;
    let mut limits_alone = counted.warm()?;
    for _ in 0..ROUNDS {
        by_new_token.use_scripts(next_batch());
        for server in [
            &mut without,
            &mut by_key,
            &mut by_token,
            &mut by_new_token,
            &mut limits_alone,
        ] {
            server.run_round()?;
        }
    }
    let without = &without;
    let mut figures = vec![
        compared(
            ("A1", "GET agent by API key ÷ without access"),
            ("by API key", &by_key),
            without,
        ),
        compared(
            ("A2", "GET agent by a token seen before ÷ without access"),
            ("by a token seen before", &by_token),
            without,
        ),
        compared(
            (
                "A3",
                "GET agent by tokens never seen (ES256) ÷ without access",
            ),
            ("by tokens never seen", &by_new_token),
            without,
        ),
        compared(
            (
                "A4",
                "GET agent, counted but not recognised ÷ without access",
            ),
            ("counted", &limits_alone),
            without,
        ),
    ];
    figures[0]
        .from
        .extend(latency_parts("without access", without));
    Ok(figures)
}

/// A service without access control, with an agent of its own.
struct Open {
    service: Service,
    workload: Workload,
}

impl Open {
    fn start(environment: &Environment, counted: bool) -> Result<Self> {
        let service = environment.open_reading(counted)?;
        let workload = Workload::prepare(service.endpoint()?)?;
        Ok(Self { service, workload })
    }

    fn warm(&self) -> Result<MeasuredServer> {
        warm(&self.service, self.workload.reads(CONNECTIONS)?)
    }
}

fn warm(service: &Service, scripts: Vec<Script>) -> Result<MeasuredServer> {
    MeasuredServer::warm_up(service.endpoint()?.address, service.id()?, scripts)
}

/// Scripts for the warm-up and each round, in which each token has a user of its own.
fn batches(environment: &Environment, workload: &Workload) -> Result<Vec<Vec<Script>>> {
    let request = |number: usize| {
        let token = environment.issuer.token(&format!("reader {number}"))?;
        workload.read_request(&Credential::Token(token))
    };
    let each = TOKENS / CONNECTIONS;
    let script = |first: usize| {
        let requests: Result<_> = (first..first + each).map(request).collect();
        Ok(Script::once(requests?))
    };
    let batch = |number: usize| {
        let first = |connection| (number * CONNECTIONS + connection) * each;
        (0..CONNECTIONS).map(|it| script(first(it))).collect()
    };
    (0..=ROUNDS).map(batch).collect()
}

fn compared(
    row: (&'static str, &'static str),
    (how, server): (&str, &MeasuredServer),
    without: &MeasuredServer,
) -> Figure {
    let more = differences(&server.cpu_per_request(), &without.cpu_per_request());
    let alone = ratio(&without.cpu_per_request(), &server.cpu_per_request());
    let mut parts = vec![
        Part::new("the servers' processor time alone", alone, "×"),
        Part::new("processor beyond that without access", median(more), "µs"),
    ];
    parts.extend(latency_parts(how, server));
    let value = ratio(&server.per_second(), &without.per_second());
    Figure::without_target(row, value, "×", parts)
}

fn differences(more: &[f64], less: &[f64]) -> Vec<f64> {
    more.iter()
        .zip(less)
        .map(|(more, less)| more - less)
        .collect()
}

fn latency_parts(how: &str, server: &MeasuredServer) -> Vec<Part> {
    let part = |what: &str, values, unit| Part::new(format!("{how}{what}"), median(values), unit);
    vec![
        part("", server.per_second(), "/s"),
        part(", processor", server.cpu_per_request(), "µs"),
        part(", median", server.percentile(50), "ms"),
        part(", p99", server.percentile(99), "ms"),
    ]
}
