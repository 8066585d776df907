//! Principals: the identities behind requests.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{AgentId, AgentReach, Audience, ConfinedScopes, Scope, Scopes, TenantId, Timestamp};

/// The beginning of the ids of users to whom this service issued tokens.
pub const USER_PREFIX: &str = "user:";

/// The id of a principal in the event log and in idempotency records: `key:<id>`, `client:<id>`,
/// `user:<user id>`, `<issuer id>~<sub>`, `system`, or `service`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrincipalId(Arc<str>);

impl PrincipalId {
    /// Wraps the stored or computed text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the id of the service itself, the actor of sweeps and expiries.
    pub fn system() -> Self {
        Self("system".into())
    }

    /// Returns the id of the followers of the logs, the actor of titles by models.
    pub fn service() -> Self {
        Self("service".into())
    }

    /// Returns the id of a user to whom this service issued a token.
    pub fn user(user_id: &str) -> Self {
        Self(format!("{USER_PREFIX}{user_id}").into())
    }

    /// Returns the id with which users see principals that are no users: keys, clients, and staff.
    pub fn staff() -> Self {
        Self("staff".into())
    }

    /// Returns the id as it is shown to this user, which sees those of no other principals.
    #[must_use]
    pub fn shown_to(&self, user_id: Option<&str>) -> Self {
        let is_system = *self == Self::system() || *self == Self::service();
        let is_theirs = |user| {
            self.as_str()
                .strip_prefix(USER_PREFIX)
                .unwrap_or(self.as_str())
                == user
        };
        if is_system || user_id.is_some_and(is_theirs) {
            self.clone()
        } else {
            Self::staff()
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for PrincipalId {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        String::schema()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for PrincipalId {}

/// The identity behind a request, as far as use cases need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredPrincipal", into = "StoredPrincipal")]
pub struct Principal {
    /// The tenant whose data the principal can reach.
    pub tenant: TenantId,
    /// The principal's id in the log.
    pub id: PrincipalId,
    /// The principal's permissions.
    pub scopes: Scopes,
    /// The user id, for users with a token of an identity provider or a user token. Without
    /// `conversations:all`, they reach only conversations with this user id.
    pub user_id: Option<String>,
    /// The agents that exist for the principal, with their conversations.
    pub agents: AgentReach,
    /// True if it is a key or a client that names a user for this request: the response then shows
    /// what that user sees.
    pub names_user: bool,
}

/// A principal as it is stored and sent.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredPrincipal {
    tenant: TenantId,
    id: PrincipalId,
    scopes: Scopes,
    user_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confined: Option<ConfinedScopes>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    names_user: bool,
}

impl From<Principal> for StoredPrincipal {
    fn from(principal: Principal) -> Self {
        let (scopes, confined) = ConfinedScopes::split(&principal.scopes, &principal.agents);
        Self {
            tenant: principal.tenant,
            id: principal.id,
            scopes,
            user_id: principal.user_id,
            confined,
            names_user: principal.names_user,
        }
    }
}

impl From<StoredPrincipal> for Principal {
    fn from(stored: StoredPrincipal) -> Self {
        let (scopes, agents) = ConfinedScopes::join(stored.scopes, stored.confined);
        Self {
            tenant: stored.tenant,
            id: stored.id,
            scopes,
            user_id: stored.user_id,
            agents,
            names_user: stored.names_user,
        }
    }
}

impl Principal {
    /// Returns for whom responses to this principal are made.
    pub fn audience(&self) -> Audience {
        if self.names_user || self.confined_to().is_some() {
            Audience::User
        } else {
            Audience::Staff
        }
    }

    /// Returns for whom the response to a chat is made that may name its user.
    pub fn audience_of_chat(&self, user_id: Option<&str>) -> Audience {
        match user_id {
            Some(_) => Audience::User,
            None => self.audience(),
        }
    }

    /// Returns the only user whose conversations this principal can reach; `None` if it is not
    /// restricted to one.
    pub fn confined_to(&self) -> Option<&str> {
        if self.scopes.contains(Scope::ConversationsAll) {
            return None;
        }
        self.user_id.as_deref()
    }

    /// Returns `true` if this principal can reach conversations of `user_id` with an agent.
    pub fn may_reach(&self, user_id: Option<&str>, agent_id: AgentId) -> bool {
        let is_own = self.confined_to().is_none_or(|own| user_id == Some(own));
        is_own && self.agents.contains(agent_id)
    }

    /// Returns `true` if this principal cannot reach all conversations of its tenant.
    pub fn is_confined(&self) -> bool {
        self.confined_to().is_some() || !self.agents.is_all()
    }

    /// Returns `true` if this principal can read whole conversations that it can reach: by its
    /// scope, or because they are its own.
    pub fn may_read_conversations(&self) -> bool {
        self.scopes.contains(Scope::ConversationsRead) || self.confined_to().is_some()
    }

    /// Returns `true` if this principal can read what models are told about conversations that it can
    /// reach, which users cannot.
    pub fn may_read_context(&self) -> bool {
        let has_scope = self.scopes.contains(Scope::ConversationsRead) || self.user_id.is_some();
        has_scope && self.audience() == Audience::Staff
    }

    /// Returns `true` if this principal can read the notes of conversations of `user_id` that it can reach. Nobody
    /// reads those about themselves.
    pub fn may_read_notes(&self, user_id: Option<&str>) -> bool {
        let is_own = self.user_id.is_some() && self.user_id.as_deref() == user_id;
        self.may_read_context() && !is_own
    }

    /// Returns whether the request is one of a user: by its credential, or because it names one.
    pub const fn names_a_user(&self) -> bool {
        self.names_user || self.user_id.is_some()
    }

    /// Returns the scope that this principal lacks to act as staff, such as to change what models are told or
    /// the user of a conversation; `None` if it can. Users can only with `conversations:all`, and whoever
    /// names a user for a request has no more rights.
    pub fn lacks_to_act_as_staff(&self) -> Option<Scope> {
        if self.audience() == Audience::User {
            return Some(Scope::ConversationsAll);
        }
        let has_scope = self.scopes.contains(Scope::ConversationsWrite);
        (!has_scope).then_some(Scope::ConversationsWrite)
    }

    /// Returns `true` if this principal can follow a turn of a conversation that it can reach. One
    /// that cannot read conversations can follow the turns that it has started.
    pub fn may_follow(&self, started_by: &PrincipalId) -> bool {
        self.may_read_conversations() || *started_by == self.id
    }
}

/// The time and the actor of a change, for its event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The time of the change.
    pub time: Timestamp,
    /// The principal that made the change.
    pub actor: PrincipalId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_reaches_only_its_own_conversations() {
        let (agent, other) = (
            AgentId::new(uuid::Uuid::from_u128(1)),
            AgentId::new(uuid::Uuid::from_u128(2)),
        );
        let mut user = Principal {
            tenant: "default".parse().unwrap(),
            id: PrincipalId::new("main~ada"),
            scopes: Scopes::NONE,
            user_id: Some("main~ada".to_owned()),
            agents: AgentReach::ALL,
            names_user: false,
        };
        assert!(user.may_reach(Some("main~ada"), agent));
        assert!(!user.may_reach(Some("main~bob"), agent));
        assert!(!user.may_reach(None, agent));
        user.scopes = [Scope::ConversationsAll].into_iter().collect();
        assert!(user.may_reach(None, agent) && !user.is_confined());
        assert!(user.may_read_context());
        user.agents = AgentReach::only([other]);
        assert!(user.may_reach(None, other) && !user.may_reach(None, agent));
        assert!(user.is_confined());
    }

    #[test]
    fn users_and_those_who_name_one_are_the_audience_of_users() {
        let mut caller = Principal {
            tenant: "default".parse().unwrap(),
            id: PrincipalId::new("key:1"),
            scopes: Scopes::NONE,
            user_id: None,
            agents: AgentReach::ALL,
            names_user: false,
        };
        assert_eq!(caller.audience(), Audience::Staff);
        assert_eq!(caller.audience_of_chat(None), Audience::Staff);
        assert_eq!(caller.audience_of_chat(Some("ada")), Audience::User);
        caller.scopes = [Scope::ConversationsWrite].into_iter().collect();
        assert_eq!(caller.lacks_to_act_as_staff(), None);
        caller.names_user = true;
        assert_eq!(caller.audience(), Audience::User);
        let missing = Some(Scope::ConversationsAll);
        assert_eq!(caller.lacks_to_act_as_staff(), missing);
        caller.names_user = false;
        caller.user_id = Some("ada".to_owned());
        assert_eq!(caller.audience(), Audience::User);
        caller.scopes = [Scope::ConversationsAll].into_iter().collect();
        assert_eq!(caller.audience(), Audience::Staff);
    }

    #[test]
    fn a_chat_client_follows_only_its_own_turns_unless_it_can_read_conversations() {
        let (own, other) = (PrincipalId::new("key:1"), PrincipalId::new("key:2"));
        let mut caller = Principal {
            tenant: "default".parse().unwrap(),
            id: own.clone(),
            scopes: [Scope::ChatWrite].into_iter().collect(),
            user_id: None,
            agents: AgentReach::ALL,
            names_user: false,
        };
        assert!(caller.may_follow(&own));
        assert!(!caller.may_follow(&other));
        assert!(!caller.may_read_conversations());
        caller.user_id = Some("ada".to_owned());
        assert!(caller.may_read_conversations());
        assert!(caller.may_follow(&other));
        caller.scopes = [Scope::ConversationsAll].into_iter().collect();
        assert!(!caller.may_read_conversations());
        caller.scopes = [Scope::ConversationsRead].into_iter().collect();
        assert!(caller.may_read_conversations() && !caller.may_read_context());
        caller.user_id = None;
        assert!(caller.may_read_conversations() && caller.may_read_context());
        assert!(caller.may_follow(&other));
    }

    #[test]
    fn staff_reads_notes_about_others() {
        let mut caller = Principal {
            tenant: "default".parse().unwrap(),
            id: PrincipalId::new("key:1"),
            scopes: [Scope::ConversationsRead].into_iter().collect(),
            user_id: None,
            agents: AgentReach::ALL,
            names_user: false,
        };
        assert!(caller.may_read_notes(Some("ada")) && caller.may_read_notes(None));
        caller.names_user = true;
        assert!(!caller.may_read_notes(Some("ada")) && !caller.may_read_notes(None));
        caller.names_user = false;
        caller.user_id = Some("mia".to_owned());
        assert!(!caller.may_read_notes(Some("ada")) && !caller.may_read_notes(Some("mia")));
        caller.scopes = [Scope::ConversationsAll].into_iter().collect();
        assert!(caller.may_read_notes(Some("ada")) && caller.may_read_notes(None));
        assert!(!caller.may_read_notes(Some("mia")));
        caller.user_id = None;
        caller.scopes = [Scope::ChatWrite].into_iter().collect();
        assert!(!caller.may_read_notes(Some("ada")));
    }

    /// Versions that do not know the reach read no scopes.
    #[test]
    fn a_confined_principal_is_stored_without_scopes_that_earlier_versions_read() {
        let mut principal = Principal {
            tenant: "default".parse().unwrap(),
            id: PrincipalId::new("key:1"),
            scopes: [Scope::ChatWrite].into_iter().collect(),
            user_id: None,
            agents: AgentReach::ALL,
            names_user: false,
        };
        let stored = serde_json::to_value(&principal).unwrap();
        assert_eq!(stored["scopes"], serde_json::json!(["chat:write"]));
        assert_eq!(
            serde_json::from_value::<Principal>(stored).unwrap(),
            principal
        );
        principal.agents = AgentReach::only([AgentId::new(uuid::Uuid::from_u128(1))]);
        let stored = serde_json::to_value(&principal).unwrap();
        assert_eq!(stored["scopes"], serde_json::json!([]));
        assert_eq!(
            serde_json::from_value::<Principal>(stored).unwrap(),
            principal
        );
    }
}
