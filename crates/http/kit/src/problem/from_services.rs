//! Maps the errors of services to problems. Each match is exhaustive, so a new error does not
//! compile without a code.

use access::{
    AccessError, CredentialEnd, CredentialError, TicketError, UserTokenError,
    signing_keys::SigningKeyError, tokens::MIN_FETCH_INTERVAL,
};
use application::{
    AgentError, ChatError, ConversationError, EventError, FileError, IdempotencyConflict,
    TurnError, UserError,
    principal_limits::TooManyLogBytes,
    turns::{AnswerRejection, NotStaff},
};
use domain::{CredentialKind, FaultCode, FileRefusal, InputFault, Problem, ProblemCode};
use ports::{HomeError, RepositoryError, ToldCause};

use super::{ApiError, LimitPolicy, seconds_to_wait};
use crate::{
    auth::{insufficient_scope, missing_scope, missing_scopes, with_challenge},
    body::BodyError,
};

/// Returns the code for an error of the store.
pub const fn store_problem(error: &RepositoryError) -> ProblemCode {
    match error {
        RepositoryError::Unavailable(_) => ProblemCode::StoreUnavailable,
        // The use cases handle these; an unhandled one is a bug.
        RepositoryError::Conflict { .. }
        | RepositoryError::Stale { .. }
        | RepositoryError::Corrupt { .. } => ProblemCode::Internal,
    }
}

impl From<RepositoryError> for ApiError {
    fn from(error: RepositoryError) -> Self {
        Self::new(store_problem(&error)).with_source(error)
    }
}

/// The error of a request that may have changed something.
impl From<HomeError> for ApiError {
    fn from(error: HomeError) -> Self {
        let code = match &error {
            HomeError::Unreachable(_) => ProblemCode::HomeUnavailable,
            HomeError::Lost(_) => ProblemCode::StoreUnavailable,
        };
        Self::new(code).with_source(error)
    }
}

impl From<IdempotencyConflict> for ApiError {
    fn from(conflict: IdempotencyConflict) -> Self {
        Self::new(match conflict {
            IdempotencyConflict::InUse => ProblemCode::IdempotencyKeyInUse,
            IdempotencyConflict::Reused => ProblemCode::IdempotencyKeyReused,
        })
    }
}

impl From<AccessError> for ApiError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Invalid => Self::new(ProblemCode::InvalidCredentials),
            AccessError::Expired => Self::new(ProblemCode::TokenExpired),
            AccessError::InvalidTicket => Self::new(ProblemCode::InvalidTicket),
            AccessError::IssuerUnavailable(_) => Self {
                // The issuer is not contacted more often.
                retry_after: Some(seconds_to_wait(MIN_FETCH_INTERVAL)),
                ..Self::new(ProblemCode::IssuerUnavailable).with_source(error)
            },
            AccessError::HomeUnavailable(source) => {
                Self::new(ProblemCode::HomeUnavailable).with_source(source)
            }
            AccessError::Store(error) => error.into(),
        }
    }
}

impl From<CredentialEnd> for ApiError {
    fn from(end: CredentialEnd) -> Self {
        match end {
            CredentialEnd::Revoked => with_challenge(AccessError::Invalid),
            CredentialEnd::Expired => with_challenge(AccessError::Expired),
            CredentialEnd::HomeUnavailable => Self::new(ProblemCode::HomeUnavailable),
        }
    }
}

impl From<TicketError> for ApiError {
    fn from(error: TicketError) -> Self {
        match error {
            TicketError::MissingScopes(missing) => missing_scopes(&missing),
            TicketError::Invalid(faults) => Self::faults(ProblemCode::ValidationFailed, faults),
            TicketError::Store(error) => error.into(),
        }
    }
}

impl From<UserTokenError> for ApiError {
    fn from(error: UserTokenError) -> Self {
        match error {
            UserTokenError::MissingScopes(missing) => missing_scopes(&missing),
            UserTokenError::InvalidUserId(fault) => {
                Self::from(UserTokenError::Invalid(vec![fault]))
            }
            UserTokenError::Invalid(faults) => Self::faults(ProblemCode::ValidationFailed, faults),
            UserTokenError::CredentialEnded => with_challenge(AccessError::Invalid),
            UserTokenError::Store(error)
            | UserTokenError::SigningKeys(SigningKeyError::Store(error)) => error.into(),
            UserTokenError::SigningKeys(
                error @ (SigningKeyError::Unreadable { .. }
                | SigningKeyError::Missing
                | SigningKeyError::Contended
                | SigningKeyError::Cryptography),
            ) => Self::new(ProblemCode::Internal).with_source(error),
        }
    }
}

