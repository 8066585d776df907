//! Chats of which nothing is stored but, with an idempotency key, their answer.

mod admission;
mod answer;
mod claim;
mod past_messages;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};

use domain::{
    Agent, AgentId, Audience, ChatReply, ClientTool, ConversationId, FaultCode, FinishReason,
    IdempotencyEntry, InputFault, MessageId, Problem, ProblemCode, ResponseSchema, Role,
    StoredFile, TurnId, TurnStarted,
    text::{BLANK_IN_WORDS, is_blank},
};
use futures::FutureExt as _;
use ports::{AgentTool, IdSource, ModelRequest, ToolUse};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use writes::Reply;

pub use self::past_messages::{PastCall, PastMessage};
use self::past_messages::{history, steps};
use super::{
    AcceptedTurn, AttachedFile, ChatCaller, ChatContext, ChatError, TurnRunner,
    attempt::schema_of,
    files::{
        check_files, contents_in_memory, fetch_files, judge_files, known, references, scan_files,
    },
    target::find_agent,
    tool_choice::check_tool_choice,
};
use crate::{
    engines::{Candidate, OpenCallStatus, ReplySink as _, run_engine_chain},
    live_turns::{CompletedChat, TurnOutcome, TurnOwnership, TurnSubject, TurnWaiter},
    toolbox::ToolsOfAgent,
};

/// A message whose turn is not stored. An idempotency key is bound to its serialized form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EphemeralChat {
    /// The agent that is to reply.
    pub agent_id: AgentId,
    /// The user's text.
    pub message: String,
    /// The files of the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<AttachedFile>,
    /// The messages before it, oldest first.
    pub history: Vec<PastMessage>,
    /// The agent's messages after it, which have called tools of the client, oldest first.
    pub steps: Vec<PastMessage>,
    /// The tools that the client runs. Their calls end the turn, and the client sends the results with its next
    /// chat.
    pub client_tools: Vec<ClientTool>,
    /// The schema that the reply must satisfy, in place of that of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<ResponseSchema>,
    /// The client's demands on the model's tool calls.
    #[serde(skip)]
    pub tool_use: ToolUse,
    /// True to leave out the messages that the sender may not send, instead of rejecting the chat.
    #[serde(skip)]
    pub omits_refused_messages: bool,
    /// The user that sends the message.
    pub user_id: Option<String>,
    /// The id of the request, for the log.
    #[serde(skip)]
    pub request_id: Option<String>,
}

/// A turn that is not stored, with everything that is needed to run it.
struct EphemeralTurn {
    ownership: TurnOwnership,
    started: TurnStarted,
    /// The id of the reply.
    reply_id: MessageId,
    request: ModelRequest,
    chain: Vec<Candidate>,
    /// The audience for which tool calls are shown.
    audience: Audience,
    /// The entry of the key that the turn has claimed.
    claim: Option<IdempotencyEntry>,
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
        chat.check().map_err(ChatError::Invalid)?;
        let turn = self.ephemeral_turn(caller, chat).await?;
        let guard = turn.abandoned.clone().drop_guard();
        Ok(self.run_ephemeral(turn).guarded_by(guard))
    }

    /// Returns a turn that can run.
    async fn ephemeral_turn(
        &self,
        caller: ChatCaller<'_>,
        chat: EphemeralChat,
    ) -> Result<EphemeralTurn, ChatError> {
        let context = self.context();
        let principal = caller.principal;
        let schema = chat.response_schema.as_ref();
        context.check_schema(&principal.tenant, schema).await?;
        let agent = find_agent(&context.ports, principal, chat.agent_id).await?;
        let chat = chat.admit(principal, &agent).map_err(ChatError::Invalid)?;
        let tools = self.tools_of_ephemeral(&agent, &chat.client_tools);
        let audience = principal.audience_of_chat(chat.user_id.as_deref());
        let choice = &chat.tool_use.choice;
        check_tool_choice(choice, &tools.tools, &agent.config, audience)
            .map_err(|detail| ChatError::ToolNotOffered { detail })?;
        let ids = &*context.ports.ids;
        let subject = chat.subject(caller, TurnId::new(ids.next_id()), ids);
        let reply_id = MessageId::new(ids.next_id());
        let started = TurnStarted {
            turn_id: subject.turn_id,
            conversation_id: None,
            message_id: MessageId::new(ids.next_id()),
            reply_id: Some(reply_id),
            agent_id: agent.id,
            agent_version: agent.version,
            continues: None,
        };
        let chain = context.engines.chain(&principal.tenant, &agent);
        let first_engine = chain.first().map_or("", |first| &first.name);
        // No conversation limits the use of a file that messages use.
        let may_use = |file: &StoredFile| {
            let user = chat.user_id.as_deref();
            let is_seen = user.is_none_or(|user| file.is_of_user(user));
            file.is_unused() || (is_seen && principal.may_read_conversations())
        };
        let pending = judge_files(context, principal, &chat.files, may_use).await?;
        check_files(context, known(&pending), (&agent, &chain)).await?;
        let judged = fetch_files(context, principal, pending).await?;
        check_files(context, references(&judged), (&agent, &chain)).await?;
        scan_files(context, &judged).await?;
        let user_id = chat.user_id.clone();
        let user = context
            .ports
            .find_user(&principal.tenant, user_id.as_deref())
            .await?;
        let mut request = ModelRequest {
            user,
            files: judged.iter().map(|file| file.reference.clone()).collect(),
            ..chat.request(&subject, agent, tools, first_engine)
        };
        request.file_contents = contents_in_memory(context, &request, (judged, &chain)).await?;
        let live = context.live.get_or_register(subject);
        Ok(EphemeralTurn {
            ownership: self.take_ownership(live, context.node.id()),
            started,
            reply_id,
            request,
            chain,
            audience,
            claim: None,
            abandoned: CancellationToken::new(),
        })
    }

    fn run_ephemeral(&self, turn: EphemeralTurn) -> AcceptedTurn {
        let context = self.context();
        let (live, audience) = (Arc::clone(&turn.ownership.live), turn.audience);
        live.mark_started(turn.started.clone());
        let waiter = TurnWaiter::new(live, Arc::clone(&context.ports.turns));
        context.background.spawn_here(turn.run(Arc::clone(context)));
        AcceptedTurn::ephemeral(waiter, audience)
    }

    /// Returns the tools of a chat whose client has described those that it runs. Others of the client are
    /// withheld.
    fn tools_of_ephemeral(&self, agent: &Agent, of_chat: &[ClientTool]) -> ToolsOfAgent {
        let ToolsOfAgent {
            tools,
            mut unavailable,
        } = self.tools_of(agent, of_chat);
        let is_described = |name: &str| of_chat.iter().any(|described| described.name == name);
        let is_offered = |tool: &AgentTool| tool.provider.is_some() || is_described(&tool.function);
        let (offered, withheld): (Vec<_>, Vec<_>) = tools.iter().cloned().partition(is_offered);
        unavailable.extend(withheld.iter().map(|tool| tool.definition.name.clone()));
        ToolsOfAgent {
            tools: offered.into(),
            unavailable,
        }
    }
}

