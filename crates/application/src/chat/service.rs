//! The use case itself: from a message to the turn that answers it.

use std::{sync::Arc, time::Duration};

use domain::{
    ConversationId, IdempotencyClaim, IdempotencyKey, IdempotencyRecord, MessageId, Principal,
    ProblemCode, Stamp, TurnId,
};
use ports::RepositoryError;

use super::{
    answering::{Met, begin, exchange},
    asked::Asked,
    command::ChatCommand,
    error::ChatError,
    followed::FollowedTurn,
    lanes::{LaneGuard, Lanes},
    place::{Place, Question, Resumption, place},
    runner::TurnRunner,
};
use crate::{IdempotencyRefused, idempotency};

/// How often a turn is computed again when others keep changing what it was computed from.
pub(super) const ATTEMPTS: usize = 20;

/// How long a turn may wait for the one before it.
pub const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// The operation that a chat's idempotency key belongs to, on REST and on the socket.
const OPERATION: &str = "chat";

/// Chat: a message goes in, a turn is stored, the agent's reply comes out.
pub struct ChatService {
    runner: Arc<TurnRunner>,
    lanes: Lanes,
}

impl ChatService {
    /// A service whose turns `runner` runs.
    pub fn new(runner: Arc<TurnRunner>) -> Self {
        Self {
            runner,
            lanes: Lanes::default(),
        }
    }

