//! S5, S6, a part of S10, S11, S14 and S16: chats by an engine that requests replies of a language model server.

mod added_latency;
mod concurrent;
mod long_conversations;
mod measure;
mod reference;
mod streams;

pub(super) use self::measure::{LlmServices, draft, measure, variables};
