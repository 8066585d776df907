//! Reading requests: bodies, queries, paths, conditions, negotiation.

mod accept;
mod idempotency;
mod json;
mod page_permit;
mod path;
mod preconditions;
mod query;

pub use accept::{accepts, names};
pub use idempotency::{IdempotencyHeader, REPLAYED, made, told_again};
pub use json::{Json, JsonBody, MergePatch, OptionalJson};
pub use page_permit::PagePermit;
pub use path::{Named, PathId, routed_path};
pub use preconditions::{IfMatch, etag_matches};
pub use query::{QueryParameters, unsigned};
