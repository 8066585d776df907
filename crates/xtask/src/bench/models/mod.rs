//! S5, S6 and a part of S10: chats by an engine that asks a server of language models.

mod long;
mod measure;
mod streams;
mod whole;

pub(super) use self::measure::measure;
