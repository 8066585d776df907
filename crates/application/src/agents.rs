//! Agents: create, read, change, delete.

use std::sync::Arc;

use domain::{
    Agent, AgentDraft, AgentId, AsOf, Fault, IdempotencyClaim, IdempotencyKey, Page, Principal,
    Sizes, Stamp, cursor, merge_patch, text,
};
use ports::{
    AgentFilter, AgentPosition, AgentQuery, AgentRepository, ClaimRepository, Clock, Deletion,
    IdSource, Once, RepositoryError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::{Created, Engines, IdempotencyRefused, idempotency};

/// How often a change is computed again when others keep changing the same agent.
const CHANGE_ATTEMPTS: usize = 100;

/// Why a use case of agents was refused.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// There is no such agent in the caller's tenant.
    #[error("no such agent")]
    NotFound,
    /// The agent is not at the version that the caller named.
    #[error("the agent has another version")]
    VersionMismatch,
    /// The agent would not be valid.
    #[error("the agent is not valid")]
    Invalid(Vec<Fault>),
    /// A rule does not work.
    #[error("a rule does not work")]
    InvalidRule(Vec<Fault>),
    /// The server has no engine of that name.
    #[error("unknown engine")]
    UnknownEngine(Vec<Fault>),
    /// Others kept changing it at the same time; nothing was written.
    #[error("the agent is changed too often at once")]
    Contended,
    /// The cursor belongs to another listing.
    #[error("not a cursor of this listing")]
    InvalidCursor,
    /// The idempotency key was used before.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyRefused),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// Which agents a listing shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AgentListing {
    /// All, newest first.
    All,
    /// Those whose name begins so, by name.
    Name(String),
    /// Those with this capability, newest first.
    Capability(String),
}

/// What `PUT …/config` replaces: the configuration as a whole, and what else the body carries.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigReplacement {
    /// The new configuration.
    pub config: domain::AgentConfig,
    /// A new name, if it changes too.
    pub name: Option<String>,
    /// A new personality, if it changes too.
    pub personality: Option<String>,
    /// New capabilities, if they change too.
    pub capabilities: Option<Vec<String>>,
}

/// Where a page of agents ended.
#[derive(Serialize, Deserialize)]
struct Position {
    id: Uuid,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
}

/// Agents: create, read, change, delete.
pub struct AgentService {
    agents: Arc<dyn AgentRepository>,
    stored_agents: Arc<dyn AgentRepository>,
    claims: Arc<dyn ClaimRepository>,
    engines: Arc<Engines>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    sizes: Sizes,
}

impl AgentService {
    /// A service over these ports. `stored_agents` is the same repository without a cache: a
    /// change is computed from what is stored, not from what this process remembers.
    pub fn new(
        agents: Arc<dyn AgentRepository>,
        stored_agents: Arc<dyn AgentRepository>,
        claims: Arc<dyn ClaimRepository>,
        engines: Arc<Engines>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        sizes: Sizes,
    ) -> Self {
        Self {
            agents,
            stored_agents,
            claims,
            engines,
            clock,
            ids,
            sizes,
        }
    }

