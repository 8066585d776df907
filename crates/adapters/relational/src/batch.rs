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

#[cfg(test)]
mod tests {
    use contract::samples;
    use ports::{BeginTurn, ExchangeTarget};

    use super::*;

    /// A question in an existing conversation, with a key if it is given.
    fn item(number: u32, conversation: u32, key: Option<&str>) -> Item {
        let target = ExchangeTarget::Existing {
            id: samples::conversation_id(conversation),
            turn_count: 0,
        };
        Item::Begin(Box::new(BeginTurn {
            claim: key.map(samples::claim),
            ..samples::question(number, &samples::agent(1), target)
        }))
    }

    fn next(queue: &mut VecDeque<Item>) -> Vec<domain::TurnId> {
        form(queue, |item| item).iter().map(Item::turn_id).collect()
    }

    #[test]
    fn takes_one_item_of_each_conversation_and_keeps_the_order_of_the_rest() {
        let mut queue: VecDeque<_> = [(1, 1), (2, 1), (3, 2), (4, 1)]
            .map(|(number, conversation)| item(number, conversation, None))
            .into();
        assert_eq!(next(&mut queue), [1, 3].map(samples::turn_id));
        assert_eq!(next(&mut queue), [2].map(samples::turn_id));
        assert_eq!(next(&mut queue), [4].map(samples::turn_id));
        assert!(queue.is_empty());
    }

    #[test]
    fn takes_one_item_of_each_key() {
        let mut queue: VecDeque<_> = [
            item(1, 1, Some("a")),
            item(2, 2, Some("a")),
            item(3, 3, Some("b")),
            item(4, 2, None),
        ]
        .into();
        // The fourth waits behind the second, which is of the same conversation.
        assert_eq!(next(&mut queue), [1, 3].map(samples::turn_id));
        assert_eq!(next(&mut queue), [2].map(samples::turn_id));
        assert_eq!(next(&mut queue), [4].map(samples::turn_id));
    }

    #[test]
    fn the_same_conversation_of_another_tenant_is_another_one() {
        let mut foreign = samples::question(
            2,
            &samples::agent(1),
            ExchangeTarget::Existing {
                id: samples::conversation_id(1),
                turn_count: 0,
            },
        );
        foreign.tenant = samples::tenant_named("other");
        let mut queue: VecDeque<_> = [item(1, 1, None), Item::Begin(Box::new(foreign))].into();
        assert_eq!(next(&mut queue).len(), 2);
    }

    #[test]
    fn takes_no_more_than_the_limit() {
        let number = u32::try_from(MOST_ITEMS).unwrap();
        let mut queue: VecDeque<_> = (0..=number)
            .map(|number| item(number, number, None))
            .collect();
        assert_eq!(next(&mut queue).len(), MOST_ITEMS);
        assert_eq!(next(&mut queue), [samples::turn_id(number)]);
    }
}
