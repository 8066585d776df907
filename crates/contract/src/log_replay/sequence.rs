//! The execution of a sequence of steps, and its comparison with a model.

use domain::{Agent, Conversation, ConversationId, ForkOrigin, TenantId, conversation::excerpt};
use ports::{FirstMessages, ForkedMessages, ListingOrder, MessageQuery};
use writes::{
    BeginOutcome, BeginTurn, CompletedTurn, ConversationTarget, RecordTurnOutcome, Reply,
    TurnEnding,
};

use super::{End, Step};
use crate::{
    Store, fixture,
    log_client::{LogClient, ShownMessage, copy},
    message_model::{FailedTurn, Model, Start},
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// One sequence of steps, in a tenant of its own.
pub(super) struct Sequence<'s> {
    storage: &'s Store,
    tenant: TenantId,
    agent: Agent,
    conversations: Vec<Model>,
    current: usize,
    last_turn: u32,
    pub(super) client: LogClient,
}

impl<'s> Sequence<'s> {
    /// Creates a conversation with a greeting.
    pub(super) async fn create(storage: &'s Store, number: u32) -> Self {
        let tenant = setup::tenant_named(storage, &format!("sequence-{number}")).await;
        let agent = setup::insert_agent_in(storage, &tenant, fixture::agent(1)).await;
        let conversation = fixture::conversation(1, agent.id);
        let (conversation, greeting) = fixture::greeted(conversation, "Welcome!");
        let messages = vec![ShownMessage::from(&greeting)];
        let mut sequence = Self {
            storage,
            tenant,
            agent,
            conversations: Vec::new(),
            current: 0,
            last_turn: 0,
            client: LogClient::default(),
        };
        let first = FirstMessages::Greeting(greeting);
        sequence.insert(&conversation, &first, messages).await;
        sequence
    }

    async fn insert(
        &mut self,
        conversation: &Conversation,
        first: &FirstMessages,
        messages: Vec<ShownMessage>,
    ) {
        let (stamp, conversations) = (fixture::stamp(0), &self.storage.conversations);
        let result = conversations.insert(&self.tenant, conversation, first, &stamp, None);
        result.await.applied().expect("the agent exists");
        self.conversations.push(Model {
            id: conversation.id,
            last_seq: conversation.message_count,
            messages,
            turn_count: 0,
            failed: None,
        });
    }

    fn model(&mut self) -> &mut Model {
        &mut self.conversations[self.current]
    }

    pub(super) async fn run(&mut self, step: Step) {
        match step {
            Step::Turn(start, end) => self.turn(start, end).await,
            Step::Fork {
                message,
                is_entered,
            } => {
                self.fork(message).await;
                if is_entered {
                    self.current = self.conversations.len() - 1;
                }
            }
        }
    }

    async fn fork(&mut self, number: usize) {
        let original = &self.conversations[self.current];
        let at = original.select(number, |_| true);
        let at = at.expect("every conversation begins with a greeting or a message");
        let copied = copy(&original.messages[..=at]);
        let last = &original.messages[at];
        let fork = u32::try_from(self.conversations.len() + 1).expect("few conversations");
        let conversation = Conversation {
            message_count: i64::try_from(copied.len()).expect("few messages"),
            excerpt: Some(excerpt(&last.content, &[])),
            forked_from: Some(ForkOrigin {
                conversation_id: original.id,
                message_id: Some(last.id),
                unknown: fixture::unknown_members(),
            }),
            ..fixture::conversation(fork, self.agent.id)
        };
        let first = FirstMessages::Forked(ForkedMessages {
            from: original.id,
            turn_count: original.turn_count,
            to_seq: last.seq,
            of_staff: 0,
            counts: None,
        });
        self.insert(&conversation, &first, copied).await;
    }

