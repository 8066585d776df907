//! The event log.

use std::collections::HashMap;

use async_trait::async_trait;
use domain::{
    Agent, Audience, Conversation, ConversationId, EventType, Message, Seq, TenantId, TurnId,
};
use ports::{
    ContentQuery, EventContent, EventDecision, EventLog, EventPage, EventQuery, EventScan,
    EventTurn, LogBounds, LogHead, LoggedChange, RepositoryError,
};
use uuid::Uuid;

use super::Repositories;
use crate::{
    Parameter, agent_ids, column, page_budget, parameters,
    read::{self, ReadAs},
    statements,
    store::Store,
    stored::{
        EMPTY_LOG, LogColumns, StoredChange, StoredConversation, StoredEvent, StoredFeedback,
        StoredMessage, StoredSnapshot, StoredTurn, events_with_bounds, principal_column,
    },
};

/// The maximum number of events that one page scans.
const MAX_SCANNED_EVENTS: i64 = 10_000;

/// The maximum number of events that one count scans.
const MAX_COUNTED_EVENTS: i64 = 100_000;

statements! {
    const BOUNDS: &str = "select first_seq, head_seq from tenants where id = $1";

    const HEADS: &str = "select id, head_seq from tenants order by id";

    const CHANGES: &str = "\
        select seq, type, agent_id, conversation_id, turn_id, \
            case when type = 'user.updated' \
                or type = 'conversation.updated' and data ->> 'moved' is not null \
                then user_id end as user_id, \
            type = 'conversation.updated' and data ->> 'moved' is not null as is_move from events \
        where tenant_id = $1 and seq > $2 order by seq limit $3";
}

/// The statements on the event log of tenant 1.
pub trait EventSql:
    Store<
    Row: ReadAs<LogColumns>
             + ReadAs<StoredEvent>
             + ReadAs<StoredTurn>
             + ReadAs<StoredConversation>
             + ReadAs<StoredMessage>
             + ReadAs<StoredFeedback>
             + ReadAs<StoredSnapshot>
             + ReadAs<StoredChange>
             + ReadAs<(i64,)>
             + ReadAs<(i64, i64)>
             + ReadAs<(String, i64)>,
>
{
    statements! {
        /// The bounds of the log, and at most 3 of the next 4 events after position 2. They pass the
        /// filters 5 (types), 6 (an agent) and 7 (a conversation), each unless it is null. Visible are
        /// events of agents if 8 is true, and of users if 13 is; those of conversations if 9 is true, else those of turns of
        /// principal 10, ratings by principals other than the user if 14 is true, and all of these only of user 11, unless it is null: of the conversations that
        /// belong to user 11 now, and the moves by which user 11 has lost one, as deletions.
        const PAGE: &'static str;

        /// The number of these events.
        const COUNT: &'static str;

        /// The turns with the ids 2 and their replies.
        const TURNS: &'static str;

        /// The conversations with the ids 2 that are not deleted.
        const CONVERSATIONS: &'static str;

        /// The messages of the conversations with the ids 2, each at its position of 3.
        const MESSAGES: &'static str;

        /// The ratings with the keys in 2 (conversations), 3 (positions of messages) and 4 (principals).
        const FEEDBACK: &'static str;

        /// The agents after the events at the positions 2.
        const SNAPSHOTS: &'static str;
    }
}

#[async_trait]
impl<S: EventSql> EventLog for Repositories<S> {
    async fn page(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
        decision: &dyn EventDecision,
    ) -> Result<EventPage, RepositoryError> {
        let types = type_names(query);
        let agents = reached_agents(query);
        let filters = filters(tenant, query, &types, MAX_SCANNED_EVENTS, agents.as_deref());
        let rows = self.0.fetch_all(S::PAGE, &filters).await?;
        let (records, bounds) = events_with_bounds(tenant, &rows)?;
        drop(rows);
        let scan = EventScan {
            records,
            bounds,
            until: bounds.head.min(query.since.plus(MAX_SCANNED_EVENTS)),
        };
        let mut selected = decision.select(scan, query);
        let wanted = std::mem::take(&mut selected.wanted);
        let content = content(&self.0, tenant, wanted).await?;
        decision.join(selected, content)
    }

