//! A conversation as a list of messages, with what a turn does to it.

use domain::{ConversationId, IdempotencyEntry, MessageId, Role};
use writes::{AnsweredMessage, BeginTurn, Reply, Supersession, TurnMessages};

use crate::log_client::ShownMessage;

/// The start of a turn. Numbers select one of the messages; without any, a new message is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start {
    Message,
    Edit(usize),
    Regenerate(usize),
    /// Repeats the last turn that has failed.
    Retry,
}

/// A conversation as a list of messages.
pub(crate) struct Model {
    pub(crate) id: ConversationId,
    pub(crate) messages: Vec<ShownMessage>,
    pub(crate) last_seq: i64,
    pub(crate) turn_count: i64,
    pub(crate) failed: Option<FailedTurn>,
}

/// The last turn that has failed and was not repeated since.
#[derive(Clone)]
pub(crate) struct FailedTurn {
    pub(crate) entry: IdempotencyEntry,
    pub(crate) message_id: MessageId,
    pub(crate) input: String,
}

impl Model {
    /// Returns the index of one of the messages that match.
    pub(crate) fn select(&self, number: usize, matches: impl Fn(usize) -> bool) -> Option<usize> {
        let indexes: Vec<_> = (0..self.messages.len()).filter(|at| matches(*at)).collect();
        (!indexes.is_empty()).then(|| indexes[number % indexes.len()])
    }

    fn is_of_user(&self, at: usize) -> bool {
        self.messages[at].role == Role::User
    }

    fn push(&mut self, role: Role, id: MessageId, content: &str, begin: &BeginTurn) {
        self.last_seq += 1;
        self.messages.push(ShownMessage {
            id,
            seq: self.last_seq,
            role,
            content: content.to_owned(),
            turn: Some(begin.turn_id),
        });
    }

    /// Removes the messages from an index on.
    fn supersede(&mut self, from: usize, answered: Option<AnsweredMessage>) -> Supersession {
        let from_seq = self.messages[from].seq;
        self.messages.truncate(from);
        Supersession {
            from_seq,
            kept: i64::try_from(from).expect("few messages"),
            answered,
        }
    }

    /// Applies the start of a turn, and adds to `begin` what depends on the messages.
    pub(crate) fn start(&mut self, start: Start, begin: &mut BeginTurn) {
        self.turn_count += 1;
        match start {
            Start::Edit(number) => {
                if let Some(at) = self.select(number, |at| self.is_of_user(at)) {
                    begin.supersession = Some(self.supersede(at, None));
                }
            }
            Start::Regenerate(number) => {
                let is_reply =
                    |at: usize| !self.is_of_user(at) && at > 0 && self.is_of_user(at - 1);
                if let Some(at) = self.select(number, is_reply) {
                    let message = &mut self.messages[at - 1];
                    message.turn = Some(begin.turn_id);
                    begin.input.clone_from(&message.content);
                    let (id, seq) = (message.id, message.seq);
                    let answered = Some(AnsweredMessage { id, seq });
                    begin.supersession = Some(self.supersede(at, answered));
                    return;
                }
            }
            Start::Retry => {
                if let Some(failed) = self.failed.take() {
                    begin.input = failed.input;
                    begin.idempotency = Some(failed.entry);
                    let newest = self.messages.last_mut();
                    if let Some(newest) = newest.filter(|newest| newest.id == failed.message_id) {
                        newest.turn = Some(begin.turn_id);
                        return;
                    }
                }
            }
            Start::Message => {}
        }
        self.push(Role::User, begin.message_id, &begin.input, begin);
    }

    pub(crate) fn reply(&mut self, begin: &BeginTurn, reply: &Reply) {
        self.push(Role::Agent, reply.message_id, &reply.content, begin);
    }

    /// Asserts that a turn has the messages that the model expects after its start.
    pub(crate) fn assert_place(&self, messages: &TurnMessages) {
        let newest = self.messages.last().expect("a message");
        let expected = AnsweredMessage {
            id: newest.id,
            seq: newest.seq,
        };
        assert_eq!(messages.message, expected);
        assert_eq!(messages.reply_seq, self.last_seq + 1);
        assert_eq!(messages.turn_number, self.turn_count - 1);
    }
}
