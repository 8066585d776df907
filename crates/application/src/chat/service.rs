//! The use case itself: from a message to the turn that answers it.

use std::{sync::Arc, time::Duration};

use domain::{ConversationId, IdempotencyKey, MessageId, Principal, ProblemCode, Stamp, TurnId};
use ports::{Once, RepositoryError};

use super::{
    answering::{Exchanged, begin, exchange},
    asked::Asked,
    command::ChatCommand,
    error::ChatError,
    followed::FollowedTurn,
    lanes::{LaneGuard, Lanes},
    place::{Question, Resumption, place},
    run_to_end::RunToEnd,
    runner::TurnRunner,
};
use crate::{
    IdempotencyRefused,
    idempotency::{self, judged},
};

/// How often a turn is computed again when others keep changing what it was computed from.
const ATTEMPTS: usize = 20;

/// How long a turn may wait for the one before it.
pub const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// The operation that a chat's idempotency key belongs to, on REST and on the socket.
const OPERATION: &str = "chat";

/// Chat: a message goes in, a turn is stored, the agent's reply comes out.
pub struct ChatService {
    intake: Arc<Intake>,
}

/// The parts that a message needs on its way to its turn.
struct Intake {
    runner: Arc<TurnRunner>,
    lanes: Lanes,
}

impl ChatService {
    /// A service whose turns `runner` runs.
    pub fn new(runner: Arc<TurnRunner>) -> Self {
        Self {
            intake: Arc::new(Intake {
                runner,
                lanes: Lanes::default(),
            }),
        }
    }

    /// Takes a message. Once this has answered, the turn is stored. The message is taken and
    /// answered whether or not the caller waits: when this is dropped, it continues in the
    /// background.
    pub fn ask(
        &self,
        caller: &Principal,
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> impl Future<Output = Result<Asked, ChatError>> + Send + use<> {
        let intake = Arc::clone(&self.intake);
        let runner = Arc::clone(&intake.runner);
        let caller = caller.clone();
        let asking = async move { intake.ask(caller, command, key).await };
        RunToEnd::new(asking, runner)
    }
}

impl Intake {
    async fn ask(
        &self,
        caller: Principal,
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> Result<Asked, ChatError> {
        command.check().map_err(ChatError::Invalid)?;
        let mut question = self.question(caller, command, key);
        let mut lane = None;
        for _ in 0..ATTEMPTS {
            let Some(met) = self.meet(&question, &mut lane).await.transpose() else {
                let now = self.runner.ports.clock.now();
                question = Arc::new(question.asked_again(now));
                continue;
            };
            lane = None;
            if let Err(ChatError::ConversationNotFound) = &met
                && question.resumption.is_in_conversation()
            {
                // The conversation of the key's failed turn has been deleted since.
                question = Arc::new(question.resumed(Resumption::Anew));
                continue;
            }
            let (claims, claim) = (&*self.runner.ports.claims, question.claim.as_ref());
            let caller = &question.caller;
            match judged(claims, &caller.tenant, claim, met).await? {
                Once::Done(asked) => return Ok(asked),
                Once::Repeated(record) => match (record.turn_id, record.released_into) {
                    (Some(turn), _) => return self.replay(caller, turn).await,
                    // Its turn failed and gave the key back: a new one begins where it was.
                    (None, Some(conversation)) => {
                        let goes_on = question.resumed(Resumption::In(conversation));
                        question = Arc::new(goes_on);
                    }
                    (None, None) => return Err(IdempotencyRefused::InUse.into()),
                },
            }
        }
        Err(ChatError::Busy)
    }

    fn question(
        &self,
        caller: Principal,
        command: ChatCommand,
        key: Option<IdempotencyKey>,
    ) -> Arc<Question> {
        let ports = &self.runner.ports;
        let now = ports.clock.now();
        Arc::new(Question {
            claim: idempotency::claim(&caller, OPERATION, key, &command, now),
            stamp: Stamp {
                time: now,
                actor: caller.id.clone(),
            },
            caller,
            turn_id: TurnId::new(ports.ids.next_id()),
            message_id: MessageId::new(ports.ids.next_id()),
            new_conversation: ConversationId::new(ports.ids.next_id()),
            resumption: Resumption::None,
            command,
        })
    }

    /// The turn that an earlier request with the same key began, however far it has come.
    async fn replay(&self, caller: &Principal, id: TurnId) -> Result<Asked, ChatError> {
        let TurnRunner { ports, live, .. } = &*self.runner;
        // Once it has ended only the store knows whether it was deleted since.
        let known = live.get(id).filter(|live| !live.has_ended());
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

    /// Takes the question as things are now. `None` when they have changed meanwhile: then it is to
    /// be asked again, in the same lane.
    async fn meet(
        &self,
        question: &Arc<Question>,
        lane: &mut Option<LaneGuard>,
    ) -> Result<Option<Once<Asked>>, ChatError> {
        let runner = &self.runner;
        if runner.is_overloaded() {
            return Err(ChatError::Overloaded);
        }
        // Whether the caller may know of the conversation comes before whether it is busy.
        let at = Arc::new(place(&runner.ports, question).await?);
        let chain = runner.engines.chain(&question.caller.tenant, &at.agent);
        if !chain.first().is_some_and(|it| it.engine.is_immediate()) {
            *lane = None;
            return begin(runner, question, &at, None).await;
        }
        if lane.is_none() {
            *lane = self.enter_lane(question).await?;
            if lane.as_ref().is_some_and(|lane| lane.met_outage) {
                let source = "a turn before this one found the store away".into();
                return Err(RepositoryError::Unavailable(source).into());
            }
            if lane.as_ref().is_some_and(|lane| lane.waited) {
                // What is known is of the turn before.
                return Ok(None);
            }
        }
        let first = chain.get(..1).unwrap_or_default();
        match exchange(runner, question, &at, first).await {
            Ok(Exchanged::Stored(asked)) => Ok(Some(asked)),
            // Nothing is stored: the same message can be sent again.
            Ok(Exchanged::Failed(problem))
                if problem.code == ProblemCode::Overloaded && chain.len() == 1 =>
            {
                Err(ChatError::Overloaded)
            }
            // A turn that is begun can be seen to fail, and asks the fallbacks.
            Ok(Exchanged::Failed(problem)) => {
                *lane = None;
                begin(runner, question, &at, Some(problem)).await
            }
            // A turn that is begun is judged again under the lock.
            Ok(Exchanged::Busy) => {
                *lane = None;
                begin(runner, question, &at, None).await
            }
            Err(ChatError::Store(RepositoryError::Stale { .. })) => Ok(None),
            Err(error) => {
                note_outage(lane.as_ref(), &error);
                Err(error)
            }
        }
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
}

fn note_outage(lane: Option<&LaneGuard>, error: &ChatError) {
    if let (Some(lane), ChatError::Store(RepositoryError::Unavailable(_))) = (lane, error) {
        lane.note_outage();
    }
}
