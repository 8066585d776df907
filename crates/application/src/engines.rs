//! The reply engines of this server: their registry, and the calls of the engines of an agent.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    Agent, AgentConfig, Fallback, FaultCode, FileKinds, InputFault, Problem, ProblemCode,
    ResponseSchema, RuleTest, TenantId, fault::push_index,
};
use futures::future::join_all;
use ports::{BreakerName, ModelRequest, PrepareError, ReplyEngine, SchemaChecker, SchemaError};

use engine_breakers::{AttemptBreakers, EngineBreakers, Timeouts};
use schema_support::SupportByModel;

mod agent_loop;
mod attempt;
mod breaker;
mod breaker_hints;
mod chain;
mod engine_breakers;
mod journal;
mod partial_reply;
mod request_log;
mod schema_support;

pub(crate) use agent_loop::object_text;
pub use breaker_hints::BreakerHints;
pub(crate) use chain::{
    BufferedSink, ReplySink, TurnOrigin, reply_without_tools, run_engine_chain,
};
pub(crate) use journal::Journal;
pub(crate) use partial_reply::{OpenCallStatus, PARAGRAPH, ReplyPosition};
pub use partial_reply::{PartialReply, ToolEvent};

/// The tenant has too much work queued already; nothing was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overloaded;

/// The fault of a schema that cannot be compiled.
const INVALID_SCHEMA: &str =
    "must be a valid JSON Schema 2020-12, with patterns without look-around and back-references";

/// The reply engines of this server by name, and the name of the default engine.
pub struct Engines {
    by_name: BTreeMap<String, Registered>,
    default: String,
    schemas: Arc<dyn SchemaChecker>,
}

struct Registered {
    engine: Arc<dyn ReplyEngine>,
    breakers: EngineBreakers,
    schema_support: Arc<SupportByModel>,
}

/// The error that the default engine is not among the engines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the default reply engine '{0}' does not exist")]
pub struct NoDefaultEngine(pub String);

/// The description of a reply engine in listings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineInfo {
    /// The name of the engine.
    pub name: String,
    /// True if the engine serves agents that name no engine.
    pub is_default: bool,
    /// True if the tenant's requests reach the engine: none of its circuit breakers is open, and the
    /// last request to its server got a connection.
    pub is_available: bool,
    /// The models that agents can choose from, if the engine knows them.
    pub models: Option<Vec<String>>,
    /// The kinds of files that the model of agents takes that name none.
    pub inputs: FileKinds,
}

/// An engine that may reply in a turn.
#[derive(Clone)]
pub struct Candidate {
    /// The name of the engine.
    pub name: String,
    /// The engine.
    pub engine: Arc<dyn ReplyEngine>,
    /// True if it is a fallback for the agent's own engine.
    pub is_fallback: bool,
    /// The model that the agent names for the engine.
    model: Option<String>,
    /// True if the server is that of the agent's own engine.
    is_own_engine: bool,
    /// True if the chain has the engine with another model, too.
    shares_engine: bool,
    /// The circuit breakers that an attempt with the engine has to pass.
    breakers: AttemptBreakers,
    /// Checks replies for which there is a schema.
    schemas: Arc<dyn SchemaChecker>,
    schema_support: Arc<SupportByModel>,
}

impl Candidate {
    /// Returns whether a fallback with this name and model is this candidate. A name alone is any model of the engine.
    fn is_duplicate(&self, agent: &Agent, (name, model): (&str, Option<&str>)) -> bool {
        let has_choice = model.is_some() && !self.engine.is_immediate();
        self.name == name && (!has_choice || self.asked_model(agent).as_deref() == model)
    }

    /// Returns the model that is asked: the one that the agent names, or the operator's.
    fn asked_model(&self, agent: &Agent) -> Option<String> {
        self.model.clone().or_else(|| {
            let mut agent = agent.clone();
            agent.config.llm = None;
            self.engine.model(&agent)
        })
    }
}

