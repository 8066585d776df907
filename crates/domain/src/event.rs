//! The event log: every change is one event, numbered without gaps in each tenant.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{
    AgentId, ConversationId, EventData, EventType, PrincipalId, TenantId, Timestamp, TurnId,
    event_data::{ConversationMove, Tombstone},
};

/// A position in a tenant's log: 1, 2, 3 …, in the order of commits. 0 is before all events.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Seq(pub i64);

impl Seq {
    /// Returns the position `count` after this one.
    #[must_use]
    pub const fn plus(self, count: i64) -> Self {
        Self(self.0.saturating_add(count))
    }
}

/// The record of one change, as clients receive it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The event's position in the tenant's log.
    pub seq: Seq,
    /// The event's id; the same in every copy of it.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub id: Uuid,
    /// The kind of change.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// The time of the change.
    pub time: Timestamp,
    /// The tenant of the change.
    pub tenant_id: TenantId,
    /// The agent that the event concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub agent_id: Option<AgentId>,
    /// The conversation that the event concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub conversation_id: Option<ConversationId>,
    /// The user that the conversation belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub user_id: Option<String>,
    /// The turn that the event concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub turn_id: Option<TurnId>,
    /// The principal that made the change. To users, all but themselves, `system` and `service` are `staff`.
    pub actor: PrincipalId,
    /// The state after the change.
    pub data: EventData,
}

impl Event {
    /// Returns whether readers who may not see all of it may see less.
    pub fn may_be_reduced(&self) -> bool {
        self.data.may_be_reduced() || self.actor.shown_to(self.user_id.as_deref()) != self.actor
    }

    /// Returns the event as readers see it who may not see all of it; `None` if they see the same.
    pub fn reduced(&self) -> Option<Self> {
        let data = self.data.reduced();
        let actor = self.actor.shown_to(self.user_id.as_deref());
        if data.is_none() && actor == self.actor {
            return None;
        }
        let mut shown = self.clone();
        shown.actor = actor;
        if let Some(data) = data {
            shown.data = data;
        }
        Some(shown)
    }

    /// Returns the event as the user sees it who has lost the conversation by it: as a deletion.
    #[must_use]
    pub fn lost(&self, moved: &ConversationMove) -> Self {
        let tombstone = |id| EventData::ConversationDeleted {
            conversation: Tombstone::new(id, moved.version),
        };
        Self {
            seq: self.seq,
            id: self.id,
            kind: EventType::ConversationDeleted,
            time: self.time,
            tenant_id: self.tenant_id.clone(),
            agent_id: self.agent_id,
            conversation_id: self.conversation_id,
            user_id: moved.from.clone(),
            turn_id: None,
            actor: self.actor.shown_to(moved.from.as_deref()),
            data: self.conversation_id.map_or(EventData::DELETED, tombstone),
        }
    }
}

/// Computes the id of the event at `seq`: a UUIDv7 derived from the position, so that it is the
/// same wherever it is computed and need not be stored.
pub fn event_id(tenant: &TenantId, seq: Seq, time: Timestamp) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(tenant.as_str());
    hash.update([0]);
    hash.update(seq.0.to_be_bytes());
    let mut random = [0; 10];
    random.copy_from_slice(&hash.finalize()[..10]);
    let milliseconds = u64::try_from(time.milliseconds()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_shown_their_own_id_and_no_other() {
        let shown = |actor: &str, user: Option<&str>| {
            let shown = PrincipalId::new(actor).shown_to(user);
            shown.as_str().to_owned()
        };
        for (actor, user, expected) in [
            ("user:ada", Some("ada"), "user:ada"),
            ("main~ada", Some("main~ada"), "main~ada"),
            ("system", Some("ada"), "system"),
            ("service", Some("ada"), "service"),
            ("user:eve", Some("ada"), "staff"),
            ("key:1", Some("1"), "staff"),
            ("key:1", None, "staff"),
        ] {
            assert_eq!(shown(actor, user), expected, "{actor} to {user:?}");
        }
    }

    #[test]
    fn the_id_of_an_event_is_derived_from_its_position() {
        let tenant: TenantId = "default".parse().unwrap();
        let time = Timestamp::from_milliseconds(1_795_167_000_020);
        let id = event_id(&tenant, Seq(7), time);
        assert_eq!(id, event_id(&tenant, Seq(7), time));
        assert_ne!(id, event_id(&tenant, Seq(8), time));
        assert_eq!(id.get_version_num(), 7);
    }
}
