//! Listing of agents, in pages.

use std::collections::BTreeSet;

use domain::{Agent, AgentId, AsOf, Page, Principal, Seq, cursor, text};
use ports::{AgentFilter, AgentPosition, AgentQuery};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{AgentError, AgentService};

/// The selection and order of a listing of agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AgentListing {
    /// All agents, newest first.
    All,
    /// The agents whose name begins with this text, ordered by name.
    Name(String),
    /// The agents with this capability, newest first.
    Capability(String),
    /// The agents with these ids, newest first.
    Ids(BTreeSet<AgentId>),
}

/// The position at which a page of agents ended.
#[derive(Serialize, Deserialize)]
struct Position {
    sort_seq: Seq,
    id: Uuid,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
}

impl AgentService {
    /// Returns the agents with exactly this name, at most `limit`.
    pub async fn find_named(
        &self,
        caller: &Principal,
        name: &str,
        limit: usize,
    ) -> Result<Vec<Agent>, AgentError> {
        let name_key = text::search_key(name);
        let mut query = AgentQuery {
            filter: AgentFilter::NamePrefix(name_key.clone()),
            reach: caller.agents.clone(),
            after: None,
            limit,
        };
        let mut found = Vec::new();
        loop {
            let page = self.ports.agents.list(&caller.tenant, &query).await?.value;
            // Names with the same key come first, and may still differ in case.
            let last = page
                .items
                .last()
                .filter(|last| page.has_more && text::search_key(&last.item.name) == name_key);
            query.after = last.map(|last| AgentPosition {
                sort_seq: last.sort_seq,
                id: last.item.id,
                name_key: name_key.clone(),
            });
            let items = page.into_items().items.into_iter();
            found.extend(items.filter(|agent| agent.name == name));
            if found.len() >= limit || query.after.is_none() {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }

    /// Lists agents, and returns the cursor of the next page.
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
                sort_seq: at.sort_seq,
                id: AgentId::new(at.id),
                name_key: at.name,
            });
        let filter = match listing {
            AgentListing::All => AgentFilter::All,
            AgentListing::Name(prefix) => AgentFilter::NamePrefix(text::search_key(prefix)),
            AgentListing::Capability(name) => AgentFilter::Capability(name.clone()),
            AgentListing::Ids(ids) => AgentFilter::Ids(ids.iter().copied().collect()),
        };
        let query = AgentQuery {
            filter,
            reach: caller.agents.clone(),
            after,
            limit,
        };
        let page = self.ports.agents.list(&caller.tenant, &query).await?;
        Ok(page.map(|page| {
            let last = page.items.last().filter(|_| page.has_more);
            let next = last.map(|last| {
                let agent = &last.item;
                let name = match listing {
                    AgentListing::Name(_) => text::search_key(&agent.name),
                    AgentListing::All | AgentListing::Capability(_) | AgentListing::Ids(_) => {
                        String::new()
                    }
                };
                cursor::encode(
                    &binding,
                    &Position {
                        sort_seq: last.sort_seq,
                        id: agent.id.uuid(),
                        name,
                    },
                )
            });
            (page.into_items(), next)
        }))
    }
}
