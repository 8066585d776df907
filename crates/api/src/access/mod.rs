//! Who is let in, and to what. [`scope_table`] is the one page that says who may do what.

mod authenticate;
mod authorized;
pub mod scope_table;

pub use authenticate::authenticate;
pub use authorized::{
    AgentsRead, AgentsWrite, AnyCredential, Authorized, ChatWrite, ConversationsRead,
    ConversationsWrite, EventsRead, MetricsRead, Requirement, SealedServices, TurnsRead, seal,
};
