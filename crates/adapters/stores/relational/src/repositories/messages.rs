//! Messages: the pages of a conversation, and the history for an engine.

use domain::{AsOf, ConversationId, Message, Page, TenantId};
use ports::{
    FoundMessage, ListingOrder, MessageCounts, MessageQuery, MessageReference, RepositoryError,
};

use crate::{
    Parameter, Store, page_budget, parameters,
    read::{self, ReadAs},
    statements,
    stored::{StoredFoundMessage, StoredHistoryMessage, StoredListedMessage, StoredPastTurn},
};

/// The statements on the messages of conversation 2 of tenant 1.
pub trait MessageSql:
    Store<
    Row: ReadAs<StoredListedMessage>
             + ReadAs<StoredFoundMessage>
             + ReadAs<StoredHistoryMessage>
             + ReadAs<StoredPastTurn>,
>
{
    statements! {
        /// At most 4 messages after position 3, with the superseded ones if 5 is true, joined to the
        /// tenant's head and to the conversation, if it exists.
        const PAGE_ASCENDING: &'static str;

        /// The messages before position 3.
        const PAGE_DESCENDING: &'static str;

    /// The newest messages before position 3, at most 4, with at most 5 characters, oldest first, with
    /// their turns; without any, one row of nulls. `has_calls` of any row says if turns of the conversation
    /// or, of copied messages, of the original have called tools, `is_fork` if the conversation is a fork.
        const HISTORY: &'static str;

    /// The ended turns with calls whose user's messages are after position 4 and after the last message of
    /// a history before position 3, and not after position 5. Only turns with a sort key of at most 6, and the
    /// newest with at most 7 bytes of journals.
    ///
    /// Unless 3 is 0: those after position 5, too, whose messages are superseded; wherever it is, the turns that
    /// a turn for the message at position 5 repeats (`is_retried`), which the limit of bytes does not affect; and
    /// the turns of the conversations from which the conversation was forked, before its first turn, with the
    /// positions of the copied messages.
    ///
    /// `is_repeated` and `has_same_agent` compare with the message at position 5.
    const PAST_TURNS: &'static str;

        /// The message with id 3.
        const FIND: &'static str;

        /// The newest message with the client's id 3.
        const FIND_BY_CLIENT_ID: &'static str;

        /// The message at position 3, also in a conversation that is deleted.
        const AT: &'static str;
    }
}

/// Returns one page of a conversation's messages; `None` if the conversation does not exist.
pub(super) async fn page<S: MessageSql>(
    store: &S,
    tenant: &TenantId,
    id: ConversationId,
    query: &MessageQuery,
) -> Result<AsOf<Option<Page<Message>>>, RepositoryError> {
    let (statement, start) = match query.order {
        ListingOrder::Ascending => (S::PAGE_ASCENDING, 0),
        ListingOrder::Descending => (S::PAGE_DESCENDING, i64::MAX),
    };
    let (after, limit) = (query.after.unwrap_or(start), query.limit);
    let one_more = page_budget::one_more(limit);
    let parameters = parameters![tenant, id, after, one_more, query.with_superseded];
    let rows = store.fetch_all(statement, parameters).await?;
    let convert = |row: StoredListedMessage| Ok(row.into());
    let page = read::as_of_page("messages", &rows, limit, convert)?;
    read::if_found("conversations", &rows, page)
}

/// Returns the message that `message` refers to.
pub(super) async fn find<S: MessageSql>(
    store: &S,
    tenant: &TenantId,
    id: ConversationId,
    message: &MessageReference,
) -> Result<Option<FoundMessage>, RepositoryError> {
    let (statement, reference) = match message {
        MessageReference::Id(id) => (S::FIND, Parameter::from(*id)),
        MessageReference::ClientId(id) => (S::FIND_BY_CLIENT_ID, id.as_str().into()),
    };
    let parameters = parameters![tenant, id, reference];
    let found = store.fetch_optional(statement, parameters).await?;
    let Some(found): Option<StoredFoundMessage> = read::one("messages", found, Ok)? else {
        return Ok(None);
    };
    let previous = match found.previous {
        Some(seq) => {
            let parameters = parameters![tenant, id, seq];
            let previous = store.fetch_optional(S::AT, parameters).await?;
            let convert = |row: StoredListedMessage| Ok(row.into());
            read::one("messages", previous, convert)?
        }
        None => None,
    };
    Ok(Some(FoundMessage {
        message: found.message.into(),
        before: found.before,
        previous,
        of_staff: found.of_staff,
        counts: MessageCounts {
            last_seq: found.last_seq,
            superseded: found.superseded_count,
        },
    }))
}
