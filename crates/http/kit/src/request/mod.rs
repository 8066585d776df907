//! Extractors and helpers for requests: bodies, queries, paths, conditions, content negotiation.

mod accept;
mod idempotency;
mod json;
mod multipart;
mod pace;
mod page_permit;
mod path;
mod preconditions;
mod query;
mod upload;

pub use accept::{accepts, lists};
pub use idempotency::{
    IDEMPOTENCY_KEY, IdempotencyHeader, REPLAYED, created_response, mark_replayed,
};
pub use json::{
    Json, JsonBody, JsonWithFiles, LenientJson, MergePatch, OptionalJson, conversation_key,
    typed_leniently,
};
pub(crate) use pace::Pace;
pub use page_permit::PagePermit;
pub use path::{PathId, ResourceId, routed_path};
pub use preconditions::{IfMatch, etag_matches};
pub use query::QueryParameters;
pub(crate) use query::unsigned;
pub use upload::Upload;
pub(crate) use upload::max_body_bytes;
