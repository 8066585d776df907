//! Selection of the queued writes that form one transaction.

use std::collections::{HashSet, VecDeque};

use crate::WriteOp;

/// The maximum number of writes in one transaction. It bounds the time for which tenants are
/// locked.
pub const MAX_BATCH_OPS: usize = 512;

/// Takes the next batch from the front of `queue`: at most [`MAX_BATCH_OPS`], and at most one per
/// conversation, per new conversation name, per changed agent and per idempotency key, since the
/// decision about one write must not depend on another of the same batch. The remaining entries keep
/// their order. Changes of agents come last in the batch, since turns assume the versions from before
/// it.
pub fn next_batch<T>(queue: &mut VecDeque<T>, op: impl Fn(&T) -> &WriteOp) -> Vec<T> {
    let mut conversations = HashSet::new();
    let mut names = HashSet::new();
    let mut agents = HashSet::new();
    let mut keys = HashSet::new();
    let mut batch = Vec::new();
    let mut left = VecDeque::new();
    while let Some(entry) = queue.pop_front() {
        if batch.len() == MAX_BATCH_OPS {
            left.push_back(entry);
            break;
        }
        let (tenant, key) = (op(&entry).tenant(), op(&entry).idempotency_key());
        let conversation = op(&entry).conversation_id().map(|id| (tenant.clone(), id));
        let copied = op(&entry)
            .copied_conversation()
            .map(|id| (tenant.clone(), id));
        let name = op(&entry).new_name().map(|name| (tenant.clone(), name));
        let agent = op(&entry).changed_agent().map(|id| (tenant.clone(), id));
        // All are recorded even if the entry stays queued: later entries must not overtake it.
        let first_of_conversation = conversation.is_none_or(|id| conversations.insert(id));
        let first_of_copied = copied.is_none_or(|id| conversations.insert(id));
        let first_of_name = name.is_none_or(|name| names.insert(name));
        let first_of_agent = agent.is_none_or(|id| agents.insert(id));
        let first_of_key = key.is_none_or(|key| keys.insert(key));
        let is_independent = first_of_conversation
            && first_of_copied
            && first_of_name
            && first_of_agent
            && first_of_key;
        if is_independent {
            batch.push(entry);
        } else {
            left.push_back(entry);
        }
    }
    left.append(queue);
    *queue = left;
    batch.sort_by_key(|entry| op(entry).changed_agent().is_some());
    batch
}

#[cfg(test)]
mod tests {
    use contract::fixture;
    use ports::{BeginTurn, ConversationTarget, FirstMessages, ForkedMessages};

    use super::*;
    use crate::CreateConversation;

    /// A turn in an existing conversation, with an optional idempotency key.
    fn op(number: u32, conversation: u32, key: Option<&str>) -> WriteOp {
        let target = ConversationTarget::Existing {
            id: fixture::conversation_id(conversation),
            turn_count: 0,
        };
        WriteOp::Begin(Box::new(BeginTurn {
            idempotency: key.map(fixture::entry),
            ..fixture::begin_turn(number, &fixture::agent(1), target)
        }))
    }

    fn next(queue: &mut VecDeque<WriteOp>) -> Vec<domain::TurnId> {
        next_batch(queue, |op| op)
            .iter()
            .filter_map(|op| Some(op.begin_turn()?.turn_id))
            .collect()
    }

    #[test]
    fn takes_one_write_per_conversation_and_keeps_the_order_of_the_rest() {
        let mut queue: VecDeque<_> = [(1, 1), (2, 1), (3, 2), (4, 1)]
            .map(|(number, conversation)| op(number, conversation, None))
            .into();
        assert_eq!(next(&mut queue), [1, 3].map(fixture::turn_id));
        assert_eq!(next(&mut queue), [2].map(fixture::turn_id));
        assert_eq!(next(&mut queue), [4].map(fixture::turn_id));
        assert!(queue.is_empty());
    }

    #[test]
    fn takes_one_write_per_key() {
        let mut queue: VecDeque<_> = [
            op(1, 1, Some("a")),
            op(2, 2, Some("a")),
            op(3, 3, Some("b")),
            op(4, 2, None),
        ]
        .into();
        // The fourth waits behind the second, which belongs to the same conversation.
        assert_eq!(next(&mut queue), [1, 3].map(fixture::turn_id));
        assert_eq!(next(&mut queue), [2].map(fixture::turn_id));
        assert_eq!(next(&mut queue), [4].map(fixture::turn_id));
    }

    #[test]
    fn takes_one_write_per_new_name() {
        let first_use = |number, key| {
            let agent = fixture::agent(1);
            let conversation = fixture::conversation(number, agent.id);
            let target = ConversationTarget::New(fixture::named(conversation, key));
            WriteOp::Begin(Box::new(fixture::begin_turn(number, &agent, target)))
        };
        let mut queue: VecDeque<_> =
            [first_use(1, "a"), first_use(2, "a"), first_use(3, "b")].into();
        assert_eq!(next(&mut queue), [1, 3].map(fixture::turn_id));
        assert_eq!(next(&mut queue), [2].map(fixture::turn_id));
    }

    #[test]
    fn a_fork_is_not_in_one_batch_with_a_write_to_the_original() {
        let fork = |number| {
            WriteOp::CreateConversation(Box::new(CreateConversation {
                tenant: fixture::tenant(),
                conversation: fixture::conversation(number, fixture::agent_id(1)),
                first_messages: FirstMessages::Forked(ForkedMessages {
                    from: fixture::conversation_id(1),
                    turn_count: 0,
                    to_seq: 1,
                }),
                stamp: fixture::stamp(0),
                idempotency: None,
            }))
        };
        let mut queue: VecDeque<_> = [fork(8), op(1, 1, None), op(2, 2, None), fork(9)].into();
        let sizes: Vec<_> = (0..3)
            .map(|_| next_batch(&mut queue, |op| op).len())
            .collect();
        assert_eq!(sizes, [2, 1, 1]);
    }

    #[test]
    fn equal_conversation_ids_of_two_tenants_do_not_conflict() {
        let mut foreign = fixture::begin_turn(
            2,
            &fixture::agent(1),
            ConversationTarget::Existing {
                id: fixture::conversation_id(1),
                turn_count: 0,
            },
        );
        foreign.tenant = fixture::tenant_named("other");
        let mut queue: VecDeque<_> = [op(1, 1, None), WriteOp::Begin(Box::new(foreign))].into();
        assert_eq!(next(&mut queue).len(), 2);
    }

    #[test]
    fn a_batch_is_no_larger_than_the_limit() {
        let number = u32::try_from(MAX_BATCH_OPS).unwrap();
        let mut queue: VecDeque<_> = (0..=number)
            .map(|number| op(number, number, None))
            .collect();
        assert_eq!(next(&mut queue).len(), MAX_BATCH_OPS);
        assert_eq!(next(&mut queue), [fixture::turn_id(number)]);
    }
}
