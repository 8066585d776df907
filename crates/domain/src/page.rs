//! Pages and results of reads, shared by the ports and the API.

use crate::Seq;

/// One page of a keyset listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items, in the listing's order.
    pub items: Vec<T>,
    /// `true` if more items follow.
    pub has_more: bool,
}

impl<T> Page<T> {
    /// Creates a page from rows that were read with `limit + 1`: the extra row proves that more
    /// follow.
    pub fn from_one_more(mut items: Vec<T>, limit: usize) -> Self {
        let has_more = items.len() > limit;
        items.truncate(limit);
        Self { items, has_more }
    }

    /// Converts the items.
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(convert).collect(),
            has_more: self.has_more,
        }
    }
}

impl<T> Page<Listed<T>> {
    /// Drops the positions of the items.
    pub fn into_items(self) -> Page<T> {
        self.map(|listed| listed.item)
    }
}

/// An item of a listing, and its position in the listing's order, which the store assigns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// The item.
    pub item: T,
    /// The item's position; higher is newer.
    pub sort_seq: Seq,
}

/// The result of a read, and a position of the tenant's log that is not later than the state that
/// was read. Following the log from there may repeat a change but never misses one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsOf<T> {
    /// The result.
    pub value: T,
    /// The position in the log.
    pub position: Seq,
}

impl<T> AsOf<T> {
    /// Replaces the value and keeps the position.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> AsOf<U> {
        AsOf {
            value: change(self.value),
            position: self.position,
        }
    }
}
