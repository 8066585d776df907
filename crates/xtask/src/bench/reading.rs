//! S1: what the service adds to the framework.

use anyhow::{Context as _, Result};

use super::{
    figures::{Figure, Part, Target},
    rounds::{Bearer, ROUNDS, ratio},
    stage::Stage,
    talk::Talk,
};
use crate::rig::{
    listening::Listening,
    load::{Script, median},
};

/// Clients that read at once.
pub(super) const CONNECTIONS: usize = 64;

/// Reads an agent, in turns with a body of the same size from the bare framework.
pub(super) fn measure(stage: &Stage, talk: &Talk) -> Result<Figure> {
    let bytes = serde_json::to_vec(&talk.agent).context("the agent is no JSON")?;
    let listening = stage.bare_hello(bytes.len())?;
    let mut hello = Bearer::warm(listening.address, listening.id(), greeting(&listening))?;
    let address = stage.sqlite.endpoint()?.address;
    let mut service = Bearer::warm(address, stage.sqlite.id()?, talk.reading(CONNECTIONS)?)?;
    for _ in 0..ROUNDS {
        hello.take_turn()?;
        service.take_turn()?;
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
            // What would be left if generating the load cost nothing.
            part(
                "the servers' processor time alone",
                ratio(&hello.cost(), &service.cost()),
                "×",
            ),
            part("bare actix-web", median(hello.per_second()), "/s"),
            part("bare actix-web, processor", median(hello.cost()), "µs"),
            part("bare actix-web, generator", share(&hello), "cores"),
            part("GET agent", median(service.per_second()), "/s"),
            part("GET agent, processor", median(service.cost()), "µs"),
            part("GET agent, generator", share(&service), "cores"),
            part("GET agent, median", median(service.percentile(50)), "ms"),
            part("GET agent, p99", median(service.percentile(99)), "ms"),
        ],
    ))
}

/// Asks the bare framework for its body, over and over.
pub(super) fn greeting(hello: &Listening) -> Vec<Script> {
    let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", hello.address);
    vec![Script::repeated(vec![request.into_bytes()]); CONNECTIONS]
}

fn share(bearer: &Bearer) -> f64 {
    median(bearer.generator_share())
}

fn part(what: &str, value: f64, unit: &'static str) -> Part {
    Part::new(what, value, unit)
}
