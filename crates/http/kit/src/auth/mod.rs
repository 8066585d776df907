//! Authentication, authorization and limits of requests.
//! [`crate::operations`](mod@crate::operations) lists the scopes of every operation.

mod address;
#[cfg(feature = "address-guard")]
mod address_guard;
mod authenticate;
mod authorized;
mod file_reader;
mod forwarded;
mod forwarded_caller;
mod large_responses;
mod open_stream_limit;
mod origin;
mod rate_limits;
mod socket_handshake;

pub use address::TrustedProxies;
#[cfg(feature = "address-guard")]
pub use address_guard::AddressGuard;
pub(crate) use authenticate::with_challenge;
pub use authenticate::{X_USER_ID, authenticate};
pub use authorized::{
    AgentEventsRead, AgentsRead, AgentsWrite, AnyCredential, Authorized, ChatWrite,
    ConversationsRead, ConversationsWrite, EventsRead, KeysAdmin, MetricsRead, Requirement,
    SealedServices, ToolsAnswer, TurnsRead, UserTokensIssue, UsersAdmin,
    missing_conversations_read, seal, unauthenticated,
};
pub(crate) use authorized::{insufficient_scope, missing_scope, missing_scopes};
pub use file_reader::FileReader;
pub(crate) use forwarded_caller::is_forwarded;
pub use forwarded_caller::{forwarded_caller, rejected_region};
pub use large_responses::LargeResponses;
pub use open_stream_limit::open_stream;
pub(crate) use origin::named_origin;
pub use origin::{check_credential_origin, check_socket_origin, restrict_origins};
pub use rate_limits::{count_request, rate_limit, report_uploads};
pub use socket_handshake::{SUBPROTOCOL, check_socket_request, is_upgrade};
