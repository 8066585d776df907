//! Tests of known facts after random sequences of writes.

use ports::write_store::InTenant;

use super::{
    any_command::AnyCommand,
    changes::{cancel, fail_queued, release},
    writing::Writing,
    *,
};
use crate::TurnEnding;

/// A sequence of numbers that depends on a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }

    fn index(&mut self, limit: u64) -> usize {
        usize::try_from(self.below(limit)).unwrap()
    }
}

/// The next command; `None` if another process has changed something instead.
fn next(writing: &mut Writing, random: &mut Random) -> Option<AnyCommand> {
    let conversation = [1, 2, 3, 1_001][random.index(4)];
    let choice = random.index(12);
    let command = match (random.below(24), writing.running(conversation)) {
        (0, _) => {
            writing.resume_unowned_turns();
            return None;
        }
        (1, _) => {
            writing.raise_head();
            writing.agent.version += 1;
            let key: InTenant<_> = (fixture::tenant(), writing.agent.id);
            let version = writing.agent.version;
            writing.model.0.lock().agents.insert(key, version);
            return None;
        }
        (2..=4, Some(running)) => {
            writing.last_number += 1;
            let ending = match random.below(3) {
                0 => TurnEnding::Failed {
                    problem: fixture::retryable_problem(),
                    tool_calls: Vec::new(),
                    requests: Vec::new(),
                },
                _ => TurnEnding::Completed(fixture::reply(writing.last_number)),
            };
            AnyCommand::new(fixture::finish(&running, ending))
        }
        (5, _) => {
            let begin = writing.begin(conversation);
            AnyCommand::new(writing.completed(begin))
        }
        (14..=16, _) => writing.superseding(conversation, choice),
        (17, _) => AnyCommand::new(writing.fork(conversation, choice)),
        (18..=20, Some(running)) => ended_outside(writing, conversation, &running, choice),
        (21 | 22, Some(running)) => {
            AnyCommand::new(writing.record_step(conversation, running.turn_id))
        }
        (23, Some(running)) => AnyCommand::new(release(conversation, running.turn_id)),
        (8..=13, _) => writing.change(random.below(7), conversation, random.below(40)),
        _ => AnyCommand::new(writing.begin(conversation)),
    };
    Some(command)
}

/// The end of a running or queued turn that its node does not end. `choice` selects the turn.
fn ended_outside(
    writing: &mut Writing,
    conversation: u32,
    running: &BeginTurn,
    choice: usize,
) -> AnyCommand {
    writing.last_number += 1;
    match (choice % 4, writing.waiting(conversation).as_slice()) {
        (0, [.., last]) => AnyCommand::new(fail_queued(conversation, *last)),
        (1, [first, ..]) => AnyCommand::new(cancel(conversation, *first, None)),
        _ => {
            let node = (choice < 8).then(|| fixture::node_id(1));
            let mut cancel = cancel(conversation, running.turn_id, node);
            cancel.partial = choice
                .is_multiple_of(2)
                .then(|| fixture::reply(writing.last_number));
            AnyCommand::new(cancel)
        }
    }
}

/// They are compared after every write.
#[tokio::test]
async fn known_facts_are_those_of_the_store_after_any_sequence_of_writes() {
    for seed in 0..40_u64 {
        let mut writing = Writing::start();
        writing.model.0.lock().reads_ahead = seed % 2 == 0;
        let mut random = Random(seed * 7_919 + 1);
        for _ in 0..200 {
            let Some(command) = next(&mut writing, &mut random) else {
                continue;
            };
            let is_stale = writing.uses_used_name(&command);
            match writing.write(command).await {
                Err(RepositoryError::Stale { .. } | RepositoryError::Conflict { .. })
                    if is_stale => {}
                outcome => drop(outcome.unwrap()),
            }
        }
        let (read, known, _) = writing.counts();
        assert!(known > 0 && read > 0, "{read} {known}");
    }
}