    async fn count(&self, tenant: &TenantId, query: &EventQuery) -> Result<usize, RepositoryError> {
        let types = type_names(query);
        let agents = reached_agents(query);
        let filters = filters(tenant, query, &types, MAX_COUNTED_EVENTS, agents.as_deref());
        let counted = self.0.fetch_optional(S::COUNT, &filters).await?;
        let count: i64 = read::value("events", counted)?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    async fn bounds(&self, tenant: &TenantId) -> Result<LogBounds, RepositoryError> {
        let found = self.0.fetch_optional(BOUNDS, parameters![tenant]).await?;
        let bounds: Option<(i64, i64)> = read::one("tenants", found, Ok)?;
        let (first, head) = bounds.unwrap_or(EMPTY_LOG);
        Ok(LogBounds::new(Seq(first), Seq(head)))
    }

    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError> {
        let rows = self.0.fetch_own(HEADS, &[]).await?;
        read::rows("tenants", rows, |(id, head): (String, i64)| {
            Ok(LogHead {
                tenant: column::parse("tenants.id", &id)?,
                head: Seq(head),
            })
        })
    }

    async fn changes(
        &self,
        tenant: &TenantId,
        since: Seq,
        limit: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        let parameters = parameters![tenant, since, page_budget::row_count(limit)];
        let rows = self.0.fetch_own(CHANGES, parameters).await?;
        read::rows("events", rows, |row: StoredChange| Ok(row.into()))
    }
}

fn type_names(query: &EventQuery) -> Vec<&str> {
    query.types.iter().map(EventType::as_str).collect()
}

fn reached_agents(query: &EventQuery) -> Option<Vec<Uuid>> {
    agent_ids(&query.visibility.as_ref()?.reach)
}

/// The parameters of a statement on the events that pass the filters of `query`, among the next
/// `scanned`.
fn filters<'a>(
    tenant: &'a TenantId,
    query: &'a EventQuery,
    types: &'a [&'a str],
    scanned: i64,
    agents: Option<&'a [Uuid]>,
) -> [Parameter<'a>; 14] {
    let visibility = query.visibility.as_ref();
    let principal = visibility.map(|visibility| visibility.principal.as_str());
    let user_id = visibility.and_then(|visibility| visibility.user_id.as_deref());
    // A statement adds the scan length to it. The limit is greater than any head.
    let since = query.since.0.min(i64::MAX - scanned);
    *parameters![
        tenant,
        since,
        page_budget::row_count(query.limit),
        scanned,
        Parameter::Texts((!types.is_empty()).then_some(types)),
        query.agent_id,
        query.conversation_id,
        visibility.is_none_or(|visibility| visibility.agents),
        visibility.is_none_or(|visibility| visibility.conversations),
        principal.unwrap_or_default(),
        user_id,
        Parameter::Ids(agents),
        visibility.is_none_or(|visibility| visibility.users),
        visibility.is_none_or(|visibility| visibility.audience == Audience::Staff),
    ]
}

/// Reads the content, one kind at a time; runs no statement for a kind that is not wanted.
async fn content<S: EventSql>(
    store: &S,
    tenant: &TenantId,
    wanted: ContentQuery,
) -> Result<EventContent, RepositoryError> {
    let mut content = EventContent::default();
    let turns = uuids(wanted.turns, TurnId::uuid);
    if !turns.is_empty() {
        let parameters = parameters![tenant, turns.as_slice()];
        let rows = store.fetch_all(S::TURNS, parameters).await?;
        content.turns = read::rows("turns", rows, |row: StoredTurn| {
            let turn: EventTurn = row.try_into()?;
            Ok((turn.row.turn.id, turn))
        })?;
    }
    let conversations = uuids(wanted.conversations, ConversationId::uuid);
    if !conversations.is_empty() {
        let parameters = parameters![tenant, conversations.as_slice()];
        let rows = store.fetch_all(S::CONVERSATIONS, parameters).await?;
        content.conversations = read::rows("conversations", rows, |row: StoredConversation| {
            let conversation: Conversation = row.try_into()?;
            Ok((conversation.id, conversation))
        })?;
    }
    if !wanted.messages.is_empty() {
        let (of, seqs): (Vec<_>, Vec<_>) = wanted.messages.into_iter().unzip();
        let of = uuids(of, ConversationId::uuid);
        let parameters = parameters![tenant, of.as_slice(), Parameter::Numbers(&seqs)];
        let rows = store.fetch_all(S::MESSAGES, parameters).await?;
        content.messages = read::rows("messages", rows, |row: StoredMessage| {
            let message: Message = row.into();
            Ok(((message.conversation_id, message.seq), message))
        })?;
    }
    if !wanted.feedback.is_empty() {
        let keys = wanted.feedback.iter();
        let of: Vec<_> = keys.clone().map(|key| key.conversation_id.uuid()).collect();
        let seqs: Vec<_> = keys.clone().map(|key| key.message_seq).collect();
        let principals: Vec<_> = keys.map(principal_column).collect();
        let parameters = parameters![
            tenant,
            of.as_slice(),
            Parameter::Numbers(&seqs),
            Parameter::Texts(Some(&principals)),
        ];
        let rows = store.fetch_all(S::FEEDBACK, parameters).await?;
        content.feedback = read::rows("feedback", rows, |row: StoredFeedback| Ok(row.into()))?;
    }
    let snapshots: Vec<i64> = wanted.snapshots.into_iter().map(|seq| seq.0).collect();
    if !snapshots.is_empty() {
        let parameters = parameters![tenant, Parameter::Numbers(&snapshots)];
        let rows = store.fetch_all(S::SNAPSHOTS, parameters).await?;
        let convert = |row: StoredSnapshot| Ok(row.into());
        let agents: HashMap<Seq, Agent> = read::rows("events", rows, convert)?;
        content.snapshots = agents;
    }
    Ok(content)
}

fn uuids<Id>(ids: Vec<Id>, uuid: impl Fn(Id) -> Uuid) -> Vec<Uuid> {
    ids.into_iter().map(uuid).collect()
}
