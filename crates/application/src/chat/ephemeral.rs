//! Chats of which nothing is stored.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};

use domain::{
    AgentId, ChatReply, ConversationId, FaultCode, HistoryMessage, InputFault, MessageId, Problem,
    ProblemCode, Role, TurnId, TurnStarted,
    text::{BLANK_IN_WORDS, is_blank},
};
use futures::FutureExt as _;
use ports::ModelRequest;
use tokio_util::sync::CancellationToken;

use super::{AcceptedTurn, ChatCaller, ChatContext, ChatError, TurnRunner, target::find_agent};
use crate::{
    engines::{Candidate, run_engine_chain},
    live_turns::{CompletedChat, TurnOutcome, TurnOwnership, TurnSubject, TurnWaiter},
};

/// A message whose turn is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EphemeralChat {
    /// The agent that is to reply.
    pub agent_id: AgentId,
    /// The user's text.
    pub message: String,
    /// The messages before it, oldest first.
    pub history: Vec<(Role, String)>,
    /// The user that sends the message.
    pub user_id: Option<String>,
    /// The id of the request, for the log.
    pub request_id: Option<String>,
}

/// A turn that is not stored, with everything that is needed to run it.
struct EphemeralTurn {
    ownership: TurnOwnership,
    started: TurnStarted,
    request: ModelRequest,
    chain: Vec<Candidate>,
    /// Cancelled once no caller reads the reply.
    abandoned: CancellationToken,
}

impl TurnRunner {
    /// Starts a turn that is not stored. It is stopped when the caller drops the result.
    pub(super) async fn start_ephemeral(
        self: &Arc<Self>,
        caller: ChatCaller<'_>,
        chat: EphemeralChat,
    ) -> Result<AcceptedTurn, ChatError> {
        if is_blank(&chat.message) {
            let fault = InputFault::new("/message", FaultCode::TooShort, BLANK_IN_WORDS);
            return Err(ChatError::Invalid(vec![fault]));
        }
        let ChatCaller {
            principal: caller,
            credential,
        } = caller;
        let context = self.context();
        let agent = find_agent(&context.ports, caller, chat.agent_id).await?;
        let ids = &context.ports.ids;
        let subject = TurnSubject {
            tenant: caller.tenant.clone(),
            turn_id: TurnId::new(ids.next_id()),
            conversation_id: ConversationId::new(ids.next_id()),
            agent_id: agent.id,
            user_id: chat.user_id.clone(),
            started_by: caller.id.clone(),
            credential: Some(Arc::clone(credential)),
            request_id: chat.request_id.clone(),
            is_ephemeral: true,
        };
        let started = TurnStarted {
            turn_id: subject.turn_id,
            conversation_id: None,
            message_id: MessageId::new(ids.next_id()),
            reply_id: MessageId::new(ids.next_id()),
            agent_id: agent.id,
            agent_version: agent.version,
        };
        let tools = self.tools_of(&agent, &[]);
        let audience = caller.audience_of_chat(chat.user_id.as_deref());
        let limits = agent.config.history.clone().unwrap_or_default();
        let (tenant, turn_id) = (caller.tenant.clone(), subject.turn_id);
        let request = ModelRequest {
            turn_number: user_messages(&chat.history),
            user_id: chat.user_id,
            history: Arc::new(history(&limits, chat.history)),
            tools: tools.tools,
            unavailable_tools: tools.unavailable,
            ..ModelRequest::new(tenant, agent, turn_id, chat.message)
        };
        let live = context.live.get_or_register(subject);
        let abandoned = CancellationToken::new();
        let turn = EphemeralTurn {
            ownership: self.take_ownership(Arc::clone(&live), context.node.id()),
            started,
            chain: context.engines.chain(&request.tenant, &request.agent),
            request,
            abandoned: abandoned.clone(),
        };
        live.mark_started(started);
        let waiter = TurnWaiter::new(live, Arc::clone(&context.ports.turns));
        let turn_context = Arc::clone(context);
        context.background.spawn_here(turn.run(turn_context));
        let guard = abandoned.drop_guard();
        Ok(AcceptedTurn::ephemeral(waiter, audience, guard))
    }
}

impl EphemeralTurn {
    async fn run(self, context: Arc<ChatContext>) {
        let (live, reply_id) = (&self.ownership.live, self.started.reply_id);
        let engine_start = Instant::now();
        let replying = run_engine_chain(reply_id, &self.chain, &self.request, None, &**live, None);
        let replying = Box::pin(replying);
        let replying = live.stopped().run_until_cancelled_owned(replying);
        let replying = self.abandoned.run_until_cancelled(replying);
        // A turn must end even if its engine panics.
        let outcome = match AssertUnwindSafe(replying).catch_unwind().await {
            Ok(Some(Some(Ok(reply)))) => {
                let reply: ChatReply = reply.chat_reply(&self.started, context.ports.clock.now());
                TurnOutcome::Completed(CompletedChat {
                    reply,
                    position: None,
                    store: std::time::Duration::ZERO,
                    engine: engine_start.elapsed(),
                })
            }
            Ok(Some(Some(Err(problem)))) => TurnOutcome::Failed(problem),
            Ok(Some(None)) => TurnOutcome::Failed(Problem::new(ProblemCode::Interrupted)),
            Ok(None) => TurnOutcome::Cancelled,
            Err(_panic) => TurnOutcome::Failed(Problem::new(ProblemCode::Internal)),
        };
        live.end(outcome);
    }
}

/// Returns the newest messages that fit the limits.
fn history(limits: &domain::HistoryLimits, messages: Vec<(Role, String)>) -> Vec<HistoryMessage> {
    let newest_first = messages.iter().rev().map(|(_, content)| content.as_str());
    let omitted = messages.len() - limits.fitting(newest_first);
    let numbered = (1..).zip(messages).skip(omitted);
    numbered
        .map(|(seq, (role, content))| HistoryMessage::new(seq, role, content))
        .collect()
}

fn user_messages(history: &[(Role, String)]) -> i64 {
    let count = history
        .iter()
        .filter(|(role, _)| *role == Role::User)
        .count();
    i64::try_from(count).unwrap_or(i64::MAX)
}
