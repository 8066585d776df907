//! Events for clients: each tenant's log, read once for all its readers.
//!
//! [`LogTails`] keeps a [`Tail`] for every tenant that has readers: the newest events in memory,
//! and the position up to which this process has read the log. [`LogReader`] reads from any
//! position: from the tail if it reaches back that far, otherwise from the store. [`Follower`]
//! reads repeatedly, and waits at the end of the log.

mod filter;
mod follower;
mod log_reader;
mod log_tails;
mod page_size;
mod recent_events;
mod serialized_event;
mod store_pages;
mod tail;
mod typing;
mod typing_throttle;

pub use filter::{EventFilter, visibility};
pub use follower::{Follower, LogUpdate};
pub use log_reader::{LogRead, LogReader};
pub use log_tails::LogTails;
pub use page_size::PageSize;
pub use serialized_event::SerializedEvent;
pub use tail::{Tail, TailEvents};
pub use typing::{Typing, TypingUpdate};
