//! Events for clients: each tenant's log, read once for all its readers.
//!
//! [`Feed`] keeps a [`Tail`] for every tenant that has readers: the newest events in memory, and
//! the position up to which this process has read the log. [`LogReader`] reads from any position:
//! from the tail if it reaches back that far, otherwise from the store. [`Follower`] reads
//! repeatedly, and waits at the end of the log.

mod feed;
mod filter;
mod follower;
mod log_reader;
mod page_size;
mod ring;
mod serialized_event;
mod store_pages;
mod tail;
mod typing;
mod typing_pace;

pub use feed::Feed;
pub use filter::{EventFilter, visibility};
pub use follower::{Followed, Follower};
pub use log_reader::{LogReader, Read};
pub use page_size::PageSize;
pub use serialized_event::SerializedEvent;
pub use tail::{Tail, TailEvents};
pub use typing::{Typing, TypingUpdate};
