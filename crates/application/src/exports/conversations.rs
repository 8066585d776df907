//! Reading conversations with what belongs to them.

use std::sync::Arc;

use domain::{Conversation, ConversationId, Listed, Message, Page, TenantId};
use futures::{StreamExt as _, stream};
use ports::{
    ConversationRepository, ConversationScan, ListingOrder, MessageQuery, NoteRepository,
    RepositoryError, ScannedConversations, TurnFilter, TurnQuery, TurnRepository,
};

use super::{ExportPart, parts::Parts};
use crate::PAGE_LIMIT;

/// The number of conversations whose first messages are read at the same time.
const READ_AHEAD: usize = 4;

/// The parts of a conversation that an export contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contents {
    /// The messages that are not superseded.
    Messages,
    /// All messages, turns and notes.
    Everything,
}

/// A reader of whole conversations.
pub(super) struct ConversationReader {
    pub(super) tenant: TenantId,
    pub(super) conversations: Arc<dyn ConversationRepository>,
    pub(super) turns: Arc<dyn TurnRepository>,
    pub(super) notes: Arc<dyn NoteRepository>,
    pub(super) contents: Contents,
}

impl ConversationReader {
    /// Reads a page of conversations.
    pub(super) async fn scan(
        &self,
        scan: &ConversationScan,
    ) -> Result<ScannedConversations, RepositoryError> {
        Ok(self.conversations.scan(&self.tenant, scan).await?.value)
    }

    /// Reads all conversations of a scan, from its first page on, with their contents. A conversation that is
    /// deleted meanwhile is left out, or has no further contents.
    pub(super) async fn read(
        &self,
        first: ScannedConversations,
        mut scan: ConversationScan,
        parts: &Parts,
    ) -> Result<(), RepositoryError> {
        let mut page = first;
        loop {
            let items = page.items.into_iter().map(|found| self.begin(found));
            let mut begun = stream::iter(items).buffered(READ_AHEAD);
            while let Some(conversation) = begun.next().await {
                if let Some((conversation, messages)) = conversation? {
                    self.push(conversation, messages, parts).await?;
                }
            }
            if page.next.is_none() {
                return Ok(());
            }
            scan.after = page.next;
            page = self.scan(&scan).await?;
        }
    }

    /// Reads the first messages of a conversation.
    async fn begin(
        &self,
        found: Listed<Conversation>,
    ) -> Result<Option<(Conversation, Page<Message>)>, RepositoryError> {
        let messages = self.messages(found.item.id, None).await?;
        Ok(messages.map(|messages| (found.item, messages)))
    }

    async fn push(
        &self,
        conversation: Conversation,
        mut messages: Page<Message>,
        parts: &Parts,
    ) -> Result<(), RepositoryError> {
        let id = conversation.id;
        let part = ExportPart::Conversation(Box::new(conversation));
        parts.push(part).await;
        loop {
            let last = messages.items.last().map(|last| last.seq);
            let has_more = messages.has_more;
            parts.push(ExportPart::Messages(messages.items)).await;
            if !has_more {
                break;
            }
            match self.messages(id, last).await? {
                Some(next) => messages = next,
                None => return Ok(()),
            }
        }
        if self.contents == Contents::Everything {
            self.push_turns(id, parts).await?;
            self.push_notes(id, parts).await?;
        }
        Ok(())
    }

    async fn messages(
        &self,
        id: ConversationId,
        after: Option<i64>,
    ) -> Result<Option<Page<Message>>, RepositoryError> {
        let query = MessageQuery {
            order: ListingOrder::Ascending,
            after,
            limit: PAGE_LIMIT,
            with_superseded: self.contents == Contents::Everything,
        };
        let found = self.conversations.messages(&self.tenant, id, &query);
        Ok(found.await?.value)
    }

    async fn push_turns(&self, id: ConversationId, parts: &Parts) -> Result<(), RepositoryError> {
        let mut query = TurnQuery {
            filter: TurnFilter::All,
            order: ListingOrder::Ascending,
            after: None,
            limit: PAGE_LIMIT,
        };
        while let Some(page) = self.turns.list(&self.tenant, id, &query).await?.value {
            let (has_more, last) = (page.has_more, page.items.last().map(|last| last.sort_seq));
            parts.push(ExportPart::Turns(page.into_items().items)).await;
            if !has_more {
                break;
            }
            query.after = last;
        }
        Ok(())
    }

    async fn push_notes(&self, id: ConversationId, parts: &Parts) -> Result<(), RepositoryError> {
        let mut after = None;
        loop {
            let page = self.notes.list(&self.tenant, id, after, PAGE_LIMIT).await?;
            let (has_more, last) = (page.has_more, page.items.last().map(|last| last.sort_seq));
            parts.push(ExportPart::Notes(page.into_items().items)).await;
            if !has_more {
                return Ok(());
            }
            after = last;
        }
    }
}
