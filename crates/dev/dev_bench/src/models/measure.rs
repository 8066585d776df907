//! All rows of language models.

use anyhow::Result;
use dev_load::{
    service::Service,
    upstream::{ResponseMode, Upstream},
};
use dev_tools::steps::Steps;
use serde_json::{Value, json};

use super::{added_latency, concurrent, long_conversations, reference, streams};
use crate::{Row, environment::Environment, figures::Figure};

/// A service on each store whose engine requests replies of the upstream.
pub(crate) struct LlmServices {
    pub(crate) sqlite: Service,
    pub(crate) postgres: Service,
}

impl LlmServices {
    /// Starts both, after recycling log segments: earlier rows have used them up, and the figures
    /// would depend on which rows run.
    pub(crate) fn start(
        environment: &Environment,
        upstream: &Upstream,
        manner: ResponseMode,
    ) -> Result<Self> {
        let variables = variables(upstream, manner);
        environment.server.recycle_log_segments()?;
        let name = format!("models_{}", manner.name());
        environment.server.create(&name)?;
        let started = |mut settings: dev_load::service::Settings| {
            settings.variables.extend(variables.clone());
            Service::start(settings)
        };
        Ok(Self {
            sqlite: started(environment.on_file(&name))?,
            postgres: started(environment.on_database(&name))?,
        })
    }
}

/// The settings of a service whose engine requests replies of the upstream.
pub(crate) fn variables(upstream: &Upstream, manner: ResponseMode) -> [(String, String); 2] {
    [
        ("LLM__BASE_URL".to_owned(), upstream.base_url(manner)),
        ("LLM__MODEL".to_owned(), "mock".to_owned()),
    ]
}

/// A typical agent with a language model.
pub(crate) fn draft() -> Value {
    json!({
        "name": "Ada of the parcel desk",
        "personality": "Friendly and brief. Says what is known of a parcel, and nothing that is not.",
        "capabilities": ["orders", "returns", "opening hours"],
        "config": { "engine": "llm", "instructions": "Say nothing of prices." },
    })
}

/// Measures the requested rows.
pub(crate) fn measure(
    environment: &Environment,
    steps: &mut Steps,
    wanted: impl Fn(Row) -> bool,
) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let single = [Row::S11, Row::S13];
    let many = [Row::S14, Row::S16];
    let others = [Row::S5, Row::S6, Row::S10];
    if !single
        .iter()
        .chain(&many)
        .chain(&others)
        .any(|row| wanted(*row))
    {
        return Ok(figures);
    }
    let upstream = Upstream::start()?;
    if wanted(Row::S5) || wanted(Row::S10) {
        let services = steps.run("language models", || {
            LlmServices::start(environment, &upstream, ResponseMode::Instant)
        })?;
        if wanted(Row::S5) {
            figures.extend(steps.run("S5", || added_latency::measure(&services, &upstream))?);
        }
        if wanted(Row::S10) {
            figures.extend(steps.run("S10", || {
                long_conversations::measure(environment, &services)
            })?);
        }
    }
    if wanted(Row::S6) {
        figures.extend(steps.run("S6", || streams::measure(environment, &upstream))?);
    }
    if single.iter().chain(&many).any(|row| wanted(*row)) {
        let servers = steps.run("reference service", || {
            reference::Servers::start(environment, &upstream)
        })?;
        if single.into_iter().any(&wanted) {
            figures.extend(steps.run("S11, S13", || reference::measure(&servers, &wanted))?);
        }
        if many.into_iter().any(&wanted) {
            figures.extend(steps.run("S14, S16", || concurrent::measure(&servers, &wanted))?);
        }
    }
    Ok(figures)
}
