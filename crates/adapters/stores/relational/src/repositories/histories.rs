//! The history for an engine: messages, and the tool calls of their turns.

use domain::{
    ConversationId, HistoryMessage, TenantId,
    history::assembly::{HistoryWindow, PastTurn, WindowMessage, assemble},
};
use ports::{HistoryQuery, RepositoryError};

use super::MessageSql;
use crate::{
    parameters, read,
    stored::{StoredHistoryMessage, StoredPastTurn},
};

/// The bytes of journals for each character of a history. A journal has at most 64 KiB of a result of which 4 KiB
/// count, and a character at most four bytes; so what is not read would not fit either.
const JOURNAL_BYTES_PER_CHARACTER: i64 = 80;
/// The least number of bytes of journals that are read. Calls of turns that are repeated count nowhere.
const MIN_JOURNAL_BYTES: i64 = 1024 * 1024;
/// The maximum number of bytes of journals that are read.
const MAX_JOURNAL_BYTES: i64 = 16 * 1024 * 1024;

/// The turns of one conversation whose calls a history needs.
struct TurnRange {
    conversation: ConversationId,
    /// The first message of the history, or 0 if the messages are copied.
    first: i64,
    /// The user's messages are after this position.
    after: i64,
    /// The user's messages are not after this position.
    to: i64,
    /// The greatest sort key.
    last_sort_seq: i64,
}

/// Implements `ConversationRepository::history`. Conversations without tool calls need one statement.
pub(super) async fn find<S: MessageSql>(
    store: &S,
    tenant: &TenantId,
    id: ConversationId,
    query: &HistoryQuery,
) -> Result<Vec<HistoryMessage>, RepositoryError> {
    let messages = i64::from(query.limits.messages());
    let characters = i64::from(query.limits.characters());
    let parameters = parameters![tenant, id, query.before, messages, characters];
    let rows = store.fetch_all(S::HISTORY, parameters).await?;
    let rows: Vec<StoredHistoryMessage> = read::rows("messages", rows, Ok)?;
    let has_calls = rows.iter().any(|row| row.has_calls || row.is_fork);
    let last_sort_seqs: Vec<_> = rows.iter().map(|row| row.sort_seq).collect();
    let read: Vec<_> = rows
        .into_iter()
        .map(StoredHistoryMessage::into_message)
        .collect();
    let mut turns = Vec::new();
    if has_calls {
        for range in turn_ranges(&read, &last_sort_seqs, id, query.before) {
            let found = past_turns(store, tenant, &range, characters).await?;
            add_turns(&mut turns, found, range.conversation, &read)?;
        }
    }
    let window = HistoryWindow {
        conversation: id,
        before: query.before,
        has_tool_results: query.limits.has_tool_results(),
        messages: read.into_iter().flatten().collect(),
    };
    Ok(assemble(window, turns))
}

/// Returns the turns to read: those of this conversation, and of the conversations from which messages were
/// copied.
fn turn_ranges(
    messages: &[Option<WindowMessage>],
    sort_seqs: &[Option<i64>],
    id: ConversationId,
    before: i64,
) -> Vec<TurnRange> {
    let mut ranges: Vec<TurnRange> = Vec::new();
    for (message, sort_seq) in messages.iter().zip(sort_seqs) {
        let (
            Some(WindowMessage {
                message,
                turn: Some(turn),
            }),
            Some(sort_seq),
        ) = (message, *sort_seq)
        else {
            continue;
        };
        if turn.conversation == id {
            continue;
        }
        if let Some(known) = ranges
            .iter_mut()
            .find(|it| it.conversation == turn.conversation)
        {
            known.to = known.to.max(turn.seq);
            known.last_sort_seq = known.last_sort_seq.max(sort_seq);
            continue;
        }
        // What is before the first message of a history that is cut off is not part of it.
        let is_cut = ranges.is_empty() && message.seq > 1;
        ranges.push(TurnRange {
            conversation: turn.conversation,
            first: 0,
            after: match is_cut {
                true if turn.seq == turn.message_seq => turn.message_seq - 1,
                true => turn.message_seq,
                false => 0,
            },
            to: turn.seq,
            last_sort_seq: sort_seq,
        });
    }
    let first = messages.iter().flatten().next();
    ranges.push(TurnRange {
        conversation: id,
        first: first.map_or(before, |first| first.message.seq),
        after: 0,
        to: before,
        last_sort_seq: i64::MAX,
    });
    ranges
}

/// Adds the turns that were read for a conversation. Those of another one, of which this one has copies, stay
/// with the copies that are shown and belong to them; otherwise they count as turns of this conversation.
fn add_turns(
    turns: &mut Vec<PastTurn>,
    found: Vec<StoredPastTurn>,
    conversation: ConversationId,
    messages: &[Option<WindowMessage>],
) -> Result<(), RepositoryError> {
    for turn in found {
        let (of, seq) = turn.exchange();
        if of != conversation {
            let mut shown = messages.iter().flatten().filter_map(|it| it.turn);
            if shown.any(|it| (it.conversation, it.seq) == (of, seq)) {
                continue;
            }
            turns.retain(|known| known.id != turn.id());
        }
        turns.push(turn.into_turn(conversation)?);
    }
    Ok(())
}

async fn past_turns<S: MessageSql>(
    store: &S,
    tenant: &TenantId,
    range: &TurnRange,
    characters: i64,
) -> Result<Vec<StoredPastTurn>, RepositoryError> {
    let TurnRange {
        conversation,
        first,
        after,
        to,
        last_sort_seq,
    } = *range;
    let bytes = characters.saturating_mul(JOURNAL_BYTES_PER_CHARACTER);
    let bytes = bytes.clamp(MIN_JOURNAL_BYTES, MAX_JOURNAL_BYTES);
    let parameters = parameters![tenant, conversation, first, after, to, last_sort_seq, bytes];
    let rows = store.fetch_all(S::PAST_TURNS, parameters).await?;
    read::rows("turns", rows, Ok)
}
