//! Idempotency keys of chats of which nothing else is stored. A turn claims its key before it runs, and its
//! answer is stored before its caller receives it. Requests with the same key receive that answer, or wait for it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use domain::{IdempotencyEntry, IdempotencyKey, Problem, ProblemCode};
use ports::{Idempotent, RepositoryError};
use tokio::time::{Instant, sleep};
use writes::{ClaimKey, ClaimOutcome};

use super::{EphemeralChat, EphemeralTurn, answer::StoredAnswer};
use crate::{
    IdempotencyConflict,
    chat::{
        AcceptedTurn, ChatCaller, ChatContext, ChatError, TurnRunner,
        service::{MAX_PASSES, OPERATION},
    },
    idempotency::{check_key, entry, stored_result, with_result},
    live_turns::{
        LiveTurn, MAX_OUTAGE, POLL_INTERVAL, TurnOutcome, TurnOwnership, TurnSubject, TurnWaiter,
    },
};

/// The pause before an answer is stored again while the store is unavailable.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

impl TurnRunner {
    /// Starts a turn that claims a key, or returns the turn that has claimed it before.
    pub(in crate::chat) async fn start_claimed(
        self: Arc<Self>,
        caller: ChatCaller<'_>,
        chat: EphemeralChat,
        key: IdempotencyKey,
    ) -> Result<AcceptedTurn, ChatError> {
        let (context, principal) = (self.context(), caller.principal);
        chat.check().map_err(ChatError::Invalid)?;
        // Before the key is looked up: a chat with an agent out of reach is no repetition of an accepted one.
        if !principal.agents.contains(chat.agent_id) {
            return Err(ChatError::AgentNotFound);
        }
        let now = context.ports.clock.now();
        // A stored chat is another command.
        let entry = entry(principal, OPERATION, key, &("unrecorded", &chat), now);
        for _ in 0..MAX_PASSES {
            let (records, tenant) = (&*context.ports.idempotency, &principal.tenant);
            let earlier = context.earlier_use(tenant, Some(&entry), &chat.files);
            let outcome = match earlier.await? {
                Some(record) => Ok(Idempotent::Replayed(record)),
                None => match self.ephemeral_turn(caller, chat.clone()).await {
                    Ok(turn) => match self.claim(turn, &entry).await? {
                        Some(claimed) => Ok(claimed),
                        None => continue,
                    },
                    Err(error) => Err(error),
                },
            };
            let record = match check_key(records, tenant, Some(&entry), outcome).await? {
                Idempotent::Applied(turn) => return Ok(self.run_ephemeral(turn)),
                Idempotent::Replayed(record) => record,
            };
            let turn = record.turn_id.ok_or(IdempotencyConflict::InUse)?;
            let subject = chat.subject(caller, turn, &*context.ports.ids);
            let live = if record.result.is_some() {
                let live = Arc::new(LiveTurn::new(subject, Weak::new()));
                stored_result::<StoredAnswer>(record)?.end(&live);
                live
            } else {
                self.follow_claim(subject, entry)
            };
            let waiter = TurnWaiter::new(live, Arc::clone(&context.ports.turns));
            let audience = principal.audience_of_chat(chat.user_id.as_deref());
            return Ok(AcceptedTurn::replayed(waiter, None, audience));
        }
        Err(ChatError::Busy)
    }

    /// Claims the key for a turn. Returns `None` if this process has had to register as another node.
    async fn claim(
        &self,
        turn: EphemeralTurn,
        entry: &IdempotencyEntry,
    ) -> Result<Option<Idempotent<EphemeralTurn>>, RepositoryError> {
        let context = self.context();
        let node = turn.ownership.node;
        let claim = ClaimKey {
            tenant: turn.ownership.live.subject().tenant.clone(),
            idempotency: entry.clone(),
            turn_id: turn.started.turn_id,
            node,
        };
        let turn = EphemeralTurn {
            claim: Some(entry.clone()),
            ..turn
        };
        match context.ports.writes.of_uncached().write(claim).await {
            Ok(ClaimOutcome::Claimed) => Ok(Some(Idempotent::Applied(turn))),
            Ok(ClaimOutcome::Replayed(record)) => Ok(Some(Idempotent::Replayed(record))),
            Ok(ClaimOutcome::NodeDead) => {
                context.node.renew_identity(node).await?;
                Ok(None)
            }
            Err(error) => {
                // The claim may be stored although the turn does not run.
                let releasing = turn.release(Arc::clone(context));
                context.background.spawn_here(releasing);
                Err(error)
            }
        }
    }

