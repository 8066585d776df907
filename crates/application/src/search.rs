//! The follower that keeps the index of the words in conversations.

mod changes;
mod indexer;

pub use indexer::SearchIndexer;
