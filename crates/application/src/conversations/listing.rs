//! Listing of conversations and their messages, in pages.

use std::time::Duration;

use domain::{
    AgentId, AsOf, Conversation, ConversationId, ConversationKey, Message, Page, Principal, Role,
    Scope, Timestamp, cursor,
};
use ports::{
    ConversationConditions, ConversationFilter, ConversationPosition, ConversationQuery,
    ConversationScan, Handling, ListingOrder, MessageQuery, ScanOrder,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{ConversationError, ConversationService, own_user_id};
use crate::chat::AttachedFile;

/// The number of newest messages among which a recent one is searched.
const RECENT_MESSAGES: usize = 20;

/// The selection of a listing of conversations.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationListing {
    /// The agent of the conversations, if only its are listed.
    pub agent_id: Option<AgentId>,
    /// The user of the conversations, if only theirs are listed.
    pub user_id: Option<String>,
    /// The side that handles the conversations, if only its are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handling: Option<Handling>,
    /// Further conditions on the conversations.
    #[serde(flatten, skip_serializing_if = "ConversationConditions::is_empty")]
    pub conditions: ConversationConditions,
}

impl ConversationListing {
    /// Returns the selection as far as the caller may make it.
    pub(super) fn permitted_to(self, caller: &Principal) -> Result<Self, ConversationError> {
        let user_id = own_user_id(caller, self.user_id.as_deref())?;
        let is_for_staff = matches!(
            self.handling,
            Some(Handling::Staff(Some(_)) | Handling::Waiting(_))
        );
        if is_for_staff && !caller.may_read_context() {
            return Err(ConversationError::NotPermitted(Scope::ConversationsAll));
        }
        Ok(Self { user_id, ..self })
    }

    /// Returns the filter of the conversations that a permitted selection contains.
    pub(super) fn filter(&self, caller: &Principal) -> ConversationFilter {
        ConversationFilter {
            agents: caller.agents.narrowed_to(self.agent_id),
            user_id: self.user_id.clone(),
            handling: self.handling.clone(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Position {
    #[serde(rename = "sort_seq")]
    key: i64,
    id: Uuid,
}

const fn scan_order(by_waiting: bool) -> ScanOrder {
    if by_waiting {
        ScanOrder::Waiting
    } else {
        ScanOrder::Activity
    }
}

impl ConversationService {
    /// Lists conversations, latest activity first, and returns the cursor of the next page.
    pub async fn list(
        &self,
        caller: &Principal,
        listing: ConversationListing,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<AsOf<(Page<Conversation>, Option<String>)>, ConversationError> {
        let listing = listing.permitted_to(caller)?;
        let binding = (caller.tenant.as_str(), "conversations", &listing);
        let after = cursor
            .map(|cursor| cursor::decode::<Position>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| ConversationError::InvalidCursor)?
            .map(|position| ConversationPosition {
                key: position.key,
                id: ConversationId::new(position.id),
            });
        let filter = listing.filter(caller);
        let by_waiting = matches!(filter.handling, Some(Handling::Waiting(_)));
        if !listing.conditions.is_empty() {
            let scan = ConversationScan {
                filter,
                conditions: listing.conditions.clone(),
                order: scan_order(by_waiting),
                after,
                limit,
            };
            return self.scan(caller, &scan, &binding).await;
        }
        let query = ConversationQuery {
            filter,
            after,
            limit,
        };
        let page = self
            .ports
            .conversations
            .list(&caller.tenant, &query)
            .await?;
        Ok(page.map(|page| {
            let last = page.items.last().filter(|_| page.has_more);
            let next = last.map(|last| {
                let waits_since = last.item.waiting_since.filter(|_| by_waiting);
                let position = Position {
                    key: waits_since.map_or(last.sort_seq.0, Timestamp::milliseconds),
                    id: last.item.id.uuid(),
                };
                cursor::encode(&binding, &position)
            });
            (page.into_items().map(|item| item.shown_to(caller)), next)
        }))
    }

    /// Lists the conversations of a scan, and returns the cursor of the next page.
    async fn scan(
        &self,
        caller: &Principal,
        scan: &ConversationScan,
        binding: &impl Serialize,
    ) -> Result<AsOf<(Page<Conversation>, Option<String>)>, ConversationError> {
        let conversations = &self.ports.conversations;
        let found = conversations.scan(&caller.tenant, scan).await?;
        Ok(found.map(|found| {
            let next = found.next.map(|next| {
                let position = Position {
                    key: next.key,
                    id: next.id.uuid(),
                };
                cursor::encode(binding, &position)
            });
            let items = found.items.into_iter();
            let page = Page {
                items: items.map(|listed| listed.item.shown_to(caller)).collect(),
                has_more: next.is_some(),
            };
            (page, next)
        }))
    }

    /// Returns a page with the conversation that has a name, if it exists.
    pub async fn list_named(
        &self,
        caller: &Principal,
        agent_id: AgentId,
        user_id: Option<&str>,
        key: ConversationKey,
    ) -> Result<AsOf<(Page<Conversation>, Option<String>)>, ConversationError> {
        let id = self.find_named(caller, agent_id, user_id, key).await?;
        // Without a conversation, the position is still needed: that of an unknown id.
        let id = id.unwrap_or(ConversationId::new(Uuid::nil()));
        let found = self.ports.conversations.find(&caller.tenant, id).await?;
        Ok(found.map(|found| {
            let items: Vec<_> = found
                .into_iter()
                .map(|found| found.item.shown_to(caller))
                .collect();
            (Page::from_one_more(items, 1), None)
        }))
    }

    /// Finds the newest user message with this text, if it is at most `age` old and among the newest
    /// messages.
    pub async fn find_recent(
        &self,
        caller: &Principal,
        id: ConversationId,
        (text, files): (&str, &[AttachedFile]),
        age: Duration,
    ) -> Result<Option<Message>, ConversationError> {
        let order = ListingOrder::Descending;
        let newest = self.messages(caller, id, order, None, RECENT_MESSAGES, false);
        let (page, _) = newest.await?.value;
        let now = self.ports.clock.now();
        let is_wanted = |message: &Message| {
            let is_recent = now < message.created_at + age;
            let is_equal =
                message.content == text && AttachedFile::may_be_all(files, &message.files);
            message.role == Role::User && is_equal && is_recent
        };
        Ok(page.items.into_iter().find(is_wanted))
    }

    /// Lists the messages of a conversation.
    pub async fn messages(
        &self,
        caller: &Principal,
        id: ConversationId,
        order: ListingOrder,
        cursor: Option<&str>,
        limit: usize,
        with_superseded: bool,
    ) -> Result<AsOf<(Page<Message>, Option<String>)>, ConversationError> {
        let ascending = order == ListingOrder::Ascending;
        let binding = (
            caller.tenant.as_str(),
            "messages",
            id,
            ascending,
            with_superseded,
        );
        let after = cursor
            .map(|cursor| cursor::decode::<i64>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| ConversationError::InvalidCursor)?;
        if caller.is_confined() {
            self.find_accessible(caller, id).await?;
        }
        let query = MessageQuery {
            order,
            after,
            limit,
            with_superseded,
        };
        let found = self
            .ports
            .conversations
            .messages(&caller.tenant, id, &query)
            .await?;
        let mut page = found.value.ok_or(ConversationError::NotFound)?;
        for message in &mut page.items {
            message.show_to(caller.audience());
        }
        let last = page.items.last().filter(|_| page.has_more);
        let next = last.map(|last| cursor::encode(&binding, &last.seq));
        Ok(AsOf {
            value: (page, next),
            position: found.position,
        })
    }
}
