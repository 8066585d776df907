//! The use cases of agents: create, read, change, delete.

mod error;
mod listing;
mod rule_testing;
mod update;

use std::sync::Arc;

use domain::{
    Agent, AgentConfig, AgentDraft, AgentId, AsOf, FaultCode, IdempotencyEntry, IdempotencyKey,
    InputFault, LEVEL, Principal, Profile, Sizes, Stamp, TenantId, tool_call::json_bytes,
};
use ports::{AgentRepository, Idempotent, Membership, PrepareError, RepositoryError};
use tokio::sync::watch;
use update::CHANGE_ATTEMPTS;
use writes::{CreateAgent, DeleteAgent, DeleteOutcome};

use crate::{
    Created, Engines, KeyedSemaphore, Toolbox, VersionCondition, cache::CachedPorts, idempotency,
    principal_limits::PrincipalLimits,
};

pub use error::AgentError;
pub use listing::AgentListing;
pub use rule_testing::RuleTestCommand;
pub use update::ConfigReplacement;

/// The use cases of agents: create, read, change, delete.
pub struct AgentService {
    ports: CachedPorts,
    stored_agents: Arc<dyn AgentRepository>,
    engines: Arc<Engines>,
    toolbox: Arc<Toolbox>,
    limits: AgentLimits,
    /// Tells whether processes of an earlier level still run.
    membership: watch::Receiver<Membership>,
    contended: KeyedSemaphore<(TenantId, AgentId)>,
}

/// The limits of agents.
pub struct AgentLimits {
    /// The sizes of an agent's members.
    pub sizes: Sizes,
    /// The counter of the bytes of events that principals write.
    pub rates: Arc<PrincipalLimits>,
}

impl AgentService {
    /// Creates a service over these ports. `stored_agents` is the repository without a cache: a change
    /// is computed from the stored agent, not from a cached one.
    pub fn new(
        ports: CachedPorts,
        stored_agents: Arc<dyn AgentRepository>,
        engines: Arc<Engines>,
        toolbox: Arc<Toolbox>,
        limits: AgentLimits,
        membership: watch::Receiver<Membership>,
    ) -> Self {
        Self {
            ports,
            stored_agents,
            engines,
            toolbox,
            limits,
            membership,
            contended: KeyedSemaphore::new(1),
        }
    }