    /// Takes a message. Once this has answered, the turn is stored, and goes on whether or not
    /// anybody waits for it.
    pub async fn ask(
        &self,
        caller: &Principal,
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> Result<Asked, ChatError> {
        command.check().map_err(ChatError::Invalid)?;
        let mut question = self.question(caller, command, key);
        for _ in 0..ATTEMPTS {
            let record = match self.meet(&mut question).await {
                Ok(Met::Asked(asked)) => return Ok(asked),
                Ok(Met::Repeated(record)) => record,
                Err(ChatError::ConversationNotFound)
                    if question.resumption.is_in_conversation() =>
                {
                    // The conversation of the key's failed turn has been deleted since.
                    Arc::make_mut(&mut question).resumption = Resumption::Anew;
                    continue;
                }
                Err(error) => match self.used_before(&question, &error).await? {
                    Some(record) => record,
                    None => return Err(error),
                },
            };
            match repetition(question.claim.as_ref(), &record)? {
                Repetition::Of(turn) => return self.replay(caller, turn).await,
                Repetition::GoesOnIn(conversation) => {
                    let question = Arc::make_mut(&mut question);
                    question.resumption = Resumption::In(conversation);
                }
            }
        }
        Err(ChatError::Busy)
    }

    fn question(
        &self,
        caller: &Principal,
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> Arc<Question> {
        let ports = &self.runner.ports;
        let now = ports.clock.now();
        Arc::new(Question {
            caller: caller.clone(),
            claim: idempotency::claim(caller, OPERATION, key, &command, now),
            stamp: Stamp {
                time: now,
                actor: caller.id.clone(),
            },
            turn_id: TurnId::new(ports.ids.next_id()),
            message_id: MessageId::new(ports.ids.next_id()),
            new_conversation: ConversationId::new(ports.ids.next_id()),
            resumption: Resumption::None,
            command,
        })
    }

    /// What the key was used for of a request that was refused before the write could judge it.
    async fn used_before(
        &self,
        question: &Question,
        error: &ChatError,
    ) -> Result<Option<IdempotencyRecord>, RepositoryError> {
        let Some(claim) = question.claim.as_ref().filter(|_| error.is_early()) else {
            return Ok(None);
        };
        let tenant = &question.caller.tenant;
        let record = self.runner.ports.claims.find(tenant, claim).await?;
        Ok(record.filter(|record| record.released_into.is_none()))
    }

    /// The turn that an earlier request with the same key began, however far it has come.
    async fn replay(&self, caller: &Principal, id: TurnId) -> Result<Asked, ChatError> {
        let TurnRunner { ports, live, .. } = &*self.runner;
        let known = live.get(id);
        let (live, found) = if let Some(live) = known {
            (live, None)
        } else {
            let found = ports.turns.find(&caller.tenant, id).await?.value;
            let found = found.ok_or(ChatError::ConversationNotFound)?;
            let turn = found.turn.clone();
            (live.enter_found(&caller.tenant, found), Some(turn))
        };
        let followed = FollowedTurn::new(live, Arc::clone(&ports.turns));
        Ok(Asked::repeated(followed, found))
    }

    async fn meet(&self, question: &mut Arc<Question>) -> Result<Met, ChatError> {
        let runner = &self.runner;
        if runner.is_overloaded() {
            return Err(ChatError::Overloaded);
        }
        // Whether the caller may know of the conversation comes before whether it is busy.
        let mut at = Arc::new(place(&runner.ports, question).await?);
        let mut chain = runner.engines.chain(&at.agent);
        if !chain.first().is_some_and(|it| it.engine.is_immediate()) {
            return self.begin(question, at).await;
        }
        let lane = self.enter_lane(question).await?;
        if lane.as_ref().is_some_and(|lane| lane.met_outage) {
            let source = "a turn before this one found the store away".into();
            return Err(RepositoryError::Unavailable(source).into());
        }
        if lane.as_ref().is_some_and(|lane| lane.waited) {
            // What was known before the wait is of the turn before.
            Arc::make_mut(question).stamp.time = runner.ports.clock.now();
            at = Arc::new(place(&runner.ports, question).await?);
            chain = runner.engines.chain(&at.agent);
        }
        for _ in 0..ATTEMPTS {
            match exchange(runner, question, &at, chain.get(..1).unwrap_or_default()).await {
                Ok(Some(met)) => return Ok(met),
                // The engine failed, or something runs in the conversation: a turn that is begun
                // can be seen to fail, asks the fallbacks, and is judged again under the lock.
                Ok(None) => {
                    drop(lane);
                    return self.begin(question, at).await;
                }
                Err(ChatError::Store(RepositoryError::Stale { .. })) => {
                    at = Arc::new(place(&runner.ports, question).await?);
                    chain = runner.engines.chain(&at.agent);
                }
                Err(error) => {
                    note_outage(lane.as_ref(), &error);
                    return Err(error);
                }
            }
        }
        Err(ChatError::Busy)
    }

    /// Turns of engines that answer at once are computed one after the other: each would otherwise
    /// be computed from what the one before is about to change.
    async fn enter_lane(&self, question: &Question) -> Result<Option<LaneGuard>, ChatError> {
        let Some(id) = question.conversation_id() else {
            return Ok(None);
        };
        let key = (question.caller.tenant.clone(), id);
        let entered = self.lanes.enter(key, question.command.on_busy);
        let lane = tokio::time::timeout(LONGEST_WAIT, entered).await;
        let lane = lane.or(Err(ChatError::from(ProblemCode::EngineTimeout)))?;
        lane.map(Some).ok_or(ChatError::Busy)
    }

    /// Begins a turn in a task of its own: what was stored is run, also when its caller has gone
    /// in between.
    async fn begin(&self, question: &Arc<Question>, at: Arc<Place>) -> Result<Met, ChatError> {
        let (runner, question) = (Arc::clone(&self.runner), Arc::clone(question));
        let turn = async move { begin(&runner, &question, at).await };
        let task = self.runner.in_background(turn);
        task.await
            .unwrap_or(Err(ChatError::from(ProblemCode::Interrupted)))
    }
}

/// What a key that was used before means for a request.
enum Repetition {
    /// The request is that turn's, once more.
    Of(TurnId),
    /// Its turn failed and gave the key back: a new one begins in the same conversation.
    GoesOnIn(ConversationId),
}

fn repetition(
    claim: Option<&IdempotencyClaim>,
    record: &IdempotencyRecord,
) -> Result<Repetition, IdempotencyRefused> {
    if claim.is_none_or(|claim| claim.fingerprint != record.fingerprint) {
        return Err(IdempotencyRefused::Reused);
    }
    match (record.turn_id, record.released_into) {
        (Some(turn), _) => Ok(Repetition::Of(turn)),
        (None, Some(conversation)) => Ok(Repetition::GoesOnIn(conversation)),
        (None, None) => Err(IdempotencyRefused::InUse),
    }
}

fn note_outage(lane: Option<&LaneGuard>, error: &ChatError) {
    if let (Some(lane), ChatError::Store(RepositoryError::Unavailable(_))) = (lane, error) {
        lane.note_outage();
    }
}
