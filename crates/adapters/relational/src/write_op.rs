//! The writes that are committed in groups, and their outcomes.

use domain::{AgentId, Conversation, ConversationId, IdempotencyEntry, TenantId};
use ports::{
    BeginOutcome, BeginTurn, Committed, CompletedTurn, ConversationName, ConversationTarget,
    DeleteOutcome, FinishOutcome, FinishTurn, FirstMessages, Idempotent, RecordTurnOutcome,
    RepositoryError,
};

use crate::{
    CreateAgent, CreateConversation, CreateCredential, DeleteConversation, RevokeCredential,
    UpdateAgent, UpdateConversation, facts::RecordKey,
};

/// A call of a port whose write is committed together with others.
#[derive(Debug, Clone)]
pub enum WriteOp {
    /// `TurnRepository::record_completed_turn`.
    CompletedTurn(Box<CompletedTurn>),
    /// `TurnRepository::begin_turn`.
    Begin(Box<BeginTurn>),
    /// `TurnRepository::finish_turn`.
    Finish(Box<FinishTurn>),
    /// `AgentRepository::insert`.
    CreateAgent(Box<CreateAgent>),
    /// `AgentRepository::update`.
    UpdateAgent(Box<UpdateAgent>),
    /// `ConversationRepository::insert`.
    CreateConversation(Box<CreateConversation>),
    /// `ConversationRepository::update`.
    UpdateConversation(Box<UpdateConversation>),
    /// `ConversationRepository::delete`.
    DeleteConversation(Box<DeleteConversation>),
    /// `CredentialRepository::insert`.
    CreateCredential(Box<CreateCredential>),
    /// `CredentialRepository::revoke`.
    RevokeCredential(Box<RevokeCredential>),
}

impl WriteOp {
    /// The tenant that owns the data.
    pub fn tenant(&self) -> &TenantId {
        match self {
            Self::CompletedTurn(completed_turn) => &completed_turn.begin.tenant,
            Self::Begin(begin) => &begin.tenant,
            Self::Finish(finish) => &finish.tenant,
            Self::CreateAgent(create) => &create.tenant,
            Self::UpdateAgent(update) => &update.tenant,
            Self::CreateConversation(create) => &create.tenant,
            Self::UpdateConversation(update) => &update.tenant,
            Self::DeleteConversation(delete) => &delete.tenant,
            Self::CreateCredential(create) => &create.credential.tenant,
            Self::RevokeCredential(revoke) => &revoke.tenant,
        }
    }

    /// The conversation that it creates or changes.
    pub fn conversation_id(&self) -> Option<ConversationId> {
        match self {
            Self::CompletedTurn(completed_turn) => Some(completed_turn.begin.target.id()),
            Self::Begin(begin) => Some(begin.target.id()),
            Self::Finish(finish) => Some(finish.conversation_id),
            Self::CreateConversation(create) => Some(create.conversation.id),
            Self::UpdateConversation(update) => Some(update.conversation.id),
            Self::DeleteConversation(delete) => Some(delete.id),
            Self::CreateAgent(_)
            | Self::UpdateAgent(_)
            | Self::CreateCredential(_)
            | Self::RevokeCredential(_) => None,
        }
    }

    /// The conversation that it reads without changing it.
    pub fn copied_conversation(&self) -> Option<ConversationId> {
        match self {
            Self::CreateConversation(create) => match &create.first_messages {
                FirstMessages::Forked(copied) => Some(copied.from),
                FirstMessages::None | FirstMessages::Greeting(_) => None,
            },
            _ => None,
        }
    }

    /// The name of the conversation that it creates, if the client has named it.
    pub fn new_name(&self) -> Option<ConversationName> {
        let conversation = match self {
            Self::CreateConversation(create) => &create.conversation,
            _ => match &self.begin_turn()?.target {
                ConversationTarget::New(conversation) => conversation,
                ConversationTarget::Existing { .. } => return None,
            },
        };
        ConversationName::of(conversation)
    }