impl From<TooManyLogBytes> for ApiError {
    fn from(exceeded: TooManyLogBytes) -> Self {
        Self {
            retry_after: Some(seconds_to_wait(exceeded.wait)),
            violated_policy: Some(LimitPolicy::LogBytes),
            ..Self::new(ProblemCode::RateLimited)
        }
    }
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        Self {
            retry_after: problem.retry_after,
            retryable: problem.retryable,
            faults: problem.errors,
            source: problem.cause.map(|cause| ToldCause(cause.into()).into()),
            ..Self::new(problem.code)
        }
    }
}

impl From<AgentError> for ApiError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::NotFound => Self::new(ProblemCode::AgentNotFound),
            AgentError::VersionMismatch => Self::new(ProblemCode::VersionMismatch),
            AgentError::Invalid(faults) => Self::faults(ProblemCode::ValidationFailed, faults),
            AgentError::InvalidRule(faults) => Self::faults(ProblemCode::InvalidRule, faults),
            AgentError::UnknownEngine(faults) => {
                let detail = "The server has no such engine; see `errors`. The operator adds \
                              language models with `LLM__BASE_URL`.";
                Self::faults(ProblemCode::UnknownEngine, faults).with_detail(detail)
            }
            AgentError::UnknownTool(faults) => Self::faults(ProblemCode::UnknownTool, faults),
            AgentError::Upgrading => Self::new(ProblemCode::Upgrading),
            AgentError::Contended | AgentError::Overloaded => Self::new(ProblemCode::Overloaded),
            AgentError::Failed(problem) => problem.into(),
            AgentError::TooManyLogBytes(exceeded) => exceeded.into(),
            AgentError::InvalidCursor => Self::new(ProblemCode::InvalidCursor),
            AgentError::Idempotency(conflict) => conflict.into(),
            AgentError::Store(error) => error.into(),
        }
    }
}

impl From<CredentialError> for ApiError {
    fn from(error: CredentialError) -> Self {
        match error {
            CredentialError::NotFound(kind) => Self::new(not_found(kind)),
            CredentialError::RevokedOrExpired(kind) => {
                Self::new(not_found(kind)).with_detail(match kind {
                    CredentialKind::Key => {
                        "The key has been revoked or has expired; create a new one."
                    }
                    CredentialKind::Client => {
                        "The client has been revoked or has expired; create a new one."
                    }
                })
            }
            CredentialError::MissingScopes(missing) => missing_scopes(&missing),
            CredentialError::Invalid(faults) => Self::faults(ProblemCode::ValidationFailed, faults),
            CredentialError::InvalidCursor => Self::new(ProblemCode::InvalidCursor),
            CredentialError::SecretNotReplayable { id } => {
                Self::new(ProblemCode::IdempotencyKeyUsed).with_detail(format!(
                    "The key was used to create or rotate {id}, whose secret is shown only once."
                ))
            }
            CredentialError::Idempotency(conflict) => conflict.into(),
            CredentialError::Store(error) => error.into(),
        }
    }
}

/// Returns the code for a key or client that does not exist in the tenant.
pub const fn not_found(kind: CredentialKind) -> ProblemCode {
    match kind {
        CredentialKind::Key => ProblemCode::KeyNotFound,
        CredentialKind::Client => ProblemCode::ClientNotFound,
    }
}

/// The error of an operation, or a part of one, that no user may use, whatever its scopes.
pub fn only_for_keys(scope: &str) -> ApiError {
    insufficient_scope(scope).with_detail("Use an API key or a token of an OAuth client.")
}

