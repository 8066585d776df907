//! S5, S6 and a part of S10: chats by an engine that requests replies of a language model server.

mod added_latency;
mod long_conversations;
mod measure;
mod reference;
mod streams;

pub(super) use self::measure::{draft, measure, variables};
