//! The follower.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    Agent, ConversationId, Event, EventData, EventType, MessageId, PrincipalId, RequestUsage, Seq,
    Stamp, TenantId, TitlesConfig, TurnId,
    title::{first_words, title_in},
};
use futures::{TryStreamExt as _, stream};
use ports::{FollowerPosition, FollowerRepository, FollowerStep, LoggedEvent, RepositoryError};
use writes::TitleConversation;

use super::{first_turn::FirstTurn, request::request_for};
use crate::{
    background::round,
    cache::CachedPorts,
    engines::{BufferedSink, Engines, ReplySink as _, TurnOrigin, reply_without_tools},
    followers::{FollowerWork, begin_at_head},
};

/// The name of the follower.
const NAME: &str = "titles";
/// The maximum number of requests for titles at a time.
const REQUESTS: usize = 8;
/// The number of attempts at a title while others keep changing the conversation.
const WRITE_ATTEMPTS: usize = 100;

/// The follower that asks a model for a title after the first completed turn of a conversation, if the agent is
/// configured so. It begins with new turns, and asks once: a conversation whose request fails stays without.
pub struct TitleWriter {
    followers: Arc<dyn FollowerRepository>,
    ports: CachedPorts,
    engines: Arc<Engines>,
}

/// A turn that has been completed with a reply.
struct CompletedTurn {
    conversation: ConversationId,
    id: TurnId,
    agent: Arc<Agent>,
    titles: TitlesConfig,
}

impl TitleWriter {
    /// Creates the follower.
    pub const fn new(
        followers: Arc<dyn FollowerRepository>,
        ports: CachedPorts,
        engines: Arc<Engines>,
    ) -> Self {
        Self {
            followers,
            ports,
            engines,
        }
    }

    /// Returns the turn that an event has completed, if its agent wants titles.
    async fn completed_turn(
        &self,
        tenant: &TenantId,
        event: &Event,
    ) -> Result<Option<CompletedTurn>, RepositoryError> {
        let has_reply = matches!(
            event.data,
            EventData::Turn {
                message: Some(_),
                ..
            }
        );
        if !has_reply {
            return Ok(None);
        }
        let ids = (event.conversation_id, event.turn_id, event.agent_id);
        let (Some(conversation), Some(id), Some(agent)) = ids else {
            return Ok(None);
        };
        let Some(agent) = self.ports.agents.find(tenant, agent).await?.value else {
            return Ok(None);
        };
        let titles = agent.config.titles.clone();
        Ok(titles.map(|titles| CompletedTurn {
            conversation,
            id,
            agent,
            titles,
        }))
    }

    /// Gives a conversation a title. One that never succeeds gets none: the models would be asked for the others again
    /// and again.
    async fn title_if_possible(
        &self,
        tenant: &TenantId,
        turn: CompletedTurn,
    ) -> Result<(), RepositoryError> {
        let conversation = turn.conversation;
        match self.title(tenant, turn).await {
            Err(error) if !error.is_retryable() => {
                let error = ports::error::one_line(&error);
                tracing::warn!(error, %conversation, "cannot write a title");
                Ok(())
            }
            titled => titled,
        }
    }

    /// Gives a conversation a title after its first turn.
    async fn title(&self, tenant: &TenantId, turn: CompletedTurn) -> Result<(), RepositoryError> {
        let conversations = &*self.ports.conversations;
        let place = (turn.conversation, turn.id);
        let Some(first) = FirstTurn::find(conversations, tenant, place).await? else {
            return Ok(());
        };
        // A panic of an engine must not repeat the request for ever.
        let asked = round(self.ask(tenant, &turn, &first)).await;
        let (title, requests) = asked.unwrap_or_default();
        if title.is_none() {
            tracing::debug!(%tenant, conversation = %turn.conversation, "no title from the model");
        }
        if title.is_none() && requests.is_empty() {
            return Ok(());
        }
        self.write(tenant, &turn, first, (title, requests)).await
    }

    /// Asks the model once. Returns the title, if it has replied, and the requests that may be billed.
    async fn ask(
        &self,
        tenant: &TenantId,
        turn: &CompletedTurn,
        first: &FirstTurn,
    ) -> (Option<String>, Vec<RequestUsage>) {
        let request = request_for(tenant, &turn.agent, &turn.titles, first);
        let chain = self.engines.chain(tenant, &request.agent);
        let Some(engine) = chain.first().filter(|it| !it.engine.is_immediate()) else {
            return Default::default();
        };
        let service = PrincipalId::service();
        let sink = BufferedSink::new(TurnOrigin {
            conversation: turn.conversation,
            is_stored: true,
            started_by: &service,
            credential: None,
            request_id: None,
        });
        // The answer is no message.
        let id = MessageId::new(turn.id.uuid());
        let answer = reply_without_tools(id, engine, &request, &sink).await;
        let title = answer.ok().flatten().and_then(|answer| {
            let texts = [&first.message, &first.reply];
            title_in(&answer.content).or_else(|| texts.into_iter().find_map(|it| first_words(it)))
        });
        (title, sink.with_reply(|reply| reply.requests.to_models()))
    }

    /// Stores a title, unless the conversation got one meanwhile, and the requests.
    async fn write(
        &self,
        tenant: &TenantId,
        turn: &CompletedTurn,
        first: FirstTurn,
        (title, requests): (Option<String>, Vec<RequestUsage>),
    ) -> Result<(), RepositoryError> {
        let mut command = TitleConversation {
            tenant: tenant.clone(),
            conversation: first.conversation,
            title,
            turn_id: turn.id,
            agent: (turn.agent.id, turn.agent.version),
            requests,
            stamp: Stamp {
                time: self.ports.clock.now(),
                actor: PrincipalId::service(),
            },
        };
        for _ in 1..WRITE_ATTEMPTS {
            match self.ports.writes.write(command.clone()).await {
                Err(RepositoryError::Stale { .. }) => {}
                written => return written.map(drop),
            }
            let conversations = &self.ports.conversations;
            let found = conversations.find(tenant, turn.conversation).await?.value;
            if let Some(found) = found {
                command.conversation = found.item;
            }
        }
        self.ports.writes.write(command).await.map(drop)
    }
}

#[async_trait]
impl FollowerWork for TitleWriter {
    fn name(&self) -> &'static str {
        NAME
    }

    fn types(&self) -> &'static [EventType] {
        &[EventType::TurnCompleted]
    }

    async fn positions(&self) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
        self.followers.positions(NAME).await
    }

    async fn begin(
        &self,
        tenant: &TenantId,
        from: Option<FollowerPosition>,
        head: Seq,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        begin_at_head(&*self.followers, NAME, tenant, from, head).await
    }

    /// After a crash the same turns come again: those whose conversations have titles by then are skipped.
    async fn apply(
        &self,
        step: &FollowerStep,
        events: &[LoggedEvent],
    ) -> Result<bool, RepositoryError> {
        let tenant = &step.tenant;
        let mut turns = Vec::new();
        for event in events {
            turns.extend(self.completed_turn(tenant, &event.event).await?);
        }
        let titled = turns
            .into_iter()
            .map(|turn| Ok(self.title_if_possible(tenant, turn)));
        stream::iter(titled)
            .try_buffer_unordered(REQUESTS)
            .try_collect::<()>()
            .await?;
        self.followers.advance(NAME, step).await
    }
}
