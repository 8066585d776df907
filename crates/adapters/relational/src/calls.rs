//! The calls of ports whose writes are committed in groups.

use domain::Conversation;
use ports::{
    BeginOutcome, BeginTurn, Committed, CompletedTurn, DeleteOutcome, FinishOutcome, FinishTurn,
    Idempotent, RecordTurnOutcome, RepositoryError,
};

use crate::{
    CreateAgent, CreateConversation, CreateCredential, DeleteConversation, GroupCommit,
    RevokeCredential, UpdateAgent, UpdateConversation, WriteOp, WriteOutcome,
};

/// Generates one function for each variant of [`WriteOp`].
macro_rules! calls {
    ($($port:literal $name:ident($call:ty) -> $outcome:ty = $variant:ident;)*) => {
        impl GroupCommit {
            $(
                #[doc = concat!("`", $port, "`.")]
                pub async fn $name(&self, call: $call) -> Result<$outcome, RepositoryError> {
                    match self.submit(WriteOp::$variant(Box::new(call))).await? {
                        WriteOutcome::$variant(outcome) => Ok(outcome),
                        other => Err(mismatch(&other)),
                    }
                }
            )*
        }

        const fn kind(outcome: &WriteOutcome) -> &'static str {
            match outcome {
                $(WriteOutcome::$variant(_) => stringify!($variant),)*
            }
        }
    };
}

calls! {
    "TurnRepository::record_completed_turn"
    record_completed_turn(CompletedTurn) -> RecordTurnOutcome = CompletedTurn;
    "TurnRepository::begin_turn"
    begin_turn(BeginTurn) -> BeginOutcome = Begin;
    "TurnRepository::finish_turn"
    finish_turn(FinishTurn) -> FinishOutcome = Finish;
    "AgentRepository::insert"
    create_agent(CreateAgent) -> Idempotent<Committed> = CreateAgent;
    "AgentRepository::update"
    update_agent(UpdateAgent) -> Option<Committed> = UpdateAgent;
    "ConversationRepository::insert"
    create_conversation(CreateConversation) -> Idempotent<Option<Committed>> = CreateConversation;
    "ConversationRepository::update"
    update_conversation(UpdateConversation) -> Option<(Committed, Conversation)>
        = UpdateConversation;
    "ConversationRepository::delete"
    delete_conversation(DeleteConversation) -> DeleteOutcome = DeleteConversation;
    "CredentialRepository::insert"
    create_credential(CreateCredential) -> Idempotent<()> = CreateCredential;
    "CredentialRepository::revoke"
    revoke_credential(RevokeCredential) -> bool = RevokeCredential;
}

/// The error of a write that received the outcome of another kind, which is a bug in this crate.
pub(crate) fn mismatch(outcome: &WriteOutcome) -> RepositoryError {
    let kind = kind(outcome);
    RepositoryError::Corrupt {
        what: "the outcome of a batch".to_owned(),
        source: format!("a write of another kind received an outcome of kind '{kind}'").into(),
    }
}