impl From<ConversationError> for ApiError {
    fn from(error: ConversationError) -> Self {
        match error {
            ConversationError::NotFound => Self::new(ProblemCode::ConversationNotFound),
            ConversationError::NoteNotFound => Self::new(ProblemCode::NoteNotFound),
            ConversationError::MessageNotFound => Self::new(ProblemCode::MessageNotFound),
            ConversationError::FileNotFound => Self::new(ProblemCode::FileNotFound),
            ConversationError::FileInUse => Self::new(ProblemCode::FileInUse),
            ConversationError::AgentNotFound => Self::new(ProblemCode::AgentNotFound),
            ConversationError::VersionMismatch => Self::new(ProblemCode::VersionMismatch),
            ConversationError::Invalid(faults) => {
                Self::faults(ProblemCode::ValidationFailed, faults)
            }
            ConversationError::NotPermitted(scope) => missing_scope(scope),
            ConversationError::NotForUsers => only_for_keys("conversations:write"),
            ConversationError::OwnConversation => Self::new(ProblemCode::OwnConversation),
            ConversationError::ForeignUser => {
                let detail = error.to_string();
                Self::invalid("/userId", FaultCode::NotCombinable, detail)
            }
            ConversationError::KeyInUse => Self::new(ProblemCode::ConversationKeyInUse),
            ConversationError::Contended => Self::new(ProblemCode::Overloaded),
            ConversationError::InvalidCursor => Self::new(ProblemCode::InvalidCursor),
            ConversationError::Idempotency(conflict) => conflict.into(),
            ConversationError::Store(error) => error.into(),
        }
    }
}

impl From<ChatError> for ApiError {
    fn from(error: ChatError) -> Self {
        match error {
            ChatError::AgentNotFound => Self::new(ProblemCode::AgentNotFound),
            ChatError::ConversationNotFound => Self::new(ProblemCode::ConversationNotFound),
            ChatError::FileNotFound => Self::new(ProblemCode::FileNotFound),
            ChatError::FileInUse => Self::new(ProblemCode::FileInUse),
            ChatError::FileNotAccepted { index } => {
                let detail = "the engine of the agent takes no files of this type";
                let fault =
                    InputFault::new(format!("/files/{index}"), FaultCode::UnknownValue, detail);
                Self::faults(ProblemCode::FileTypeNotAccepted, vec![fault])
            }
            ChatError::FileRefused { index, refusal } => refused_file(index, refusal),
            ChatError::FilesNotStored(error) => error.into(),
            ChatError::Invalid(faults) => Self::faults(ProblemCode::ValidationFailed, faults),
            ChatError::ToolNotOffered { detail } => {
                Self::invalid("", FaultCode::UnknownValue, detail)
            }
            ChatError::Busy => Self::new(ProblemCode::ConversationBusy),
            ChatError::ActionRequired => Self::new(ProblemCode::ActionRequired),
            ChatError::NotPermitted(scope) => missing_scope(scope),
            ChatError::MessageSuperseded => Self::new(ProblemCode::MessageSuperseded),
            ChatError::Cancelled => Self::new(ProblemCode::TurnCancelled),
            ChatError::Overloaded => Self::new(ProblemCode::Overloaded),
            ChatError::Failed(problem) => problem.into(),
            ChatError::Idempotency(conflict) => conflict.into(),
            ChatError::Store(error) => error.into(),
        }
    }
}

/// Returns the error of a file that a message contains, with its place.
fn refused_file(index: usize, refusal: FileRefusal) -> ApiError {
    let (pointer, detail) = (format!("/files/{index}"), refusal.to_string());
    let fault = InputFault::new(pointer, FaultCode::UnknownValue, detail);
    ApiError {
        faults: vec![fault.into()],
        ..FileError::NotAccepted(refusal).into()
    }
}

