//! Writes to a model, of every kind.

use domain::{Agent, Conversation, TurnId, TurnStatus, TurnStep};
use ports::{FirstMessages, ForkedMessages};

use super::{any_command::AnyCommand, model::ModelStore, *};
use crate::{
    AnsweredMessage, BeginOutcome, FinishOutcome, Part, Supersession, TurnEnding,
    commands::CreateConversation, queued::Queued,
};

/// A writer on a model with agent 1 and node 1.
pub(super) struct Writing {
    pub(super) writer: Writer,
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
        Self {
            writer: Writer {
                store: Arc::new(model.clone()),
                known_facts: KnownFacts::default(),
                timeouts: WriteTimeouts::default(),
                closing: CancellationToken::new(),
            },
            model,
            agent,
            last_number: 100,
        }
    }

    /// Commits a command. Afterwards, the facts that the writer knows are those of the model.
    pub(super) async fn write<C: Command>(
        &mut self,
        command: C,
    ) -> Result<C::Outcome, RepositoryError> {
        let (queued, mut outcome) = Queued::new(command);
        let queued: Arc<dyn AnyQueued> = Arc::new(queued);
        self.writer.complete([queued].into()).await;
        self.check_known_facts();
        outcome.try_recv().unwrap()
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

    /// A turn that supersedes messages, of which `choice` selects the first. It may answer the message
    /// before them again. Without messages, it supersedes none.
    pub(super) fn superseding(&mut self, conversation: u32, choice: usize) -> AnyCommand {
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
            return AnyCommand::new(self.completed(begin));
        }
        AnyCommand::new(begin)
    }

    pub(super) fn completed(&self, begin: BeginTurn) -> CompletedTurn {
        CompletedTurn {
            reply: fixture::reply(self.last_number),
            finished_at: fixture::at(i64::from(self.last_number)),
            begin,
        }
    }

    /// The creation of a conversation with copies of messages, of which `choice` selects the last.
    pub(super) fn fork(&mut self, conversation: u32, choice: usize) -> CreateConversation {
        let key = (fixture::tenant(), fixture::conversation_id(conversation));
        let original = self.model.0.lock().conversations.get(&key).cloned();
        let visible = self.visible_seqs(conversation);
        let (Some(original), false) = (original, visible.is_empty()) else {
            return self.create_conversation();
        };
        let at = choice % visible.len();
        self.last_number += 1;
        CreateConversation {
            tenant: fixture::tenant(),
            conversation: Conversation {
                message_count: i64::try_from(at + 1).unwrap(),
                ..fixture::conversation(self.last_number, self.agent.id)
            },
            first_messages: FirstMessages::Forked(ForkedMessages {
                from: key.1,
                turn_count: original.turn_count,
                to_seq: visible[at],
                of_staff: 0,
                counts: None,
            }),
            stamp: fixture::stamp(1),
            idempotency: None,
        }
    }

    /// True if the command begins a conversation with the name of another one.
    pub(super) fn uses_used_name(&self, command: &AnyCommand) -> bool {
        let tables = self.model.0.lock();
        command.scope().parts.into_iter().any(|part| match part {
            Part::Name(name) => tables.named.contains_key(&(fixture::tenant(), name)),
            Part::Conversation(_)
            | Part::Agent(_)
            | Part::User(_)
            | Part::Credential(_)
            | Part::File(_)
            | Part::Uploads(_)
            | Part::Key(_) => false,
        })
    }

    pub(super) async fn started(&mut self, conversation: u32) -> BeginTurn {
        let begin = self.begin(conversation);
        let outcome = self.write(begin.clone()).await.unwrap();
        assert!(matches!(outcome, BeginOutcome::Started { .. }));
        begin
    }

    pub(super) async fn finished(&mut self, begin: &BeginTurn) {
        let ending = TurnEnding::Completed(fixture::reply(self.last_number));
        let outcome = self.write(fixture::finish(begin, ending)).await;
        assert!(matches!(outcome, Ok(FinishOutcome::Finished { .. })));
    }

    /// The batches with read facts, with known facts, and with outdated ones.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let tables = self.model.0.lock();
        (tables.read, tables.known, tables.outdated)
    }

    /// The entries of the journal of a turn.
    pub(super) fn journal(&self, turn: TurnId) -> Vec<TurnStep> {
        let tables = self.model.0.lock();
        let journal = tables.journals.get(&(fixture::tenant(), turn));
        let entries = journal.into_iter().flatten();
        entries.map(|(_, step)| step.clone()).collect()
    }

    /// A change by another process.
    pub(super) fn raise_head(&self) {
        let mut tables = self.model.0.lock();
        let head = tables.heads.entry(fixture::tenant()).or_default();
        *head = head.plus(1);
    }

    /// A sweep by another process with the same node: it gives all turns without a node to it.
    pub(super) fn resume_unowned_turns(&self) {
        let mut tables = self.model.0.lock();
        for row in tables.turns.values_mut() {
            if row.turn.status == TurnStatus::InProgress {
                row.node = Some(fixture::node_id(1));
            }
        }
        drop(tables);
        self.raise_head();
    }

    /// The queued turns of a conversation.
    pub(super) fn waiting(&self, conversation: u32) -> Vec<TurnId> {
        let tables = self.model.0.lock();
        let id = fixture::conversation_id(conversation);
        let rows = tables.turns.values();
        let waiting = rows
            .filter(|row| row.turn.conversation_id == id && row.turn.status == TurnStatus::Queued);
        waiting.map(|row| row.turn.id).collect()
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