impl EphemeralTurn {
    async fn run(self, context: Arc<ChatContext>) {
        let (live, reply_id) = (&self.ownership.live, self.reply_id);
        let engine_start = Instant::now();
        let replying = run_engine_chain(reply_id, &self.chain, &self.request, None, &**live, None);
        let replying = Box::pin(replying);
        let replying = live.stopped().run_until_cancelled_owned(replying);
        let replying = self.abandoned.run_until_cancelled(replying);
        // A turn must end even if its engine panics.
        let outcome = match AssertUnwindSafe(replying).catch_unwind().await {
            Ok(Some(Some(Ok(reply)))) => self.outcome(&reply, &context, engine_start),
            Ok(Some(Some(Err(problem)))) => TurnOutcome::Failed(problem),
            Ok(Some(None)) => TurnOutcome::Failed(Problem::new(ProblemCode::Interrupted)),
            Ok(None) => TurnOutcome::Cancelled,
            Err(_panic) => TurnOutcome::Failed(Problem::new(ProblemCode::Internal)),
        };
        self.end(outcome, &context).await;
    }

    async fn end(&self, outcome: TurnOutcome, context: &ChatContext) {
        match &self.claim {
            Some(entry) => self.settle(entry, outcome, context).await,
            None => self.ownership.live.end(outcome),
        }
    }

    /// Returns the end of a turn with a reply, or with calls of tools of the client.
    fn outcome(&self, reply: &Reply, context: &ChatContext, engine_start: Instant) -> TurnOutcome {
        let completed = |tool_calls| CompletedChat {
            reply: ChatReply {
                tool_calls,
                ..reply.chat_reply(&self.started, context.ports.clock.now())
            },
            position: None,
            store: std::time::Duration::ZERO,
            engine: engine_start.elapsed(),
        };
        if reply.finish_reason != FinishReason::RequiresAction {
            return TurnOutcome::Completed(completed(Vec::new()));
        }
        let live = &self.ownership.live;
        let calls = live.with_reply(|reply| reply.tool_calls(OpenCallStatus::Running));
        TurnOutcome::RequiresAction(completed(calls))
    }
}

impl EphemeralChat {
    fn check(&self) -> Result<(), Vec<InputFault>> {
        if self.files.is_empty() && is_blank(&self.message) {
            let fault = InputFault::new("/message", FaultCode::TooShort, BLANK_IN_WORDS);
            return Err(vec![fault]);
        }
        Ok(())
    }

    /// Returns the ids of a turn of the chat.
    fn subject(&self, caller: ChatCaller<'_>, turn_id: TurnId, ids: &dyn IdSource) -> TurnSubject {
        TurnSubject {
            tenant: caller.principal.tenant.clone(),
            turn_id,
            conversation_id: ConversationId::new(ids.next_id()),
            agent_id: self.agent_id,
            user: self.user_id.clone().into(),
            started_by: caller.principal.id.clone(),
            credential: Some(Arc::clone(caller.credential)),
            request_id: self.request_id.clone(),
            is_ephemeral: true,
        }
    }

    /// Returns the request to the engines of the agent. `first_engine` is the one that is asked first.
    fn request(
        self,
        subject: &TurnSubject,
        agent: Arc<Agent>,
        tools: ToolsOfAgent,
        first_engine: &str,
    ) -> ModelRequest {
        let limits = agent.config.history.clone().unwrap_or_default();
        let tenant = subject.tenant.clone();
        ModelRequest {
            turn_number: user_messages(&self.history),
            user_id: self.user_id,
            history: Arc::new(history(&limits, self.history)),
            earlier_steps: steps(self.steps, first_engine),
            tools: tools.tools,
            unavailable_tools: tools.unavailable,
            tool_use: self.tool_use,
            response_schema: schema_of(self.response_schema.as_ref(), &agent),
            ..ModelRequest::new(tenant, agent, subject.turn_id, self.message)
        }
    }
}

fn user_messages(history: &[PastMessage]) -> i64 {
    let count = history.iter().filter(|it| it.role == Role::User).count();
    i64::try_from(count).unwrap_or(i64::MAX)
}
