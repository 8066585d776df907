//! Answers to the tool calls of a turn that waits for them.

use std::sync::Arc;

use domain::{
    Action, Audience, ConversationId, MessageId, Principal, PrincipalId, Scope, Stamp, TenantId,
    TurnId,
};
use ports::RepositoryError;
use writes::{AnswerOutcome, AnswerTurn, CallAnswer, MayAnswer, NotStaff, UndecidedCall};

use super::{TurnError, TurnService};
use crate::{
    chat::{AcceptedTurn, ChatContext, TurnRunner},
    live_turns::TurnWaiter,
};

/// The number of attempts with a node id that was found to be dead.
const ATTEMPTS: usize = 3;

impl TurnService {
    /// Answers tool calls of a turn: all of them, or none. With the last answer a waiting turn goes on here,
    /// and its events continue those from before. A decision of staff returns the turn that it begins.
    pub async fn answer(
        &self,
        caller: &Principal,
        id: TurnId,
        answers: Vec<CallAnswer>,
    ) -> Result<AcceptedTurn, TurnError> {
        let found = self.find(caller, id).await?.value;
        // A continuation is started by those who decided.
        let is_users = found.turn.continues.is_none();
        let starter = Some(&found.principal).filter(|_| is_users);
        let answering = Answering {
            tenant: &caller.tenant,
            actor: &caller.id,
            conversation_id: found.turn.conversation_id,
            turn_id: id,
            may: may_answer(caller, found.user_id.as_deref(), starter),
            answers,
        };
        let outcome = answering.write(&self.context, &self.runner).await?;
        match outcome {
            AnswerOutcome::Stored {
                resumed: Some(turn),
                continuation,
                ..
            } => {
                let live = self.runner.run_promoted(*turn, self.context.node.id());
                let waiter = TurnWaiter::new(live, Arc::clone(&self.context.ports.turns));
                let audience = caller.audience();
                Ok(match continuation {
                    None => AcceptedTurn::continued(waiter, audience),
                    Some(_) => AcceptedTurn::replayed(waiter, None, audience),
                })
            }
            AnswerOutcome::Stored { continuation, .. }
            | AnswerOutcome::Repeated { continuation } => {
                self.follow(caller, continuation.unwrap_or(id)).await
            }
            AnswerOutcome::Rejected { index, reason } => Err(TurnError::Answer { index, reason }),
            AnswerOutcome::NotFound | AnswerOutcome::NodeDead => Err(TurnError::NotFound),
        }
    }

    /// Follows a turn from its beginning.
    async fn follow(&self, caller: &Principal, id: TurnId) -> Result<AcceptedTurn, TurnError> {
        let found = self.find(caller, id).await?.value;
        let turn = found.turn.clone();
        let live = self
            .context
            .live
            .get_or_register_found(&caller.tenant, found);
        let waiter = TurnWaiter::new(live, Arc::clone(&self.context.ports.turns));
        Ok(AcceptedTurn::replayed(
            waiter,
            Some(turn),
            caller.audience(),
        ))
    }
}

/// Answers a call that staff has not decided in time with [`Action::Expire`].
pub(crate) async fn expire(
    context: &ChatContext,
    runner: &Arc<TurnRunner>,
    tenant: &TenantId,
    call: UndecidedCall,
) -> Result<(), RepositoryError> {
    let answering = Answering {
        tenant,
        actor: &PrincipalId::system(),
        conversation_id: call.conversation_id,
        turn_id: call.turn_id,
        may: MayAnswer {
            for_user: false,
            for_staff: Ok(()),
            audience: Audience::Staff,
        },
        answers: vec![CallAnswer {
            call_id: call.call_id,
            action: Action::Expire,
        }],
    };
    match answering.write(context, runner).await {
        Ok(AnswerOutcome::Stored {
            resumed: Some(turn),
            ..
        }) => {
            runner.run_promoted(*turn, context.node.id());
            Ok(())
        }
        // Someone has decided meanwhile, or this process ends.
        Ok(_) | Err(TurnError::Draining) => Ok(()),
        Err(TurnError::Store(error)) => Err(error),
        Err(error) => Err(RepositoryError::Unavailable(error.into())),
    }
}