    /// A turn that begins with a new message.
    fn begin(&mut self) -> BeginTurn {
        self.last_turn += 1;
        let number = self.last_turn;
        let Model { id, turn_count, .. } = self.conversations[self.current];
        let target = ConversationTarget::Existing { id, turn_count };
        BeginTurn {
            tenant: self.tenant.clone(),
            idempotency: Some(fixture::entry(&format!("key-{number}"))),
            ..fixture::begin_turn(number, &self.agent, target)
        }
    }

    async fn turn(&mut self, start: Start, end: End) {
        let mut begin = self.begin();
        let reply = fixture::reply(self.last_turn);
        self.model().start(start, &mut begin);
        if end == End::Recorded {
            return self.record(begin, reply).await;
        }
        let outcome = self.storage.turns.begin_turn(begin.clone()).await;
        match outcome.success() {
            BeginOutcome::Started { messages, .. } => self.model().assert_place(&messages),
            other => panic!("not started: {other:?}"),
        }
        match end {
            End::Recorded | End::Completed => self.complete(&begin, &reply).await,
            End::CompletedBeforeAnother => {
                let next = self.begin();
                let next_reply = fixture::reply(self.last_turn);
                setup::queue_turn(self.storage, &next).await;
                self.complete(&begin, &reply).await;
                self.model().start(Start::Message, &mut next.clone());
                self.complete(&next, &next_reply).await;
            }
            End::Failed => {
                setup::fail_turn(self.storage, &begin).await;
                let message_id = self.model().messages.last().expect("a message").id;
                self.model().failed = Some(FailedTurn {
                    entry: begin.idempotency.expect("the turn has an entry"),
                    message_id,
                    input: begin.input,
                });
            }
            End::Cancelled { has_partial_reply } => {
                let partial = has_partial_reply.then_some(reply);
                if let Some(partial) = &partial {
                    self.model().reply(&begin, partial);
                }
                let (tenant, stamp) = (&begin.tenant, fixture::stamp(900));
                let turns = &self.storage.turns;
                let result = turns.cancel_turn(tenant, begin.turn_id, partial, None, &stamp);
                result.await.success();
            }
        }
    }

    async fn record(&mut self, begin: BeginTurn, reply: Reply) {
        let turn = CompletedTurn {
            finished_at: begin.stamp.time,
            reply: reply.clone(),
            begin: begin.clone(),
        };
        let outcome = self.storage.turns.record_completed_turn(turn).await;
        match outcome.success() {
            RecordTurnOutcome::Recorded { messages, .. } => self.model().assert_place(&messages),
            other => panic!("not recorded: {other:?}"),
        }
        self.model().reply(&begin, &reply);
    }

    async fn complete(&mut self, begin: &BeginTurn, reply: &Reply) {
        let ending = TurnEnding::Completed(reply.clone());
        setup::finish_turn(self.storage, fixture::finish(begin, ending)).await;
        self.model().reply(begin, reply);
    }

    /// Compares the store and the client with the model.
    pub(super) async fn check(&mut self) {
        self.client.read(self.storage, &self.tenant).await;
        for model in &self.conversations {
            assert_eq!(self.stored(model.id).await, model.messages, "in the store");
            assert_eq!(self.client.messages(model.id), model.messages, "in the log");
            let conversations = &self.storage.conversations;
            let found = conversations.find(&self.tenant, model.id).await.success();
            let found = found.value.expect("the conversation exists").item;
            assert_eq!(found.message_count, count(&model.messages));
            let newest = model
                .messages
                .last()
                .map(|newest| excerpt(&newest.content, &[]));
            assert_eq!(found.excerpt, newest);
        }
    }

    async fn stored(&self, id: ConversationId) -> Vec<ShownMessage> {
        let query = MessageQuery {
            order: ListingOrder::Ascending,
            after: None,
            limit: 10_000,
            with_superseded: false,
        };
        let conversations = &self.storage.conversations;
        let page = conversations.messages(&self.tenant, id, &query).await;
        let page = page.success().value.expect("the conversation exists");
        page.items.iter().map(ShownMessage::from).collect()
    }
}

fn count(messages: &[ShownMessage]) -> i64 {
    i64::try_from(messages.len()).expect("few messages")
}
