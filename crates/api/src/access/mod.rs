//! Who is let in, and to what. [`scope_table`] is the one page that says who may do what.

mod address;
#[cfg(feature = "address-guard")]
mod address_guard;
mod authenticate;
mod authorized;
mod forwarded;
mod handshake;
mod large_answers;
mod origin;
mod rate_limits;
pub mod scope_table;
mod streams;

pub use address::TrustedProxies;
#[cfg(feature = "address-guard")]
pub use address_guard::AddressGuard;
pub use authenticate::authenticate;
pub use authorized::{
    AgentEventsRead, AgentsRead, AgentsWrite, AnyCredential, Authorized, ChatWrite,
    ConversationsRead, ConversationsWrite, EventsRead, KeysAdmin, MetricsRead, Requirement,
    SealedServices, TurnsRead, lacking, seal, unauthenticated,
};
pub use handshake::{SUBPROTOCOL, check_opening, is_upgrade};
pub use large_answers::LargeAnswers;
pub use origin::{check_page, check_upgrade, confine_to_origins, named_origin};
pub use rate_limits::{check_counts, limit};
pub use streams::open_stream;