impl Engines {
    /// Registers engines under their names.
    pub fn new(
        by_name: BTreeMap<String, Arc<dyn ReplyEngine>>,
        default: String,
        schemas: Arc<dyn SchemaChecker>,
    ) -> Result<Self, NoDefaultEngine> {
        if !by_name.contains_key(&default) {
            return Err(NoDefaultEngine(default));
        }
        let registered = by_name.into_iter().map(|(name, engine)| {
            let breakers = EngineBreakers::new(name.clone());
            let registered = Registered {
                engine,
                breakers,
                schema_support: Arc::default(),
            };
            (name, registered)
        });
        Ok(Self {
            by_name: registered.collect(),
            default,
            schemas,
        })
    }

    /// Returns every engine as the tenant sees it, ordered by name.
    pub async fn list(&self, tenant: &TenantId) -> Vec<EngineInfo> {
        let infos = self.by_name.iter().map(|(name, registered)| async move {
            // The list of models may be the first request to the server.
            let models = registered.engine.models().await;
            EngineInfo {
                name: name.clone(),
                is_default: *name == self.default,
                is_available: registered.engine.is_reachable()
                    && !registered.breakers.is_open(tenant),
                models,
                inputs: registered.engine.inputs(&AgentConfig::default()).await,
            }
        });
        join_all(infos).await
    }

    /// Returns the names of all open circuit breakers.
    fn open_breakers(&self) -> impl Iterator<Item = BreakerName> {
        self.by_name.iter().flat_map(|(engine, registered)| {
            let named = |(model, tenant)| BreakerName {
                engine: engine.clone(),
                model,
                tenant,
            };
            registered.breakers.open().into_iter().map(named)
        })
    }

    /// Lowers the threshold of a breaker for ten seconds, because it has opened on another node.
    fn suspect(&self, name: BreakerName) {
        if let Some(registered) = self.by_name.get(&name.engine) {
            registered.breakers.suspect(name.model, name.tenant);
        }
    }

    /// Returns the engines that may reply for a tenant's agent, in the order in which they are
    /// tried, each once with each model. Names that this server no longer has are skipped.
    pub fn chain(&self, tenant: &TenantId, agent: &Agent) -> Vec<Candidate> {
        let mut chain: Vec<Candidate> = Vec::new();
        let own = agent.config.engine.as_deref().unwrap_or(&self.default);
        let own_model = agent
            .config
            .llm
            .as_ref()
            .and_then(|llm| llm.model.as_deref());
        for (index, (name, named_model)) in self.names(agent).enumerate() {
            let is_fallback = index > 0;
            if chain
                .iter()
                .any(|it| it.is_duplicate(agent, (name, named_model)))
            {
                continue;
            }
            let Some(registered) = self.by_name.get(name) else {
                tracing::warn!(
                    engine = name,
                    "engine of an agent is not configured; skipping it"
                );
                continue;
            };
            let engine = Arc::clone(&registered.engine);
            let chosen_model = if is_fallback { named_model } else { own_model };
            // An engine that replies from the request alone ignores the model.
            let model = chosen_model.filter(|_| !engine.is_immediate());
            let timeouts = Timeouts::of(engine.is_immediate());
            let breakers = registered.breakers.of(tenant, model, timeouts);
            let mut shares_engine = false;
            for earlier in chain.iter_mut().filter(|earlier| earlier.name == name) {
                (earlier.shares_engine, shares_engine) = (true, true);
            }
            chain.push(Candidate {
                name: name.to_owned(),
                engine,
                is_fallback,
                model: chosen_model.map(str::to_owned),
                is_own_engine: name == own,
                shares_engine,
                breakers,
                schemas: Arc::clone(&self.schemas),
                schema_support: Arc::clone(&registered.schema_support),
            });
        }
        chain
    }