    /// Makes an agent.
    pub async fn create(
        &self,
        caller: &Principal,
        draft: AgentDraft,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<Agent>, AgentError> {
        let stamp = Stamp {
            time: self.clock.now(),
            actor: caller.id.clone(),
        };
        let draft = draft.trimmed();
        let claim = idempotency::claim(caller, "agents.create", key, &draft, stamp.time);
        let outcome = self.insert(caller, draft, &stamp, claim.as_ref()).await;
        idempotency::created(&*self.claims, &caller.tenant, claim.as_ref(), outcome).await
    }

    async fn insert(
        &self,
        caller: &Principal,
        draft: AgentDraft,
        stamp: &Stamp,
        claim: Option<&IdempotencyClaim>,
    ) -> Result<Once<Agent>, AgentError> {
        let agent = Arc::new(draft.into_agent(AgentId::new(self.ids.next_id()), stamp.time));
        self.check(caller, &agent).await?;
        let claim = idempotency::answering(claim, &*agent);
        let inserted = self
            .agents
            .insert(&caller.tenant, &agent, stamp, claim.as_ref());
        Ok(match inserted.await? {
            Once::Done(_) => Once::Done(Arc::unwrap_or_clone(agent)),
            Once::Repeated(record) => Once::Repeated(record),
        })
    }

    /// Reads an agent.
    pub async fn get(
        &self,
        caller: &Principal,
        id: AgentId,
    ) -> Result<AsOf<Arc<Agent>>, AgentError> {
        let found = self.agents.find(&caller.tenant, id).await?;
        let agent = found.value.ok_or(AgentError::NotFound)?;
        Ok(AsOf {
            value: agent,
            position: found.position,
        })
    }

    /// Lists agents; the answer carries the cursor of the next page.
    pub async fn list(
        &self,
        caller: &Principal,
        listing: &AgentListing,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<AsOf<(Page<Agent>, Option<String>)>, AgentError> {
        let binding = (caller.tenant.as_str(), "agents", listing);
        let after = cursor
            .map(|cursor| cursor::decode::<Position>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| AgentError::InvalidCursor)?
            .map(|at| AgentPosition {
                id: AgentId::new(at.id),
                name_key: at.name,
            });
        let filter = match listing {
            AgentListing::All => AgentFilter::All,
            AgentListing::Name(prefix) => AgentFilter::NamePrefix(text::search_key(prefix)),
            AgentListing::Capability(name) => AgentFilter::Capability(name.clone()),
        };
        let query = AgentQuery {
            filter,
            after,
            limit,
        };
        let page = self.agents.list(&caller.tenant, &query).await?;
        Ok(page.map(|page| {
            let last = page.items.last().filter(|_| page.has_more);
            let next = last.map(|agent| {
                let name = match listing {
                    AgentListing::Name(_) => text::search_key(&agent.name),
                    AgentListing::All | AgentListing::Capability(_) => String::new(),
                };
                cursor::encode(
                    &binding,
                    &Position {
                        id: agent.id.uuid(),
                        name,
                    },
                )
            });
            (page, next)
        }))
    }

    /// Applies a JSON merge patch whose shape was checked.
    pub async fn patch(
        &self,
        caller: &Principal,
        id: AgentId,
        patch: &Value,
        expected: Option<i64>,
    ) -> Result<Agent, AgentError> {
        self.change(caller, id, expected, |agent| {
            let mut document = serde_json::to_value(agent.draft()).unwrap_or_default();
            merge_patch::apply(&mut document, patch.clone());
            serde_json::from_value(document).map_err(|_shape| {
                // The patch fitted its schema, so a merge that does not is one of kinds mixed.
                let detail = "the patch does not fit the agent";
                vec![Fault::new("", domain::FaultCode::NotCombinable, detail)]
            })
        })
        .await
    }

    /// Replaces the configuration, and what else the body carried.
    pub async fn replace_config(
        &self,
        caller: &Principal,
        id: AgentId,
        replacement: &ConfigReplacement,
        expected: Option<i64>,
    ) -> Result<Agent, AgentError> {
        let change = self.change(caller, id, expected, |agent| {
            let new = replacement.clone();
            Ok(AgentDraft {
                name: new.name.unwrap_or_else(|| agent.name.clone()),
                personality: new.personality.unwrap_or_else(|| agent.personality.clone()),
                capabilities: new
                    .capabilities
                    .unwrap_or_else(|| agent.capabilities.clone()),
                config: new.config,
            })
        });
        // The body of this call is the configuration itself, so pointers begin inside it.
        change.await.map_err(AgentError::below_config)
    }

    /// Deletes an agent and all that hangs on it.
    pub async fn delete(
        &self,
        caller: &Principal,
        id: AgentId,
        expected: Option<i64>,
    ) -> Result<(), AgentError> {
        let stamp = Stamp {
            time: self.clock.now(),
            actor: caller.id.clone(),
        };
        match self
            .agents
            .delete(&caller.tenant, id, expected, &stamp)
            .await
        {
            Ok(Deletion::Deleted(_)) => Ok(()),
            Ok(Deletion::NotFound) => Err(AgentError::NotFound),
            Err(RepositoryError::Stale { .. }) => Err(AgentError::VersionMismatch),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads, computes and writes until nobody came between: one atomic change each.
    async fn change(
        &self,
        caller: &Principal,
        id: AgentId,
        expected: Option<i64>,
        compute: impl Fn(&Agent) -> Result<AgentDraft, Vec<Fault>>,
    ) -> Result<Agent, AgentError> {
        for _ in 0..CHANGE_ATTEMPTS {
            let found = self.stored_agents.find(&caller.tenant, id).await?;
            let current = found.value.ok_or(AgentError::NotFound)?;
            if expected.is_some_and(|version| version != current.version) {
                return Err(AgentError::VersionMismatch);
            }
            let draft = compute(&current).map_err(AgentError::Invalid)?.trimmed();
            let now = self.clock.now();
            let Some(changed) = current.changed_to(draft, now) else {
                return Ok(Arc::unwrap_or_clone(current));
            };
            let changed = Arc::new(changed);
            self.check(caller, &changed).await?;
            let stamp = Stamp {
                time: now,
                actor: caller.id.clone(),
            };
            match self.agents.update(&caller.tenant, &changed, &stamp).await {
                Ok(Some(_)) => return Ok(Arc::unwrap_or_clone(changed)),
                Ok(None) => return Err(AgentError::NotFound),
                Err(RepositoryError::Stale { .. }) if expected.is_some() => {
                    return Err(AgentError::VersionMismatch);
                }
                Err(RepositoryError::Stale { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(AgentError::Contended)
    }

    async fn check(&self, caller: &Principal, agent: &Arc<Agent>) -> Result<(), AgentError> {
        let faults = agent.draft().check(&self.sizes);
        if !faults.is_empty() {
            return Err(AgentError::Invalid(faults));
        }
        let unknown = self.engines.unknown_names(agent);
        if !unknown.is_empty() {
            return Err(AgentError::UnknownEngine(unknown));
        }
        self.engines
            .prepare(&caller.tenant, agent)
            .await
            .map_err(AgentError::InvalidRule)
    }
}

impl idempotency::Refusal for AgentError {
    fn is_of_store(&self) -> bool {
        matches!(self, Self::Store(_))
    }
}

impl AgentError {
    /// The same error for a body that is an agent's configuration: `/config/rules/0` of the agent
    /// is `/rules/0` of the body.
    fn below_config(mut self) -> Self {
        if let Self::Invalid(faults) | Self::InvalidRule(faults) | Self::UnknownEngine(faults) =
            &mut self
        {
            for fault in faults {
                if let Some(inside) = fault.pointer.strip_prefix("/config") {
                    fault.pointer = inside.to_owned();
                }
            }
        }
        self
    }
}
