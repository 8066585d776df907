//! The agents that a credential can reach.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{AgentId, Scope, Scopes};

/// The agents that a principal or a credential can reach: all of its tenant, or these. To it, others do not
/// exist. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentReach(Option<Arc<[AgentId]>>);

impl AgentReach {
    /// All agents of the tenant.
    pub const ALL: Self = Self(None);

    /// Only these agents.
    pub fn only(ids: impl IntoIterator<Item = AgentId>) -> Self {
        Self(Some(ids.into_iter().collect()))
    }

    /// Returns the agents; `None` if all can be reached.
    pub fn ids(&self) -> Option<&[AgentId]> {
        self.0.as_deref()
    }

    /// Returns whether all agents can be reached.
    pub const fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Returns whether an agent can be reached.
    pub fn contains(&self, id: AgentId) -> bool {
        self.ids().is_none_or(|ids| ids.contains(&id))
    }

    /// Returns whether everything that `other` reaches can be reached.
    pub fn includes(&self, other: &Self) -> bool {
        match (self.ids(), other.ids()) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(_), Some(ids)) => ids.iter().all(|id| self.contains(*id)),
        }
    }

    /// Returns this reach, narrowed to one agent if there is one.
    #[must_use]
    pub fn narrowed_to(&self, id: Option<AgentId>) -> Self {
        self.intersection(&id.map_or(Self::ALL, |id| Self::only([id])))
    }

    /// Returns this reach, or `other` if this one is not limited.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        if self.is_all() {
            other.clone()
        } else {
            self.clone()
        }
    }

    /// Returns what both reach.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        match (self.ids(), other.ids()) {
            (None, _) => other.clone(),
            (_, None) => self.clone(),
            (Some(ids), Some(_)) => {
                Self::only(ids.iter().copied().filter(|id| other.contains(*id)))
            }
        }
    }

    /// Returns those of the scopes that concern the whole tenant, which go only with all agents.
    pub fn too_wide(&self, scopes: &Scopes) -> Scopes {
        if self.is_all() {
            return Scopes::NONE;
        }
        scopes.intersection(&OF_WHOLE_TENANTS.into_iter().collect())
    }
}

/// The scopes that no principal with fewer than all agents has: they concern the whole tenant.
const OF_WHOLE_TENANTS: [Scope; 3] = [Scope::AgentsWrite, Scope::MetricsRead, Scope::UsersAdmin];

/// The scopes of a principal that cannot reach all agents, as they are stored and sent. A version that does
/// not know the reach finds no scopes where it looks for them, and permits nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfinedScopes {
    agent_ids: AgentReach,
    scopes: Scopes,
}

impl ConfinedScopes {
    /// Separates scopes for storage: those that every version reads, and those of a confined principal.
    pub fn split(scopes: &Scopes, reach: &AgentReach) -> (Scopes, Option<Self>) {
        if reach.is_all() {
            return (scopes.clone(), None);
        }
        let confined = Self {
            agent_ids: reach.clone(),
            scopes: scopes.clone(),
        };
        (Scopes::NONE, Some(confined))
    }

    /// Joins what [`Self::split`] has separated.
    pub fn join(scopes: Scopes, confined: Option<Self>) -> (Scopes, AgentReach) {
        match confined {
            None => (scopes, AgentReach::ALL),
            Some(confined) => (confined.scopes, confined.agent_ids),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(numbers: &[u128]) -> AgentReach {
        let ids = numbers.iter().map(|number| uuid::Uuid::from_u128(*number));
        AgentReach::only(ids.map(AgentId::new))
    }

    #[test]
    fn a_reach_is_never_wider_than_both_of_which_it_is_made() {
        let all = AgentReach::ALL;
        for (left, right, both) in [
            (all.clone(), all.clone(), all.clone()),
            (all.clone(), only(&[1]), only(&[1])),
            (only(&[1, 2]), only(&[2, 3]), only(&[2])),
            (only(&[1]), only(&[2]), only(&[])),
        ] {
            assert_eq!(left.intersection(&right), both);
            assert_eq!(right.intersection(&left), both);
            assert!(left.includes(&both) && right.includes(&both));
        }
        assert!(!only(&[1]).includes(&all) && all.includes(&only(&[1])));
        assert!(!only(&[1]).includes(&only(&[1, 2])));
    }
}
