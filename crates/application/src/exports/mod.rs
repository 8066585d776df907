//! Exports: everything that is stored about a user, and the conversations of a tenant.
//!
//! An export is read page by page while its reader takes it, so its memory does not depend on its size.

mod conversations;
mod parts;

use std::sync::Arc;

use domain::{AgentId, Conversation, Message, Note, Principal, TenantId, Timestamp, Turn, User};
use futures::stream::LocalBoxStream;
use ports::{
    ConversationConditions, ConversationFilter, ConversationScan, NoteRepository, RepositoryError,
    ScanOrder, UserRepository,
};

use crate::{PAGE_LIMIT, UserError, cache::CachedPorts};
use conversations::{Contents, ConversationReader};

/// A part of an export. What belongs to a conversation follows it.
#[derive(Debug, Clone, PartialEq)]
pub enum ExportPart {
    /// The record of the user.
    User(Arc<User>),
    /// A conversation.
    Conversation(Box<Conversation>),
    /// Messages of the last conversation.
    Messages(Vec<Message>),
    /// Turns of the last conversation.
    Turns(Vec<Turn>),
    /// Notes about the last conversation.
    Notes(Vec<Note>),
}

/// The parts of an export, each read when it is needed. Nothing follows an error.
pub type Export = LocalBoxStream<'static, Result<ExportPart, RepositoryError>>;

/// The conversations that an export contains.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportSelection {
    /// Only conversations with this agent.
    pub agent_id: Option<AgentId>,
    /// Only conversations whose last message is of this time or later.
    pub from: Option<Timestamp>,
    /// Only conversations whose last message is from before this time.
    pub to: Option<Timestamp>,
}

/// The use cases of exports.
pub struct ExportService {
    ports: CachedPorts,
    stored_users: Arc<dyn UserRepository>,
    notes: Arc<dyn NoteRepository>,
}

impl ExportService {
    /// Creates a service over these ports. `stored_users` is the repository without a cache.
    pub const fn new(
        ports: CachedPorts,
        stored_users: Arc<dyn UserRepository>,
        notes: Arc<dyn NoteRepository>,
    ) -> Self {
        Self {
            ports,
            stored_users,
            notes,
        }
    }

    /// Exports everything that is stored about a user: also messages that others have replaced, turns and notes.
    pub async fn user(&self, caller: &Principal, user_id: String) -> Result<Export, UserError> {
        let found = self.stored_users.find(&caller.tenant, &user_id).await?;
        let filter = ConversationFilter {
            agents: caller.agents.clone(),
            user_id: Some(user_id),
            handling: None,
        };
        let scan = scan(filter, ConversationConditions::default());
        let reader = self.reader(&caller.tenant, Contents::Everything);
        let first = reader.scan(&scan).await?;
        if found.value.is_none() && first.items.is_empty() {
            return Err(UserError::NotFound);
        }
        let user = found.value.map(ExportPart::User);
        Ok(parts::stream(async move |parts| {
            if let Some(user) = user {
                parts.push(user).await;
            }
            reader.read(first, scan, &parts).await
        }))
    }

    /// Exports the conversations of a tenant that the caller can reach, with their messages, but without notes.
    pub async fn conversations(
        &self,
        caller: &Principal,
        selection: ExportSelection,
    ) -> Result<Export, RepositoryError> {
        let filter = ConversationFilter {
            agents: caller.agents.narrowed_to(selection.agent_id),
            user_id: None,
            handling: None,
        };
        let conditions = ConversationConditions {
            from: selection.from,
            to: selection.to,
            ..ConversationConditions::default()
        };
        let scan = scan(filter, conditions);
        let reader = self.reader(&caller.tenant, Contents::Messages);
        let first = reader.scan(&scan).await?;
        Ok(parts::stream(async move |parts| {
            reader.read(first, scan, &parts).await
        }))
    }

    fn reader(&self, tenant: &TenantId, contents: Contents) -> ConversationReader {
        ConversationReader {
            tenant: tenant.clone(),
            conversations: Arc::clone(&self.ports.conversations),
            turns: Arc::clone(&self.ports.turns),
            notes: Arc::clone(&self.notes),
            contents,
        }
    }
}

fn scan(filter: ConversationFilter, conditions: ConversationConditions) -> ConversationScan {
    ConversationScan {
        filter,
        conditions,
        order: ScanOrder::Id,
        after: None,
        limit: PAGE_LIMIT,
    }
}
