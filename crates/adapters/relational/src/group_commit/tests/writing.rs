//! Writes to a model, of every kind.

use domain::{Agent, Conversation, TurnStatus};
use ports::{
    AnsweredMessage, BeginOutcome, BeginTurn, CompletedTurn, FinishOutcome, FirstMessages,
    ForkedMessages, Supersession, TurnEnding,
};

use super::{model::ModelStore, *};
use crate::{
    CreateAgent, CreateConversation, CreateCredential, DeleteConversation, RevokeCredential,
    UpdateAgent, UpdateConversation,
};

/// A writer on a model with agent 1 and node 1.
pub(super) struct Writing {
    pub(super) group: GroupCommit,
    pub(super) model: ModelStore,
    pub(super) agent: Agent,
    pub(super) last_number: u32,
}

impl Writing {
    pub(super) fn start() -> Self {
        let model = ModelStore::default();
        let agent = fixture::agent(1);
        let key = (fixture::tenant(), agent.id);
        model.0.lock().agents.insert(key, agent.version);
        let timeouts = WriteTimeouts::default();
        Self {
            group: GroupCommit::start(
                model.clone(),
                timeouts,
                &TaskTracker::new(),
                &Handle::current(),
            ),
            model,
            agent,
            last_number: 100,
        }
    }

    /// A turn in a conversation, which it creates if it does not exist.
    pub(super) fn begin(&mut self, conversation: u32) -> BeginTurn {
        // The names of conversations 1 and 1001 are equal.
        let name = format!("key-{}", conversation % 1_000);
        let conversation = fixture::conversation(conversation, self.agent.id);
        let conversation = fixture::named(conversation, &name);
        let key = (fixture::tenant(), conversation.id);
        let target = match self.model.0.lock().conversations.get(&key) {
            Some(stored) => fixture::existing(&conversation, stored.turn_count),
            None => ConversationTarget::New(conversation),
        };
        self.last_number += 1;
        fixture::begin_turn(self.last_number, &self.agent, target)
    }

    /// The `seq` of each message of a conversation that is not superseded.
    fn visible_seqs(&self, conversation: u32) -> Vec<i64> {
        let key = (fixture::tenant(), fixture::conversation_id(conversation));
        let tables = self.model.0.lock();
        let messages = tables.messages.get(&key).into_iter().flatten();
        let visible = messages.filter(|(_, is_superseded)| !**is_superseded);
        visible.map(|(seq, _)| *seq).collect()
    }

    /// A turn that replaces messages, of which `choice` selects the first. It may answer the message
    /// before them again. Without messages, it replaces none.
    pub(super) fn superseding(&mut self, conversation: u32, choice: usize) -> WriteOp {
        let visible = self.visible_seqs(conversation);
        let mut begin = self.begin(conversation);
        if !visible.is_empty() {
            let at = choice % visible.len();
            let answered = (at > 0 && choice.is_multiple_of(2)).then(|| AnsweredMessage {
                id: fixture::message_id(1),
                seq: visible[at - 1],
            });
            begin.supersession = Some(Supersession {
                from_seq: visible[at],
                kept: i64::try_from(at).unwrap(),
                answered,
            });
        }
        if choice.is_multiple_of(3) {
            return self.completed(begin);
        }
        WriteOp::Begin(Box::new(begin))
    }

    pub(super) fn completed(&self, begin: BeginTurn) -> WriteOp {
        WriteOp::CompletedTurn(Box::new(CompletedTurn {
            reply: fixture::reply(self.last_number),
            finished_at: fixture::at(i64::from(self.last_number)),
            begin,
        }))
    }

    /// The creation of a conversation with copies of messages, of which `choice` selects the last.
    pub(super) fn fork(&mut self, conversation: u32, choice: usize) -> WriteOp {
        let key = (fixture::tenant(), fixture::conversation_id(conversation));
        let original = self.model.0.lock().conversations.get(&key).cloned();
        let visible = self.visible_seqs(conversation);
        let (Some(original), false) = (original, visible.is_empty()) else {
            return self.create_conversation();
        };
        let at = choice % visible.len();
        self.last_number += 1;
        WriteOp::CreateConversation(Box::new(CreateConversation {
            tenant: fixture::tenant(),
            conversation: Conversation {
                message_count: i64::try_from(at + 1).unwrap(),
                ..fixture::conversation(self.last_number, self.agent.id)
            },
            first_messages: FirstMessages::Forked(ForkedMessages {
                from: key.1,
                turn_count: original.turn_count,
                to_seq: visible[at],
            }),
            stamp: fixture::stamp(1),
            idempotency: None,
        }))
    }

    /// True if the write begins a conversation with the name of another one.
    pub(super) fn uses_used_name(&self, op: &WriteOp) -> bool {
        let name = op.new_name().map(|name| (fixture::tenant(), name));
        name.is_some_and(|name| self.model.0.lock().named.contains_key(&name))
    }

