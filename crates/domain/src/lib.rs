//! The types of the service, and the rules that hold wherever they are stored or served.
//!
//! Pure: no input or output, no async, no SQL, no HTTP framework. The types derive serde in the
//! wire form (camelCase), because clients receive them and the event log stores them. The feature
//! `schema` adds their OpenAPI schemas.
//!
//! To add a resource: create a file for it, a typed id in [`id`], validation functions that return
//! [`InputFault`]s, and its events in [`event_type`] and [`event_data`].

pub mod action;
pub mod admission;
pub mod agent;
mod agent_reach;
pub mod allowed_origin;
pub mod author;
pub mod base62;
pub mod caller_claims;
pub mod chat;
pub mod client_tool;
pub mod config;
pub mod conversation;
pub mod conversation_import;
pub mod conversation_key;
pub mod credential;
mod credential_change;
pub mod credential_draft;
pub mod credential_secret;
pub mod credential_source;
pub mod cursor;
pub mod erasure;
pub mod event;
pub mod event_data;
pub mod event_type;
pub mod fallback;
pub mod fault;
pub mod feedback;
pub mod file;
pub mod file_link;
pub mod files;
pub mod handover;
pub mod history;
pub mod id;
pub mod idempotency;
pub mod json;
pub mod large_integers;
pub mod level;
pub mod live;
pub mod llm_settings;
pub mod memory;
pub mod merge_patch;
pub mod message;
pub mod note;
pub mod open_enum;
pub mod page;
pub mod period;
pub mod placeholder;
pub mod principal;
pub mod problem;
pub mod problem_code;
pub mod profile;
pub mod public_key;
pub mod public_key_set;
pub mod rate_limit;
pub mod reasoning;
pub mod region;
pub mod response_schema;
pub mod rule;
pub mod rule_test;
pub mod scope;
pub mod search;
pub mod signing_key;
pub mod sizes;
pub mod staff_message;
pub mod tenant;
pub mod text;
pub mod ticket;
pub mod timestamp;
pub mod title;
pub mod tool_call;
pub mod tool_end;
pub mod tool_entry;
pub mod tool_step;
pub mod tool_visibility;
pub mod turn;
pub mod turn_event;
pub mod turn_step;
pub mod unknown_members;
pub mod upload_quota;
pub mod usage;
pub mod user;
pub mod web_address;

pub use action::{Action, ActionNeeded, Approver};
pub use agent::{Agent, AgentDraft};
pub use agent_reach::{AgentReach, ConfinedScopes};
pub use caller_claims::CallerClaims;
pub use chat::ChatReply;
pub use client_tool::ClientTool;
pub use config::AgentConfig;
pub use conversation::{
    Conversation, ConversationDraft, ConversationState, ForkOrigin, Handler, OpenTurn, SentMessage,
};
pub use conversation_import::{ConversationImport, ImportedMessage};
pub use conversation_key::ConversationKey;
pub use credential::{Credential, CredentialId, CredentialKind, LimitOverrides};
pub use credential_draft::CredentialDraft;
pub use credential_secret::{CredentialSecret, SecretDigest};
pub use credential_source::CredentialSource;
pub use event::{Event, Seq};
pub use event_data::EventData;
pub use event_type::EventType;
pub use fallback::{Fallback, FallbackModel};
pub use fault::{FaultCode, InputFault, list::Faults};
pub use feedback::{Feedback, FeedbackDraft, RatedMessage, Rating};
pub use file::{ContentDigest, File, FileReference, FileUse, StoredFile};
pub use file_link::{FileLink, LinkSecret};
pub use files::{AcceptedTypes, FileKind, FileKinds, FileName, FileRefusal, MediaType, TypeJudge};
pub use handover::Handover;
pub use history::{
    HistoryLimits, HistoryMessage,
    past_calls::{PastCalls, PastEnding},
};
pub use id::{
    AgentId, BlobKey, BlobStoreId, ConversationId, ErasureId, FileId, MessageId, NodeId, NoteId,
    TurnId,
};
pub use idempotency::{Fingerprint, IdempotencyEntry, IdempotencyKey, IdempotencyRecord};
pub use level::LEVEL;
pub use live::{ReasoningDelta, ReplyDelta, ToolCalled, ToolReturned, TurnStarted};
pub use llm_settings::{LlmSettings, ReasoningEffort, ShowReasoning, is_model_name};
pub use memory::MemorySize;
pub use message::{Author, AuthorKind, Message, MessageError, Role};
pub use note::{Note, NoteDraft};
pub use page::{AsOf, Listed, Page};
pub use principal::{Principal, PrincipalId, Stamp};
pub use problem::Problem;
pub use problem_code::ProblemCode;
pub use profile::{EventProfile, Profile, ProfileConfig};
pub use rate_limit::{Quota, QuotaHolder, RateLimits, RatePolicy};
pub use reasoning::Reasoning;
pub use region::{ForwardedRequest, RegionEntry, RegionKey, RegionName};
pub use response_schema::ResponseSchema;
pub use rule::{Rule, RuleCall};
pub use rule_test::{RuleOutcome, RuleReplySource, RuleResult, RuleTest};
pub use scope::{Scope, Scopes};
pub use search::TextMatch;
pub use signing_key::SigningKey;
pub use sizes::Sizes;
pub use tenant::{Tenant, TenantId};
pub use ticket::TicketText;
pub use timestamp::Timestamp;
pub use title::{TitleSource, TitlesConfig};
pub use tool_call::ToolCall;
pub use tool_end::ToolEnd;
pub use tool_entry::{Approval, ToolEntry, ToolRunner};
pub use tool_step::{CallDecision, Repetition, ToolStep, Unanswered, Wait};
pub use tool_visibility::{Audience, ToolVisibility};
pub use turn::{ContinuedCall, FinishReason, Turn, TurnStatus};
pub use turn_event::{TurnEvent, TurnFailed, TurnPlace, TurnRequiresAction};
pub use turn_step::{ModelResponse, ModelStep, Resumption, TurnStep};
pub use unknown_members::UnknownMembers;
pub use upload_quota::{UploadPolicy, UploadQuota, Uploads};
pub use usage::{RequestUsage, Usage, UsageKind};
pub use user::{User, UserDraft};