    /// Returns the agent's own engine or the default, then its fallbacks with the models that they name.
    fn names<'a>(&'a self, agent: &'a Agent) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let first = agent.config.engine.as_deref().unwrap_or(&self.default);
        let fallbacks = agent.config.fallbacks.iter().flatten();
        let fallbacks = fallbacks.filter_map(|it| Some((it.engine()?, it.model())));
        std::iter::once((first, None)).chain(fallbacks)
    }

    /// Returns the faults of the engine names in an agent's configuration, with pointers inside the
    /// agent. Names that the configuration `before` had in the same member stay allowed: an
    /// operator may have removed an engine, and a later change of another member must not fail
    /// because of it.
    pub fn unknown_names(&self, agent: &Agent, before: Option<&AgentConfig>) -> Vec<InputFault> {
        let mut faults = Vec::new();
        let mut check = |pointer: String, name: &str, is_kept: bool| {
            if !is_kept && !self.by_name.contains_key(name) {
                let known: Vec<_> = self.by_name.keys().map(String::as_str).collect();
                let detail = format!("must be an engine of the server: {}", known.join(", "));
                faults.push(InputFault::new(pointer, FaultCode::UnknownValue, detail));
            }
        };
        if let Some(name) = &agent.config.engine {
            let is_kept = before.is_some_and(|it| it.engine.as_ref() == Some(name));
            check("/config/engine".to_owned(), name, is_kept);
        }
        let of_titles = |config: &AgentConfig| config.titles.as_ref()?.engine.clone();
        if let Some(name) = of_titles(&agent.config) {
            let is_kept = before.and_then(of_titles).as_ref() == Some(&name);
            check("/config/titles/engine".to_owned(), &name, is_kept);
        }
        let before = before.iter().flat_map(|it| it.fallbacks.iter().flatten());
        let before: Vec<_> = before.filter_map(Fallback::engine).collect();
        for (index, fallback) in agent.config.fallbacks.iter().flatten().enumerate() {
            let Some(name) = fallback.engine() else {
                continue;
            };
            let mut pointer = String::from("/config/fallbacks");
            push_index(&mut pointer, index);
            if matches!(fallback, Fallback::WithModel(_)) {
                pointer.push_str("/engine");
            }
            check(pointer, name, before.contains(&name));
        }
        faults
    }

    /// Returns the faults of settings that only the agent's own engine uses, unless both were the same `before`: the
    /// operator may have changed what the engine accepts.
    pub fn faults_of_own(&self, agent: &Agent, before: Option<&AgentConfig>) -> Vec<InputFault> {
        let config = &agent.config;
        if before.is_some_and(|it| it.engine == config.engine && it.llm == config.llm) {
            return Vec::new();
        }
        let name = config.engine.as_deref().unwrap_or(&self.default);
        let own = self.by_name.get(name);
        own.map_or_else(Vec::new, |own| own.engine.faults(config))
    }

    /// Returns why a schema of replies is not accepted.
    pub async fn fault_of_schema(
        &self,
        tenant: &TenantId,
        schema: &ResponseSchema,
    ) -> Result<Option<&'static str>, Overloaded> {
        if let Some(fault) = schema.fault() {
            return Ok(Some(fault));
        }
        match self.schemas.check_schema(tenant, schema).await {
            Ok(()) => Ok(None),
            Err(SchemaError::Invalid) => Ok(Some(INVALID_SCHEMA)),
            Err(SchemaError::Overloaded) => Err(Overloaded),
        }
    }

    /// Returns the reply of the engine that has rules, and the results of the rules.
    pub async fn test_rules(&self, request: &ModelRequest) -> Result<RuleTest, Problem> {
        for registered in self.by_name.values() {
            let tested = registered.engine.test_rules(request.clone()).await;
            if let Some(test) = tested.map_err(|error| attempt::engine_problem(&error))? {
                return Ok(test);
            }
        }
        Err(Problem::new(ProblemCode::EngineUnavailable))
    }

    /// Has every engine check and prepare an agent that is about to be saved. A rule must be valid
    /// even if another engine is selected, since its engine may become a fallback later.
    pub async fn prepare(&self, tenant: &TenantId, agent: &Arc<Agent>) -> Result<(), PrepareError> {
        let mut faults = Vec::new();
        for registered in self.by_name.values() {
            match registered.engine.prepare(tenant, agent).await {
                Ok(()) => {}
                Err(PrepareError::Invalid(found)) => faults.extend(found),
                Err(PrepareError::Overloaded) => return Err(PrepareError::Overloaded),
            }
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(PrepareError::Invalid(faults))
        }
    }
}
