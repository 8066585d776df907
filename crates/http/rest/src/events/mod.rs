//! `GET /api/events`: the event log, in pages or as a stream.

mod listing;
mod page;
mod read;
mod stream;

pub use page::EventPageBody;
pub use read::{__path_list_events, list_events};
pub use stream::{LogEvent, Resync};