    /// The agent that it creates or changes.
    pub fn changed_agent(&self) -> Option<AgentId> {
        match self {
            Self::CreateAgent(create) => Some(create.agent.id),
            Self::UpdateAgent(update) => Some(update.agent.id),
            _ => None,
        }
    }

    /// The start of a turn, if this write begins one.
    pub fn begin_turn(&self) -> Option<&BeginTurn> {
        match self {
            Self::CompletedTurn(completed_turn) => Some(&completed_turn.begin),
            Self::Begin(begin) => Some(begin),
            _ => None,
        }
    }

    /// Returns whether it may start a turn that its caller has to run.
    pub const fn starts_a_turn(&self) -> bool {
        matches!(self, Self::Begin(_) | Self::Finish(_))
    }

    /// Returns whether it creates its conversation.
    pub fn creates_conversation(&self) -> bool {
        let target = self.begin_turn().map(|begin| &begin.target);
        matches!(self, Self::CreateConversation(_))
            || matches!(target, Some(ConversationTarget::New(_)))
    }

    /// Its idempotency entry.
    pub fn idempotency(&self) -> Option<&IdempotencyEntry> {
        match self {
            Self::CompletedTurn(completed_turn) => completed_turn.begin.idempotency.as_ref(),
            Self::Begin(begin) => begin.idempotency.as_ref(),
            Self::CreateAgent(create) => create.idempotency.as_ref(),
            Self::CreateConversation(create) => create.idempotency.as_ref(),
            Self::CreateCredential(create) => create.idempotency.as_ref(),
            Self::Finish(_)
            | Self::UpdateAgent(_)
            | Self::UpdateConversation(_)
            | Self::DeleteConversation(_)
            | Self::RevokeCredential(_) => None,
        }
    }

    /// The key of its idempotency entry.
    pub fn idempotency_key(&self) -> Option<RecordKey> {
        self.idempotency()
            .map(|idempotency| RecordKey::new(self.tenant(), idempotency))
    }
}

/// The outcome of a [`WriteOp`].
#[derive(Debug, PartialEq)]
pub enum WriteOutcome {
    /// The outcome of a [`WriteOp::CompletedTurn`].
    CompletedTurn(RecordTurnOutcome),
    /// The outcome of a [`WriteOp::Begin`].
    Begin(BeginOutcome),
    /// The outcome of a [`WriteOp::Finish`].
    Finish(FinishOutcome),
    /// The outcome of a [`WriteOp::CreateAgent`].
    CreateAgent(Idempotent<Committed>),
    /// The outcome of a [`WriteOp::UpdateAgent`].
    UpdateAgent(Option<Committed>),
    /// The outcome of a [`WriteOp::CreateConversation`].
    CreateConversation(Idempotent<Option<Committed>>),
    /// The outcome of a [`WriteOp::UpdateConversation`].
    UpdateConversation(Option<(Committed, Conversation)>),
    /// The outcome of a [`WriteOp::DeleteConversation`].
    DeleteConversation(DeleteOutcome),
    /// The outcome of a [`WriteOp::CreateCredential`].
    CreateCredential(Idempotent<()>),
    /// The outcome of a [`WriteOp::RevokeCredential`].
    RevokeCredential(bool),
}

impl WriteOutcome {
    /// Returns whether the write was applied as requested.
    pub const fn is_applied(&self) -> bool {
        matches!(
            self,
            Self::CompletedTurn(RecordTurnOutcome::Recorded { .. })
                | Self::Begin(BeginOutcome::Started { .. } | BeginOutcome::Queued(_))
                | Self::Finish(FinishOutcome::Finished { .. })
                | Self::CreateAgent(Idempotent::Applied(_))
                | Self::UpdateAgent(Some(_))
                | Self::CreateConversation(Idempotent::Applied(Some(_)))
                | Self::UpdateConversation(Some(_))
                | Self::DeleteConversation(DeleteOutcome::Deleted(_))
                | Self::CreateCredential(Idempotent::Applied(()))
                | Self::RevokeCredential(true)
        )
    }
}

/// The outcomes of a batch: one for each write, in the same order.
pub type Outcomes = Vec<Result<WriteOutcome, RepositoryError>>;
