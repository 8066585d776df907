//! All rows of language models.

use anyhow::Result;
use serde_json::{Value, json};

use super::{long, streams, whole};
use crate::{
    bench::{Row, figures::Figure, stage::Stage},
    rig::service::Service,
    steps::Steps,
    upstream::{Manner, Upstream},
};

/// A service on each store whose engine asks the upstream in this manner.
pub(super) struct Asking {
    pub(super) sqlite: Service,
    pub(super) postgres: Service,
}

impl Asking {
    pub(super) fn start(stage: &Stage, upstream: &Upstream, manner: Manner) -> Result<Self> {
        let variables = [
            ("LLM__BASE_URL".to_owned(), upstream.base_url(manner)),
            ("LLM__MODEL".to_owned(), "mock".to_owned()),
        ];
        let name = format!("models_{}", manner.name());
        stage.server.create(&name)?;
        let started = |mut settings: crate::rig::service::Settings| {
            settings.variables.extend(variables.clone());
            Service::start(settings)
        };
        Ok(Self {
            sqlite: started(stage.on_file(&name))?,
            postgres: started(stage.on_database(&name))?,
        })
    }
}

/// An agent such as people make, whose words come from a language model.
pub(super) fn draft() -> Value {
    json!({
        "name": "Ada of the parcel desk",
        "personality": "Friendly and brief. Says what is known of a parcel, and nothing that is not.",
        "capabilities": ["orders", "returns", "opening hours"],
        "config": { "engine": "llm", "instructions": "Say nothing of prices." },
    })
}

/// Measures the rows that are wanted.
pub(crate) fn measure(
    stage: &Stage,
    steps: &mut Steps,
    wanted: impl Fn(Row) -> bool,
) -> Result<Vec<Figure>> {
    let upstream = Upstream::start()?;
    let mut figures = Vec::new();
    if wanted(Row::S5) || wanted(Row::S10) {
        let asking = steps.take("language models", || {
            Asking::start(stage, &upstream, Manner::Instant)
        })?;
        if wanted(Row::S5) {
            figures.extend(steps.take("S5", || whole::measure(&asking, &upstream))?);
        }
        if wanted(Row::S10) {
            figures.extend(steps.take("S10", || long::measure(stage, &asking))?);
        }
    }
    if wanted(Row::S6) {
        figures.extend(steps.take("S6", || streams::measure(stage, &upstream))?);
    }
    Ok(figures)
}
