//! The reply engines of this server: their registry, and the calls of the engines of an agent.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    Agent, AgentConfig, FaultCode, FileKinds, InputFault, Problem, ProblemCode, ResponseSchema,
    RuleTest, TenantId, fault::push_index,
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
    /// The circuit breakers that an attempt with the engine has to pass.
    breakers: AttemptBreakers,
    /// Checks replies for which there is a schema.
    schemas: Arc<dyn SchemaChecker>,
    schema_support: Arc<SupportByModel>,
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
    /// tried, each once. Names that this server no longer has are skipped.
    pub fn chain(&self, tenant: &TenantId, agent: &Agent) -> Vec<Candidate> {
        let mut chain: Vec<Candidate> = Vec::new();
        for (index, name) in self.names(agent).enumerate() {
            if chain.iter().any(|earlier| earlier.name == name) {
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
            let is_fallback = index > 0;
            let llm = agent.config.llm.as_ref().filter(|_| !is_fallback);
            let model = llm.and_then(|llm| llm.model.as_deref());
            // An engine that replies from the request alone ignores the model.
            let model = model.filter(|_| !engine.is_immediate());
            let timeouts = Timeouts::of(engine.is_immediate());
            let breakers = registered.breakers.of(tenant, model, timeouts);
            chain.push(Candidate {
                name: name.to_owned(),
                engine,
                is_fallback,
                breakers,
                schemas: Arc::clone(&self.schemas),
                schema_support: Arc::clone(&registered.schema_support),
            });
        }
        chain
    }

    /// Returns the agent's own engine or the default, then its fallbacks.
    fn names<'a>(&'a self, agent: &'a Agent) -> impl Iterator<Item = &'a str> {
        let first = agent.config.engine.as_deref().unwrap_or(&self.default);
        let fallbacks = agent.config.fallbacks.iter().flatten().map(String::as_str);
        std::iter::once(first).chain(fallbacks)
    }

    /// Returns the faults of the engine names in an agent's configuration, with pointers inside the
    /// agent. Names that the configuration `before` had in the same member stay allowed: an
    /// operator may have removed an engine, and a later change of another member must not fail
    /// because of it.
    pub fn unknown_names(&self, agent: &Agent, before: Option<&AgentConfig>) -> Vec<InputFault> {
        let mut faults = Vec::new();
        let mut check = |pointer: String, name: &String, before: &[String]| {
            if !before.contains(name) && !self.by_name.contains_key(name) {
                let known: Vec<_> = self.by_name.keys().map(String::as_str).collect();
                let detail = format!("must be an engine of the server: {}", known.join(", "));
                faults.push(InputFault::new(pointer, FaultCode::UnknownValue, detail));
            }
        };
        if let Some(name) = &agent.config.engine {
            let engine_before = before.map_or(&[][..], |it| it.engine.as_slice());
            check("/config/engine".to_owned(), name, engine_before);
        }
        let of_titles = |config: &AgentConfig| config.titles.as_ref()?.engine.clone();
        if let Some(name) = of_titles(&agent.config) {
            let engine_before = before.and_then(of_titles);
            check(
                "/config/titles/engine".to_owned(),
                &name,
                engine_before.as_slice(),
            );
        }
        let fallbacks_before = before.and_then(|it| it.fallbacks.as_deref());
        for (index, name) in agent.config.fallbacks.iter().flatten().enumerate() {
            let mut pointer = String::from("/config/fallbacks");
            push_index(&mut pointer, index);
            check(pointer, name, fallbacks_before.unwrap_or_default());
        }
        faults
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
