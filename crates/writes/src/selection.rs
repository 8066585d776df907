//! Selection of the queued commands that form one transaction.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use crate::queued::AnyQueued;

/// The maximum number of commands in one transaction. It bounds the time for which tenants are
/// locked.
pub(crate) const MAX_COMMANDS: usize = 512;

/// Takes the next batch from the front of `queue`: at most [`MAX_COMMANDS`], and none that shares a
/// [`crate::Part`] with another, since the decision about one must not depend on another of the same
/// batch. The remaining ones keep their order. Changes of agents come last in the batch, since turns
/// assume the versions from before it.
pub(crate) fn next_batch(queue: &mut VecDeque<Arc<dyn AnyQueued>>) -> Vec<Arc<dyn AnyQueued>> {
    let mut used = HashSet::new();
    let mut batch = Vec::new();
    let mut left = VecDeque::new();
    while let Some(command) = queue.pop_front() {
        if batch.len() == MAX_COMMANDS {
            left.push_back(command);
            break;
        }
        let scope = command.scope();
        let mut is_independent = true;
        // All are recorded even if the command stays queued: later ones must not overtake it.
        for part in &scope.parts {
            is_independent &= used.insert((scope.tenant.clone(), part.clone()));
        }
        if is_independent {
            batch.push(command);
        } else {
            left.push_back(command);
        }
    }
    left.append(queue);
    *queue = left;
    batch.sort_by_key(|command| command.scope().changes_agent());
    batch
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::{BeginTurn, ConversationTarget};
    use ports::{FirstMessages, ForkedMessages};

    use super::*;
    use crate::{
        Command,
        commands::{CreateAgent, CreateConversation, UpdateAgent},
        queued::Queued,
    };

    /// A queue of commands, which are named by their positions, from 1.
    #[derive(Default)]
    struct Queue {
        all: Vec<Arc<dyn AnyQueued>>,
        left: VecDeque<Arc<dyn AnyQueued>>,
    }

    impl Queue {
        fn of<C: Command>(commands: impl IntoIterator<Item = C>) -> Self {
            let mut queue = Self::default();
            commands.into_iter().for_each(|command| queue.push(command));
            queue
        }

        fn push(&mut self, command: impl Command) {
            let (queued, _) = Queued::new(command);
            let queued: Arc<dyn AnyQueued> = Arc::new(queued);
            self.all.push(Arc::clone(&queued));
            self.left.push_back(queued);
        }

        /// Takes the next batch.
        fn next(&mut self) -> Vec<usize> {
            let batch = next_batch(&mut self.left);
            let number = |taken| {
                1 + self
                    .all
                    .iter()
                    .position(|it| Arc::ptr_eq(it, taken))
                    .unwrap()
            };
            batch.iter().map(number).collect()
        }
    }

    /// A turn in an existing conversation, with an optional idempotency key.
    fn turn(number: u32, conversation: u32, key: Option<&str>) -> BeginTurn {
        let target = ConversationTarget::Existing {
            id: fixture::conversation_id(conversation),
            turn_count: 0,
        };
        BeginTurn {
            idempotency: key.map(fixture::entry),
            ..fixture::begin_turn(number, &fixture::agent(1), target)
        }
    }

    #[test]
    fn takes_one_command_per_conversation_and_keeps_the_order_of_the_rest() {
        let turns = [(1, 1), (2, 1), (3, 2), (4, 1)];
        let turns = turns.map(|(number, conversation)| turn(number, conversation, None));
        let mut queue = Queue::of(turns);
        assert_eq!(queue.next(), [1, 3]);
        assert_eq!(queue.next(), [2]);
        assert_eq!(queue.next(), [4]);
        assert!(queue.left.is_empty());
    }

    #[test]
    fn takes_one_command_per_key() {
        let mut queue = Queue::of([
            turn(1, 1, Some("a")),
            turn(2, 2, Some("a")),
            turn(3, 3, Some("b")),
            turn(4, 2, None),
        ]);
        // The fourth waits behind the second, which belongs to the same conversation.
        assert_eq!(queue.next(), [1, 3]);
        assert_eq!(queue.next(), [2]);
        assert_eq!(queue.next(), [4]);
    }

    #[test]
    fn takes_one_command_per_new_name() {
        let first_use = |number, key| {
            let agent = fixture::agent(1);
            let conversation = fixture::conversation(number, agent.id);
            let target = ConversationTarget::New(fixture::named(conversation, key));
            fixture::begin_turn(number, &agent, target)
        };
        let mut queue = Queue::of([first_use(1, "a"), first_use(2, "a"), first_use(3, "b")]);
        assert_eq!(queue.next(), [1, 3]);
        assert_eq!(queue.next(), [2]);
    }

    #[test]
    fn takes_one_change_per_agent_after_all_other_commands() {
        let update = |number| UpdateAgent {
            tenant: fixture::tenant(),
            agent: fixture::agent(number),
            stamp: fixture::stamp(0),
        };
        let mut queue = Queue::of([update(1), update(2), update(1)]);
        queue.push(CreateAgent {
            tenant: fixture::tenant(),
            agent: fixture::agent(3),
            stamp: fixture::stamp(0),
            idempotency: None,
        });
        queue.push(turn(1, 1, None));
        assert_eq!(queue.next(), [5, 1, 2, 4]);
        assert_eq!(queue.next(), [3]);
    }

    #[test]
    fn a_fork_is_not_in_one_batch_with_a_command_on_the_original() {
        let fork = |number| CreateConversation {
            tenant: fixture::tenant(),
            conversation: fixture::conversation(number, fixture::agent_id(1)),
            first_messages: FirstMessages::Forked(ForkedMessages {
                from: fixture::conversation_id(1),
                turn_count: 0,
                to_seq: 1,
                of_staff: 0,
                counts: None,
            }),
            stamp: fixture::stamp(0),
            idempotency: None,
        };
        let mut queue = Queue::default();
        queue.push(fork(8));
        queue.push(turn(1, 1, None));
        queue.push(turn(2, 2, None));
        queue.push(fork(9));
        assert_eq!(queue.next(), [1, 3]);
        assert_eq!(queue.next(), [2]);
        assert_eq!(queue.next(), [4]);
    }

    #[test]
    fn equal_conversation_ids_of_two_tenants_do_not_conflict() {
        let foreign = BeginTurn {
            tenant: fixture::tenant_named("other"),
            ..turn(2, 1, None)
        };
        let mut queue = Queue::of([turn(1, 1, None), foreign]);
        assert_eq!(queue.next(), [1, 2]);
    }

    #[test]
    fn a_batch_is_no_larger_than_the_limit() {
        let number = u32::try_from(MAX_COMMANDS).unwrap();
        let mut queue = Queue::of((0..=number).map(|number| turn(number, number, None)));
        assert_eq!(queue.next().len(), MAX_COMMANDS);
        assert_eq!(queue.next(), [MAX_COMMANDS + 1]);
    }
}
