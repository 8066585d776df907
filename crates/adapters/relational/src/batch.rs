//! Which queued items go into one transaction.

use std::collections::{HashSet, VecDeque};

use crate::Item;

/// Items of one transaction at most: it bounds how long the tenants stay locked.
pub const MOST_ITEMS: usize = 512;

/// Takes the next batch from the front of `queue`: at most [`MOST_ITEMS`], at most one of each
/// conversation and of each idempotency key, because what is decided about an item must not
/// depend on another of the same batch. What is left keeps its order.
pub fn form<T>(queue: &mut VecDeque<T>, item: impl Fn(&T) -> &Item) -> Vec<T> {
    let mut conversations = HashSet::new();
    let mut keys = HashSet::new();
    let mut batch = Vec::new();
    let mut left = VecDeque::new();
    while let Some(entry) = queue.pop_front() {
        if batch.len() == MOST_ITEMS {
            left.push_back(entry);
            break;
        }
        let conversation = (
            item(&entry).tenant().clone(),
            item(&entry).conversation_id(),
        );
        let key = item(&entry).claim_key();
        // Both are marked also when the entry is left: those behind it must not overtake it.
        let first_of_conversation = conversations.insert(conversation);
        let first_of_key = key.is_none_or(|key| keys.insert(key));
        if first_of_conversation && first_of_key {
            batch.push(entry);
        } else {
            left.push_back(entry);
        }
    }
    left.append(queue);
    *queue = left;
    batch
}