    /// Returns a turn that has claimed a key and has no answer yet.
    fn follow_claim(&self, subject: TurnSubject, entry: IdempotencyEntry) -> Arc<LiveTurn> {
        let context = self.context();
        context.live.get(subject.turn_id).unwrap_or_else(|| {
            let live = context.live.get_or_register(subject);
            let ownership = self.take_ownership(Arc::clone(&live), context.node.id());
            let waiting = wait_for_answer(Arc::clone(context), ownership, entry);
            context.background.spawn_here(waiting);
            live
        })
    }
}

/// Ends the turn of another node as soon as its answer is stored, or its key released. The turn counts as one
/// that runs here, so that nothing reads it from the store as a stored turn.
async fn wait_for_answer(
    context: Arc<ChatContext>,
    ownership: TurnOwnership,
    entry: IdempotencyEntry,
) {
    let live = &ownership.live;
    let waiting = answer_of(&context, live, &entry);
    match live.stopped().run_until_cancelled(waiting).await {
        Some(Ok(answer)) => answer.end(live),
        Some(Err(code)) => live.end(TurnOutcome::Failed(Problem::new(code))),
        None => live.end(TurnOutcome::Failed(Problem::new(ProblemCode::Interrupted))),
    }
}

/// Returns the answer of a turn, once it is stored.
async fn answer_of(
    context: &ChatContext,
    live: &LiveTurn,
    entry: &IdempotencyEntry,
) -> Result<StoredAnswer, ProblemCode> {
    let subject = live.subject();
    let mut last_read = Instant::now();
    loop {
        match context.ports.idempotency.find(&subject.tenant, entry).await {
            Ok(found) => {
                last_read = Instant::now();
                let of_turn = found.filter(|record| {
                    record.turn_id.or(record.released_by) == Some(subject.turn_id)
                });
                // Its node has died.
                let record = of_turn.ok_or(ProblemCode::Interrupted)?;
                if record.result.is_some() {
                    return stored_result(record).map_err(|_corrupt| ProblemCode::Internal);
                }
            }
            Err(_) if last_read.elapsed() < MAX_OUTAGE => {}
            Err(_) => return Err(ProblemCode::StoreUnavailable),
        }
        sleep(POLL_INTERVAL).await;
    }
}

impl EphemeralTurn {
    /// Releases the key of a turn that does not run.
    async fn release(self, context: Arc<ChatContext>) {
        let problem = Problem::new(ProblemCode::StoreUnavailable);
        self.end(TurnOutcome::Failed(problem), &context).await;
    }

    /// Ends a turn that has claimed a key, once its answer is stored. While the store is unavailable, only the
    /// waiting callers receive the answer.
    pub(super) async fn settle(
        &self,
        entry: &IdempotencyEntry,
        outcome: TurnOutcome,
        context: &ChatContext,
    ) {
        let live = &self.ownership.live;
        let subject = live.subject();
        let answer = StoredAnswer::new(self.started.clone(), live, &outcome);
        let released_into = answer.is_retryable().then_some(subject.conversation_id);
        let Some(entry) = with_result(Some(entry), &answer) else {
            return live.end(outcome);
        };
        let (records, tenant, id) = (&context.ports.idempotency, &subject.tenant, subject.turn_id);
        let mut settled = records.settle(tenant, &entry, id, released_into).await;
        live.end(outcome);
        while let Err(error) = settled {
            let error = ports::error::one_line(&error);
            tracing::warn!(error, turn = %id, "cannot store the answer of an unrecorded chat; retrying");
            let pause = live.stopped().run_until_cancelled_owned(sleep(RETRY_PAUSE));
            if pause.await.is_none() {
                return;
            }
            settled = records.settle(tenant, &entry, id, released_into).await;
        }
    }
}