    pub(super) async fn started(&mut self, conversation: u32) -> BeginTurn {
        let begin = self.begin(conversation);
        let outcome = self.group.submit(WriteOp::Begin(Box::new(begin.clone())));
        let outcome = outcome.await.unwrap();
        assert!(matches!(
            outcome,
            WriteOutcome::Begin(BeginOutcome::Started { .. })
        ));
        begin
    }

    pub(super) async fn finished(&self, begin: &BeginTurn) {
        let ending = TurnEnding::Completed(fixture::reply(self.last_number));
        let finish = fixture::finish(begin, ending);
        let outcome = self.group.submit(WriteOp::Finish(Box::new(finish))).await;
        assert!(matches!(
            outcome,
            Ok(WriteOutcome::Finish(FinishOutcome::Finished { .. }))
        ));
    }

    /// The creation of an agent.
    pub(super) fn create_agent(&mut self) -> WriteOp {
        self.last_number += 1;
        WriteOp::CreateAgent(Box::new(CreateAgent {
            tenant: fixture::tenant(),
            agent: fixture::agent(self.last_number),
            stamp: fixture::stamp(1),
            idempotency: None,
        }))
    }

    /// The update of the agent to its next version.
    pub(super) fn update_agent(&mut self) -> WriteOp {
        self.agent.version += 1;
        WriteOp::UpdateAgent(Box::new(UpdateAgent {
            tenant: fixture::tenant(),
            agent: self.agent.clone(),
            stamp: fixture::stamp(1),
        }))
    }

    /// The creation of a conversation.
    pub(super) fn create_conversation(&mut self) -> WriteOp {
        self.last_number += 1;
        WriteOp::CreateConversation(Box::new(CreateConversation {
            tenant: fixture::tenant(),
            conversation: fixture::conversation(self.last_number, self.agent.id),
            first_messages: FirstMessages::None,
            stamp: fixture::stamp(1),
            idempotency: None,
        }))
    }

    /// The update of a conversation to its next version, if it exists.
    pub(super) fn update_conversation(&self, number: u32) -> Option<WriteOp> {
        let conversation = fixture::conversation(number, self.agent.id);
        let key = (fixture::tenant(), conversation.id);
        let version = self.model.0.lock().conversations.get(&key)?.version;
        Some(WriteOp::UpdateConversation(Box::new(UpdateConversation {
            tenant: fixture::tenant(),
            conversation: Conversation {
                version: version + 1,
                ..conversation
            },
            stamp: fixture::stamp(1),
        })))
    }

    /// One of six changes.
    pub(super) fn change(&mut self, change: u64, conversation: u32, key: u64) -> WriteOp {
        match change {
            0 => self.create_agent(),
            1 => self.update_agent(),
            2 => match self.update_conversation(conversation) {
                Some(update) => update,
                None => self.create_conversation(),
            },
            3 => delete_conversation(conversation),
            4 => self.create_key(),
            _ => revoke_key(101 + u32::try_from(key).unwrap()),
        }
    }

    /// The creation of a key.
    pub(super) fn create_key(&mut self) -> WriteOp {
        self.last_number += 1;
        WriteOp::CreateCredential(Box::new(CreateCredential {
            credential: fixture::key(self.last_number),
            idempotency: None,
        }))
    }

    /// The batches with read facts, with known facts, and with outdated ones.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let tables = self.model.0.lock();
        (tables.read, tables.known, tables.outdated)
    }

    /// A change by another process.
    pub(super) fn raise_head(&self) {
        let mut tables = self.model.0.lock();
        let head = tables.heads.entry(fixture::tenant()).or_default();
        *head = head.plus(1);
    }

    /// The running turn of a conversation.
    pub(super) fn running(&self, conversation: u32) -> Option<BeginTurn> {
        let tables = self.model.0.lock();
        let id = fixture::conversation_id(conversation);
        let mut rows = tables.turns.values();
        let row = rows.find(|row| {
            row.turn.conversation_id == id && row.turn.status == TurnStatus::InProgress
        })?;
        let target = ConversationTarget::Existing { id, turn_count: 0 };
        Some(BeginTurn {
            turn_id: row.turn.id,
            ..fixture::begin_turn(0, &self.agent, target)
        })
    }
}

/// The deletion of a conversation.
pub(super) fn delete_conversation(number: u32) -> WriteOp {
    WriteOp::DeleteConversation(Box::new(DeleteConversation {
        tenant: fixture::tenant(),
        id: fixture::conversation_id(number),
        expected: None,
        stamp: fixture::stamp(1),
    }))
}

/// The revocation of a key.
pub(super) fn revoke_key(number: u32) -> WriteOp {
    let key = fixture::key(number);
    WriteOp::RevokeCredential(Box::new(RevokeCredential {
        tenant: key.tenant,
        kind: key.kind,
        id: key.id,
        at: fixture::at(1),
    }))
}