impl From<FileError> for ApiError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::NotFound => Self::new(ProblemCode::FileNotFound),
            FileError::InUse => Self::new(ProblemCode::FileInUse),
            FileError::NotAccepted(FileRefusal::Rejected) => Self::new(ProblemCode::FileRejected),
            FileError::NotAccepted(refusal) => {
                Self::new(ProblemCode::FileTypeNotAccepted).with_detail(refusal.to_string())
            }
            FileError::Interrupted(cause) => match cause.downcast::<Self>() {
                Ok(rejected) => *rejected,
                Err(cause) => Self::new(ProblemCode::Internal).with_source(cause),
            },
            FileError::Unavailable(source) => {
                Self::new(ProblemCode::FilesUnavailable).with_source(source)
            }
            FileError::ScannerUnavailable(source) => Self::new(ProblemCode::FilesUnavailable)
                .with_detail("The scanner of files does not respond. Try again later.")
                .with_source(format!("clamd (FILES__SCAN): {source}")),
            FileError::OverQuota { policy, wait } => Self {
                retry_after: Some(seconds_to_wait(wait)),
                violated_policy: Some(policy.into()),
                ..Self::new(ProblemCode::RateLimited)
                    .with_detail("The quota of uploads of this day is used up.")
            },
            FileError::Idempotency(conflict) => conflict.into(),
            FileError::Store(error) => error.into(),
        }
    }
}

impl From<UserError> for ApiError {
    fn from(error: UserError) -> Self {
        match error {
            UserError::NotFound => Self::new(ProblemCode::UserNotFound),
            UserError::Invalid(faults) => Self::faults(ProblemCode::ValidationFailed, faults),
            UserError::InvalidCursor => Self::new(ProblemCode::InvalidCursor),
            UserError::Store(error) => error.into(),
        }
    }
}

impl From<TurnError> for ApiError {
    fn from(error: TurnError) -> Self {
        match error {
            TurnError::NotFound => Self::new(ProblemCode::TurnNotFound),
            TurnError::ConversationNotFound => Self::new(ProblemCode::ConversationNotFound),
            TurnError::InvalidCursor => Self::new(ProblemCode::InvalidCursor),
            TurnError::Answer { index, reason } => rejected_answer(index, reason),
            TurnError::Draining => Self::new(ProblemCode::Draining),
            TurnError::Store(error) => error.into(),
        }
    }
}

fn rejected_answer(index: usize, reason: AnswerRejection) -> ApiError {
    match reason {
        AnswerRejection::NotFound => ApiError::new(ProblemCode::ActionNotFound),
        AnswerRejection::Expired => ApiError::new(ProblemCode::ActionExpired),
        AnswerRejection::Decided { status } => ApiError {
            call_status: Some(status.into()),
            ..ApiError::new(ProblemCode::ActionDecided)
        },
        AnswerRejection::Running => ApiError::new(ProblemCode::ConversationBusy),
        AnswerRejection::NotForUser => insufficient_scope("chat:write"),
        AnswerRejection::NotForStaff(NotStaff::Scope) => insufficient_scope("tools:approve")
            .with_detail(
                "The scope tools:approve is required, and of users also conversations:all.",
            ),
        AnswerRejection::NotForStaff(NotStaff::OwnConversation) => {
            ApiError::new(ProblemCode::OwnConversation)
        }
        AnswerRejection::NotAlone => {
            let detail = "a decision of staff stands alone in its request";
            let pointer = format!("/actions/{index}");
            ApiError::invalid(pointer, FaultCode::NotCombinable, detail)
        }
        AnswerRejection::MayNotEdit => {
            let detail = "only those who may decide for staff can change the arguments";
            let pointer = format!("/actions/{index}/arguments");
            ApiError::invalid(pointer, FaultCode::NotCombinable, detail)
        }
        AnswerRejection::WrongKind { needs } => {
            let detail = format!("the call needs {}", needs.as_str());
            ApiError::invalid(
                format!("/actions/{index}"),
                FaultCode::NotCombinable,
                detail,
            )
        }
    }
}

impl From<EventError> for ApiError {
    fn from(error: EventError) -> Self {
        match error {
            EventError::CursorExpired { since, bounds } => {
                let detail = if since > bounds.head {
                    "The position is after the head of the log."
                } else {
                    "The events after the position have been removed from the log."
                };
                Self {
                    log_bounds: Some(Box::new((bounds.first.0, bounds.head.0))),
                    ..Self::new(ProblemCode::CursorExpired).with_detail(detail)
                }
            }
            EventError::Store(error) => error.into(),
        }
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::Malformed { detail } => {
                Self::new(ProblemCode::MalformedJson).with_detail(detail)
            }
            BodyError::Faults(faults) => Self::faults(ProblemCode::ValidationFailed, faults),
            BodyError::TooLarge => Self::new(ProblemCode::BodyTooLarge),
        }
    }
}