    /// Creates an agent.
    pub async fn create(
        &self,
        caller: &Principal,
        draft: AgentDraft,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<Agent>, AgentError> {
        let stamp = Stamp {
            time: self.ports.clock.now(),
            actor: caller.id.clone(),
        };
        let draft = draft.trimmed();
        let entry = idempotency::new_entry(caller, "agents.create", key, &draft, stamp.time);
        let outcome = self.insert(caller, draft, &stamp, entry.as_ref()).await;
        idempotency::created(
            &*self.ports.idempotency,
            &caller.tenant,
            entry.as_ref(),
            outcome,
        )
        .await
    }

    async fn insert(
        &self,
        caller: &Principal,
        draft: AgentDraft,
        stamp: &Stamp,
        entry: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Agent>, AgentError> {
        let agent = Arc::new(draft.into_agent(AgentId::new(self.ports.ids.next_id()), stamp.time));
        self.check(caller, &agent, None).await?;
        self.take_log_bytes(caller, &agent).await?;
        let entry = idempotency::with_result(entry, &*agent);
        let create = CreateAgent {
            tenant: caller.tenant.clone(),
            agent: (*agent).clone(),
            stamp: stamp.clone(),
            idempotency: entry,
        };
        Ok(match self.ports.writes.write(create).await? {
            Idempotent::Applied(_) => Idempotent::Applied(Arc::unwrap_or_clone(agent)),
            Idempotent::Replayed(record) => Idempotent::Replayed(record),
        })
    }

    /// Reads an agent.
    pub async fn get(
        &self,
        caller: &Principal,
        id: AgentId,
    ) -> Result<AsOf<Arc<Agent>>, AgentError> {
        let found = find_reachable(&*self.ports.agents, caller, id).await?;
        let agent = found.value.ok_or(AgentError::NotFound)?;
        Ok(AsOf {
            value: agent,
            position: found.position,
        })
    }

    /// Returns the profile of an agent for a caller.
    pub async fn profile(&self, caller: &Principal, agent: &Agent) -> Result<Profile, AgentError> {
        let user_id = caller.user_id.as_deref();
        let greeting = self.ports.greeting(&caller.tenant, agent, user_id).await?;
        Ok(agent.profile(greeting))
    }

    /// Deletes an agent with its conversations.
    pub async fn delete(
        &self,
        caller: &Principal,
        id: AgentId,
        condition: &VersionCondition,
    ) -> Result<(), AgentError> {
        if !caller.agents.contains(id) {
            return Err(AgentError::NotFound);
        }
        for _ in 0..CHANGE_ATTEMPTS {
            let expected = self.accepted_version(caller, id, condition).await?;
            let stamp = Stamp {
                time: self.ports.clock.now(),
                actor: caller.id.clone(),
            };
            let delete = DeleteAgent {
                tenant: caller.tenant.clone(),
                id,
                expected,
                stamp,
            };
            match self.ports.writes.write(delete).await {
                Ok(DeleteOutcome::Deleted(_)) => return Ok(()),
                Ok(DeleteOutcome::NotFound) => return Err(AgentError::NotFound),
                Err(RepositoryError::Stale { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(AgentError::Contended)
    }

    /// Returns the stored version if `condition` accepts it; `None` if it accepts any.
    async fn accepted_version(
        &self,
        caller: &Principal,
        id: AgentId,
        condition: &VersionCondition,
    ) -> Result<Option<i64>, AgentError> {
        if *condition == VersionCondition::Any {
            return Ok(None);
        }
        let found = find_reachable(&*self.stored_agents, caller, id).await?;
        let version = found.value.ok_or(AgentError::NotFound)?.version;
        if condition.accepts(version) {
            Ok(Some(version))
        } else {
            Err(AgentError::VersionMismatch)
        }
    }

    /// Counts the bytes of the event of an agent that is about to be written.
    async fn take_log_bytes(&self, caller: &Principal, agent: &Agent) -> Result<(), AgentError> {
        let bytes = json_bytes(agent);
        Ok(self.limits.rates.take_log_bytes(caller, bytes).await?)
    }

    /// Checks an agent that is about to be saved; `before` is its current version.
    async fn check(
        &self,
        caller: &Principal,
        agent: &Arc<Agent>,
        before: Option<&Agent>,
    ) -> Result<(), AgentError> {
        let mut faults = agent.draft().check(&self.limits.sizes);
        let config_before = before.map(|before| &before.config);
        let placeholders = agent.config.check_placeholders(config_before).into_iter();
        faults.extend(placeholders.map(|fault| fault.below("/config")));
        if !faults.is_empty() {
            return Err(AgentError::Invalid(faults));
        }
        if agent.config.needs_level() && self.membership.borrow().live.lowest_level < LEVEL {
            return Err(AgentError::Upgrading);
        }
        let unknown = self.engines.unknown_names(agent, config_before);
        if !unknown.is_empty() {
            return Err(AgentError::UnknownEngine(unknown));
        }
        let faults = self.engines.faults_of_own(agent, config_before);
        if !faults.is_empty() {
            return Err(AgentError::Invalid(faults));
        }
        let unknown = self.toolbox.unknown_names(agent, before);
        if !unknown.is_empty() {
            return Err(AgentError::UnknownTool(unknown));
        }
        self.check_schema(caller, agent, config_before).await?;
        self.engines
            .prepare(&caller.tenant, agent)
            .await
            .map_err(|error| match error {
                PrepareError::Invalid(faults) => AgentError::InvalidRule(faults),
                PrepareError::Overloaded => AgentError::Overloaded,
            })
    }
}

impl AgentService {
    /// Checks the schema of the replies of an agent, if it is new.
    async fn check_schema(
        &self,
        caller: &Principal,
        agent: &Agent,
        before: Option<&AgentConfig>,
    ) -> Result<(), AgentError> {
        let schema = agent.config.response_schema.as_ref();
        let known = before.and_then(|before| before.response_schema.as_ref());
        let Some(schema) = schema.filter(|schema| known != Some(*schema)) else {
            return Ok(());
        };
        let checked = self.engines.fault_of_schema(&caller.tenant, schema).await;
        match checked.map_err(|_overloaded| AgentError::Overloaded)? {
            None => Ok(()),
            Some(detail) => {
                let pointer = "/config/responseSchema";
                let fault = InputFault::new(pointer, FaultCode::BadFormat, detail);
                Err(AgentError::Invalid(vec![fault]))
            }
        }
    }
}

/// Reads an agent, unless the caller cannot reach it.
pub(crate) async fn find_reachable(
    agents: &dyn AgentRepository,
    caller: &Principal,
    id: AgentId,
) -> Result<AsOf<Option<Arc<Agent>>>, RepositoryError> {
    let found = agents.find(&caller.tenant, id).await?;
    Ok(found.map(|agent| agent.filter(|_| caller.agents.contains(id))))
}
