//! Pages and reads, as the ports and the interface share them.

use crate::Seq;

/// One page of a keyset listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items, in the listing's order.
    pub items: Vec<T>,
    /// Whether more follow.
    pub has_more: bool,
}

impl<T> Page<T> {
    /// Makes a page of rows that were read with `limit + 1`: the extra row tells that more follow.
    pub fn from_one_more(mut items: Vec<T>, limit: usize) -> Self {
        let has_more = items.len() > limit;
        items.truncate(limit);
        Self { items, has_more }
    }
}

impl<T> Page<Listed<T>> {
    /// Drops the places of the items.
    pub fn into_items(self) -> Page<T> {
        Page {
            items: self.items.into_iter().map(|listed| listed.item).collect(),
            has_more: self.has_more,
        }
    }
}

/// An item of a listing, and its place in the listing's order, which the store assigns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// The item.
    pub item: T,
    /// Its place. Higher is newer.
    pub sort_seq: Seq,
}

/// What a read saw, and a position of the tenant's log known no later than that: following the
/// log from there may repeat a change, but never miss one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsOf<T> {
    /// What was read.
    pub value: T,
    /// The position.
    pub position: Seq,
}

impl<T> AsOf<T> {
    /// The same position for another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> AsOf<U> {
        AsOf {
            value: change(self.value),
            position: self.position,
        }
    }
}
