//! Changes of every kind.

use std::collections::BTreeMap;

use domain::{AgentReach, Conversation, NodeId, TurnId, TurnStep, handover};
use ports::FirstMessages;
use serde_json::json;

use super::{any_command::AnyCommand, writing::Writing, *};
use crate::commands::{
    CancelTurn, CreateAgent, CreateConversation, CreateCredential, DeleteConversation,
    FailQueuedTurn, RecordSteps, ReleaseTurn, RevokeCredential, UpdateAgent, UpdateConversation,
    UpdateCredential,
};

impl Writing {
    /// The creation of an agent.
    pub(super) fn create_agent(&mut self) -> CreateAgent {
        self.last_number += 1;
        CreateAgent {
            tenant: fixture::tenant(),
            agent: fixture::agent(self.last_number),
            stamp: fixture::stamp(1),
            idempotency: None,
        }
    }

    /// The update of the agent to its next version.
    pub(super) fn update_agent(&mut self) -> UpdateAgent {
        self.agent.version += 1;
        UpdateAgent {
            tenant: fixture::tenant(),
            agent: self.agent.clone(),
            stamp: fixture::stamp(1),
        }
    }

    /// The creation of a conversation.
    pub(super) fn create_conversation(&mut self) -> CreateConversation {
        self.last_number += 1;
        CreateConversation {
            tenant: fixture::tenant(),
            conversation: fixture::conversation(self.last_number, self.agent.id),
            first_messages: FirstMessages::None,
            stamp: fixture::stamp(1),
            idempotency: None,
        }
    }

    /// The update of a conversation to its next version, if it exists. Every second one moves it to another
    /// user.
    pub(super) fn update_conversation(&self, number: u32) -> Option<UpdateConversation> {
        let conversation = fixture::conversation(number, self.agent.id);
        let (tenant, id) = (fixture::tenant(), conversation.id);
        let tables = self.model.0.lock();
        let stored = tables.conversations.get(&(tenant.clone(), id))?;
        let mut names = tables.named.iter();
        let name = names.find(|(_, named)| **named == id);
        let users = ["ada", "bob"].map(|user| Some(user.to_owned()));
        let [one, other] = users;
        let is_moved = stored.version % 2 == 1;
        let is_of_one = stored.user_id == one;
        Some(UpdateConversation {
            conversation: Conversation {
                user_id: if is_of_one == is_moved { other } else { one },
                key: name.map(|((_, name), _)| name.key.clone()),
                version: stored.version + 1,
                ..conversation
            },
            stamp: fixture::stamp(1),
            tenant,
        })
    }

    /// One of seven changes.
    pub(super) fn change(&mut self, change: u64, conversation: u32, key: u64) -> AnyCommand {
        match change {
            0 => AnyCommand::new(self.create_agent()),
            1 => AnyCommand::new(self.update_agent()),
            2 => match self.update_conversation(conversation) {
                Some(update) => AnyCommand::new(update),
                None => AnyCommand::new(self.create_conversation()),
            },
            3 => AnyCommand::new(delete_conversation(conversation)),
            4 => AnyCommand::new(self.create_key()),
            5 => AnyCommand::new(revoke_key(101 + u32::try_from(key).unwrap())),
            _ => {
                self.last_number += 1;
                let key = 101 + u32::try_from(key).unwrap();
                AnyCommand::new(update_key(key, i64::from(self.last_number)))
            }
        }
    }

    /// The begin of a tool call in the journal of a turn of node 1, or its end if it has begun.
    pub(super) fn record_step(&self, conversation: u32, turn_id: TurnId) -> RecordSteps {
        let key = (fixture::tenant(), turn_id);
        let tables = self.model.0.lock();
        let entries = tables.journals.get(&key).map_or(0, BTreeMap::len);
        let last = tables
            .journals
            .get(&key)
            .and_then(|journal| journal.last_key_value());
        let open = last.filter(|(_, step)| !step.has_ended());
        let mut call = fixture::tool_step("call");
        if conversation == 2 {
            handover::TOOL.clone_into(&mut call.name);
        }
        let (begun, ended) = if let Some((number, _)) = open {
            call.end = Some(fixture::tool_end());
            (Vec::new(), vec![(*number, TurnStep::Tool(call))])
        } else {
            (vec![(entries, TurnStep::Tool(call))], Vec::new())
        };
        RecordSteps {
            tenant: key.0,
            turn_id,
            conversation_id: fixture::conversation_id(conversation),
            node: fixture::node_id(1),
            begun,
            changed: ended,
            stamp: fixture::stamp(1),
        }
    }

    /// The creation of a key.
    pub(super) fn create_key(&mut self) -> CreateCredential {
        self.last_number += 1;
        CreateCredential {
            credential: fixture::key(self.last_number),
            idempotency: None,
        }
    }
}

/// The deletion of a conversation.
pub(super) fn delete_conversation(number: u32) -> DeleteConversation {
    DeleteConversation {
        tenant: fixture::tenant(),
        id: fixture::conversation_id(number),
        expected: None,
        only_of: None,
        is_erasure: false,
        idle_since_before: None,
        stamp: fixture::stamp(1),
    }
}

/// The cancellation of a turn of a conversation. With `node`, the next queued turn starts.
pub(super) fn cancel(conversation: u32, turn_id: TurnId, node: Option<NodeId>) -> CancelTurn {
    CancelTurn {
        reasoning: None,
        tenant: fixture::tenant(),
        turn_id,
        conversation_id: fixture::conversation_id(conversation),
        partial: None,
        node,
        stamp: fixture::stamp(1),
    }
}

/// The end of the ownership of a turn by node 1.
pub(super) fn release(conversation: u32, turn_id: TurnId) -> ReleaseTurn {
    ReleaseTurn {
        tenant: fixture::tenant(),
        turn_id,
        conversation_id: fixture::conversation_id(conversation),
        node: fixture::node_id(1),
        was_lost: false,
    }
}

/// The failure of a queued turn of a conversation.
pub(super) fn fail_queued(conversation: u32, turn_id: TurnId) -> FailQueuedTurn {
    FailQueuedTurn {
        tenant: fixture::tenant(),
        turn_id,
        conversation_id: fixture::conversation_id(conversation),
        problem: fixture::lasting_problem(),
        time: fixture::at(1),
    }
}

/// The change of a key's expiry.
pub(super) fn update_key(number: u32, expires_at: i64) -> UpdateCredential {
    let key = fixture::key(number);
    UpdateCredential {
        tenant: key.tenant,
        kind: key.kind,
        id: key.id,
        reach: AgentReach::ALL,
        patch: json!({"expiresAt": fixture::at(expires_at)}),
    }
}

/// The revocation of a key.
pub(super) fn revoke_key(number: u32) -> RevokeCredential {
    let key = fixture::key(number);
    RevokeCredential {
        tenant: key.tenant,
        kind: key.kind,
        id: key.id,
        at: fixture::at(1),
    }
}