/// Returns which calls of a turn a caller may answer. Nobody decides for staff about a turn of their own, nor
/// in the name of a user.
fn may_answer(caller: &Principal, owner: Option<&str>, starter: Option<&PrincipalId>) -> MayAnswer {
    let is_theirs = caller.user_id.as_deref() == owner || starter == Some(&caller.id);
    let is_own = caller.names_user || (caller.user_id.is_some() && is_theirs);
    let has_scopes = caller.scopes.contains(Scope::ToolsApprove) && caller.confined_to().is_none();
    MayAnswer {
        for_user: caller.scopes.contains(Scope::ChatWrite),
        for_staff: match (has_scopes, is_own) {
            (true, false) => Ok(()),
            (true, true) => Err(NotStaff::OwnConversation),
            (false, _) => Err(NotStaff::Scope),
        },
        audience: caller.audience(),
    }
}

/// Answers that are about to be stored.
struct Answering<'a> {
    tenant: &'a TenantId,
    actor: &'a PrincipalId,
    conversation_id: ConversationId,
    turn_id: TurnId,
    may: MayAnswer,
    answers: Vec<CallAnswer>,
}

impl Answering<'_> {
    async fn write(
        &self,
        context: &ChatContext,
        runner: &TurnRunner,
    ) -> Result<AnswerOutcome, TurnError> {
        for _ in 0..ATTEMPTS {
            let node = runner.promotes_to();
            let node = node.ok_or(TurnError::Draining)?;
            let answer = AnswerTurn {
                tenant: self.tenant.clone(),
                turn_id: self.turn_id,
                conversation_id: self.conversation_id,
                answers: self.answers.clone(),
                may: self.may,
                node,
                continuation: TurnId::new(context.ports.ids.next_id()),
                reply_id: MessageId::new(context.ports.ids.next_id()),
                stamp: Stamp {
                    time: context.ports.clock.now(),
                    actor: self.actor.clone(),
                },
            };
            match context.ports.writes.write(answer).await? {
                AnswerOutcome::NodeDead => context.node.renew_identity(node).await?,
                outcome => return Ok(outcome),
            }
        }
        let reason = "this node is marked as dead again and again";
        Err(RepositoryError::Unavailable(reason.into()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(scopes: &[Scope], user_id: Option<&str>) -> Principal {
        Principal {
            tenant: "default".parse().unwrap(),
            id: PrincipalId::new("any"),
            scopes: scopes.iter().copied().collect(),
            user_id: user_id.map(str::to_owned),
            agents: domain::AgentReach::ALL,
            names_user: false,
        }
    }

    #[test]
    fn staff_needs_a_scope_and_decides_in_no_conversation_of_its_own() {
        let staff = [Scope::ToolsApprove, Scope::ConversationsAll];
        for (scopes, user, expected) in [
            (&staff[..], Some("bob"), Ok(())),
            (&staff[..], Some("ada"), Err(NotStaff::OwnConversation)),
            (&staff[..1], Some("bob"), Err(NotStaff::Scope)),
            (&staff[..1], None, Ok(())),
            (&[Scope::ChatWrite][..], None, Err(NotStaff::Scope)),
        ] {
            let may = may_answer(&principal(scopes, user), Some("ada"), None);
            assert_eq!(may.for_staff, expected);
            assert_eq!(may.for_user, scopes.contains(&Scope::ChatWrite));
        }
        let bob = principal(&staff, Some("bob"));
        let may = may_answer(&bob, None, Some(&bob.id));
        assert_eq!(may.for_staff, Err(NotStaff::OwnConversation));
        let in_the_name_of_a_user = Principal {
            names_user: true,
            ..principal(&staff, None)
        };
        let may = may_answer(&in_the_name_of_a_user, Some("ada"), None);
        assert_eq!(may.for_staff, Err(NotStaff::OwnConversation));
    }
}
