//! The use cases of turns: read, cancel, and answer their tool calls.

mod answering;
mod cancellation;
mod remote_cancellation;

use std::sync::Arc;

use domain::{
    AsOf, Audience, ConversationId, Listed, Page, Principal, Seq, Turn, TurnId, TurnStatus, cursor,
};
use ports::{
    EventBus, FoundTurn, ListingOrder, RepositoryError, TurnConditions, TurnFilter, TurnPosition,
    TurnQuery, TurnScan,
};
use serde::Serialize;
use tokio::{
    task::JoinError,
    time::{error::Elapsed, timeout},
};
pub use writes::{AnswerRejection, CallAnswer, NotStaff};

pub(crate) use self::answering::expire;
pub use self::remote_cancellation::CancellationListener;
use self::{cancellation::Cancellation, remote_cancellation::cancel_remotely};
use crate::{
    ConversationError, PAGE_LIMIT,
    chat::{AcceptedTurn, ChatContext, MAX_STORE_TIME, TurnRunner},
    conversations::own_user_id,
    engines::OpenCallStatus,
};

/// The error of a use case of turns.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The turn does not exist, or the caller may not know of it.
    #[error("no such turn")]
    NotFound,
    /// The conversation does not exist, or the caller may not know of it.
    #[error("no such conversation")]
    ConversationNotFound,
    /// The cursor belongs to another listing.
    #[error("not a cursor of this listing")]
    InvalidCursor,
    /// A tool call cannot be answered so.
    #[error("the call cannot be answered so")]
    Answer {
        /// The index of the answer.
        index: usize,
        /// The reason.
        reason: AnswerRejection,
    },
    /// This process runs no further turns.
    #[error("the process is shutting down")]
    Draining,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// The use cases of turns: read, cancel, and answer their tool calls.
pub struct TurnService {
    context: Arc<ChatContext>,
    runner: Arc<TurnRunner>,
    bus: Arc<dyn EventBus>,
}

impl TurnService {
    /// Creates a service for the turns that `runner` runs. Other nodes are reached over `bus`.
    pub fn new(context: Arc<ChatContext>, runner: Arc<TurnRunner>, bus: Arc<dyn EventBus>) -> Self {
        Self {
            context,
            runner,
            bus,
        }
    }

    /// Reads a turn. A turn that runs here contains the tools that it has called so far.
    pub async fn get(&self, caller: &Principal, id: TurnId) -> Result<AsOf<Turn>, TurnError> {
        let AsOf { value, position } = self.find(caller, id).await?;
        let mut turn = value.turn;
        if turn.status == TurnStatus::InProgress
            && let Some(live) = self.context.live.get(id)
        {
            // Tool calls and reasoning are stored at the end of the turn: until then, only the process
            // that runs it knows them.
            let progress = live.progress();
            turn.tool_calls = progress.reply.tool_calls(OpenCallStatus::Running);
            turn.reasoning = progress.reply.reasoning.to_stored().or(turn.reasoning);
        }
        turn.show_to(caller.audience());
        Ok(AsOf {
            value: turn,
            position,
        })
    }

    /// Returns the turn of a chat. A turn that was just stored is not read back.
    pub async fn accepted_turn(
        &self,
        caller: &Principal,
        accepted: AcceptedTurn,
    ) -> Result<Turn, TurnError> {
        let (id, audience) = (accepted.turn_id, accepted.audience());
        if let Some(turn) = accepted.into_turn() {
            return Ok(turn);
        }
        let mut turn = self.get(caller, id).await?.value;
        turn.show_to(audience);
        Ok(turn)
    }

    /// Cancels a queued or running turn, and stores the partial reply of its engine; without it if
    /// the node that runs the turn does not respond. A turn that has already ended is returned
    /// unchanged.
    pub async fn cancel(&self, caller: &Principal, id: TurnId) -> Result<Turn, TurnError> {
        let mut found = self.find(caller, id).await?.value;
        if found.turn.status.is_final() {
            found.turn.show_to(caller.audience());
            return Ok(found.turn);
        }
        let live = &self.context.live;
        let (reply_id, is_running) = (found.reply_id, found.turn.status == TurnStatus::InProgress);
        // Registered from here on, since the turn may begin to run here at any time.
        let live = live.get_or_register_found(&caller.tenant, found);
        if is_running
            && !live.is_local()
            && cancel_remotely(&self.context, &self.bus, &live, &caller.id).await
        {
            return Ok(self.get(caller, id).await?.value);
        }
        let cancellation =
            Cancellation::new(&self.context, &self.runner, live, reply_id, &caller.id);
        let panicked = |error: JoinError| RepositoryError::Unavailable(error.into());
        let late = |elapsed: Elapsed| RepositoryError::Unavailable(elapsed.into());
        let cancelling = self.context.background.spawn(cancellation.run());
        let cancelled = timeout(MAX_STORE_TIME, cancelling).await.map_err(late)?;
        cancelled.map_err(panicked)??;
        Ok(self.get(caller, id).await?.value)
    }

