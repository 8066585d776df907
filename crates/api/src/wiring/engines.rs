//! Builds the reply engines: those of every server, and those that the configuration names.

use std::{collections::BTreeMap, io, sync::Arc};

use anyhow::{Context, Result, bail};
use application::Engines;
use json_schemas::PooledSchemaChecker;
use llm_engine::{LlmOptions, LlmReplyEngine};
use ports::ReplyEngine;
use rule_engine::RuleReplyEngine;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::settings::{LLM, RULES, Settings};

/// Engines by name.
pub type EnginesByName = BTreeMap<String, Arc<dyn ReplyEngine>>;

/// Creates the engines that every server has.
pub fn built_in_engines() -> io::Result<EnginesByName> {
    let rules: Arc<dyn ReplyEngine> = Arc::new(RuleReplyEngine::new()?);
    Ok(BTreeMap::from([(RULES.to_owned(), rules)]))
}

/// Returns the engines of this server: `engines`, one for each configured provider of language
/// models, and the default. Must be called on a runtime; `tasks` tracks the background work of the
/// engines.
pub fn choose_engines(
    settings: &Settings,
    mut engines: EnginesByName,
    tasks: &TaskTracker,
) -> Result<Engines> {
    let models = &settings.models;
    // One for each HTTP worker, and the one of background tasks.
    let runtimes = settings.server.workers + 1;
    for provider in &models.providers {
        let name = &provider.engine;
        let options = LlmOptions {
            api: provider.api,
            api_key: provider.api_key.clone(),
            model: Some(provider.model.clone()),
            proxy: models.proxy.clone(),
            streams: provider.streams,
            runtimes,
            stream_options: provider.stream_options,
            max_completion_tokens: provider.max_completion_tokens,
            think_tags: provider.think_tags,
            inputs: provider.inputs,
            extra_body: provider.extra_body.clone(),
            ..LlmOptions::new(name, &provider.base_url, tasks.clone(), Handle::current())
        };
        let engine = LlmReplyEngine::new(options)
            .with_context(|| format!("the reply engine '{name}' cannot be created"))?;
        if engines.insert(name.clone(), Arc::new(engine)).is_some() {
            bail!("two reply engines are named '{name}'; rename one of them");
        }
    }
    let default = default_engine(settings, engines.keys()).to_owned();
    let schemas = PooledSchemaChecker::new().context("cannot start threads")?;
    Engines::new(engines, default, Arc::new(schemas)).context("ENGINES__DEFAULT")
}

/// Returns the engine for agents that name none, if the engines `names` exist.
pub(super) fn default_engine<'a>(
    settings: &'a Settings,
    mut names: impl Iterator<Item = &'a String>,
) -> &'a str {
    let usual = if names.any(|name| name == LLM) {
        LLM
    } else {
        RULES
    };
    settings.engines.default.as_deref().unwrap_or(usual)
}