    /// Cancels the open turns of a conversation, the last one first, so that none of them starts
    /// meanwhile. A conversation that does not exist, or is deleted meanwhile, has none.
    pub async fn cancel_open(
        &self,
        caller: &Principal,
        conversation: ConversationId,
    ) -> Result<(), TurnError> {
        let query = TurnQuery {
            filter: TurnFilter::Open,
            order: ListingOrder::Descending,
            after: None,
            limit: PAGE_LIMIT,
        };
        let turns = &self.context.ports.turns;
        let page = turns.list(&caller.tenant, conversation, &query).await?;
        for turn in page.value.into_iter().flat_map(|page| page.items) {
            match self.cancel(caller, turn.item.id).await {
                Ok(_) | Err(TurnError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Lists the turns of a conversation in the order in which they began, and returns the cursor of
    /// the next page.
    pub async fn list(
        &self,
        caller: &Principal,
        conversation: ConversationId,
        (filter, order): (TurnFilter, ListingOrder),
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<AsOf<(Page<Turn>, Option<String>)>, TurnError> {
        let (status, is_ascending) = (filter.name(), order == ListingOrder::Ascending);
        let binding = (
            caller.tenant.as_str(),
            "turns",
            conversation,
            status,
            is_ascending,
        );
        let after = cursor
            .map(|cursor| cursor::decode::<Seq>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| TurnError::InvalidCursor)?;
        let ports = &self.context.ports;
        let context = ports.conversations.find_state(&caller.tenant, conversation);
        let context = context.await?.value;
        if !context.is_some_and(|it| caller.may_reach(it.user_id.as_deref(), it.agent_id)) {
            return Err(TurnError::ConversationNotFound);
        }
        let query = TurnQuery {
            filter,
            order,
            after,
            limit,
        };
        let found = ports
            .turns
            .list(&caller.tenant, conversation, &query)
            .await?;
        let page = found.value.ok_or(TurnError::ConversationNotFound)?;
        Ok(AsOf {
            value: shown(page, caller, &binding),
            position: found.position,
        })
    }

    /// Lists the turns of the tenant that meet conditions, the newest first, and returns the cursor of the next
    /// page. Callers that are confined to a user see those of its conversations.
    pub async fn scan(
        &self,
        caller: &Principal,
        conditions: TurnConditions,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<AsOf<(Page<Turn>, Option<String>)>, ConversationError> {
        let conditions = TurnConditions {
            agents: caller.agents.intersection(&conditions.agents),
            user_id: own_user_id(caller, conditions.user_id.as_deref())?,
            as_user: caller.audience() == Audience::User,
            ..conditions
        };
        let binding = (caller.tenant.as_str(), "all_turns", conditions.clone());
        let before = cursor
            .map(|cursor| cursor::decode::<TurnPosition>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| ConversationError::InvalidCursor)?;
        let scan = TurnScan {
            conditions,
            before,
            limit,
        };
        let turns = &self.context.ports.turns;
        let found = turns.scan(&caller.tenant, &scan).await?;
        Ok(found.map(|found| {
            let next = found.next.map(|next| cursor::encode(&binding, &next));
            let items = found.items.into_iter().map(|mut turn| {
                turn.item.show_to(caller.audience());
                turn.item
            });
            let page = Page {
                items: items.collect(),
                has_more: next.is_some(),
            };
            (page, next)
        }))
    }

    async fn find(&self, caller: &Principal, id: TurnId) -> Result<AsOf<FoundTurn>, TurnError> {
        let AsOf { value, position } = self.context.ports.turns.find(&caller.tenant, id).await?;
        let found =
            value.filter(|found| caller.may_reach(found.user_id.as_deref(), found.turn.agent_id));
        Ok(AsOf {
            value: found.ok_or(TurnError::NotFound)?,
            position,
        })
    }
}

/// Returns a page as the caller sees it, and the cursor of the next one.
fn shown(
    mut page: Page<Listed<Turn>>,
    caller: &Principal,
    binding: &impl Serialize,
) -> (Page<Turn>, Option<String>) {
    for turn in &mut page.items {
        turn.item.show_to(caller.audience());
    }
    let last = page.items.last().filter(|_| page.has_more);
    let next = last.map(|last| cursor::encode(binding, &last.sort_seq));
    (page.into_items(), next)
}
