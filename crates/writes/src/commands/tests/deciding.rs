//! Decisions on one command.

use std::sync::Arc;

use ports::write_store::Heads;
use tokio::sync::oneshot;

use super::*;
use crate::{
    Planned, Planner,
    queued::{AnyQueued, Queued},
};

/// Decides on a command. Facts that it does not ask for make no difference.
fn decided<C: Command + Clone>(
    command: &C,
    facts: &Facts,
) -> (Rows, Result<Planned<C::Outcome>, RepositoryError>)
where
    C::Outcome: Debug,
{
    let asked = asked_facts(&batch([queued(command).0], None), facts);
    let [on_all, on_asked] = [facts, &asked].map(|facts| {
        let mut planner = Planner::new(facts);
        let result = command.plan(&mut planner);
        (planner.into_rows(), result)
    });
    assert_eq!(on_asked.0, on_all.0);
    assert_eq!(format!("{:?}", on_asked.1), format!("{:?}", on_all.1));
    on_asked
}

/// Decides on a command that is applied.
pub(super) fn carried_out<C: Command + Clone>(command: &C, facts: &Facts) -> (Rows, C::Outcome)
where
    C::Outcome: Debug,
{
    match decided(command, facts) {
        (rows, Ok(Planned::Applied(outcome))) => (rows, outcome),
        (_, other) => panic!("not applied: {other:?}"),
    }
}

/// Decides on a command that is not applied, and expects that it adds no rows.
pub(super) fn rejected<C: Command + Clone>(
    command: &C,
    facts: &Facts,
) -> Result<C::Outcome, RepositoryError>
where
    C::Outcome: Debug,
{
    let (rows, planned) = decided(command, facts);
    assert_eq!(rows, Rows::default());
    match planned? {
        Planned::Rejected(outcome) => Ok(outcome),
        Planned::Applied(outcome) => panic!("applied: {outcome:?}"),
    }
}

/// Decides on a command that an earlier one has made unnecessary, and expects that it adds no rows.
pub(super) fn repeated<C: Command + Clone>(command: &C, facts: &Facts) -> C::Outcome
where
    C::Outcome: Debug,
{
    let (rows, outcome) = carried_out(command, facts);
    assert_eq!(rows, Rows::default());
    outcome
}

/// Decides on a command after an attempt in doubt that began at position 10. Returns the rows, whether
/// the command is applied, and its outcome.
fn decided_in_doubt<C: Command + Clone>(
    command: &C,
    facts: &Facts,
) -> (Rows, bool, Result<C::Outcome, RepositoryError>)
where
    C::Outcome: Debug,
{
    let since: Heads = [(fixture::tenant(), Seq(10))].into();
    let in_doubt = || {
        let (queued, outcome) = queued(command);
        (batch([queued], Some(since.clone())), outcome)
    };
    let asked = asked_facts(&in_doubt().0, facts);
    let [on_all, on_asked] = [facts, &asked].map(|facts| {
        let (batch, mut outcome) = in_doubt();
        let (rows, is_applied) = batch.plan(facts);
        batch.commands[0].deliver();
        (rows, is_applied, outcome.try_recv().unwrap())
    });
    assert_eq!(format!("{on_asked:?}"), format!("{on_all:?}"));
    on_asked
}

/// Decides on a command that an attempt in doubt has stored, and expects that it adds no rows.
pub(super) fn stored<C: Command + Clone>(command: &C, facts: &Facts) -> C::Outcome
where
    C::Outcome: Debug,
{
    let (rows, is_applied, outcome) = decided_in_doubt(command, facts);
    assert!(is_applied);
    assert_eq!(rows, Rows::default());
    outcome.unwrap()
}

/// Decides on a command of which an attempt in doubt has stored nothing.
pub(super) fn not_stored<C: Command + Clone>(
    command: &C,
    facts: &Facts,
) -> (Rows, Result<C::Outcome, RepositoryError>)
where
    C::Outcome: Debug,
{
    assert!(command.stored(facts).is_none());
    let (rows, _, outcome) = decided_in_doubt(command, facts);
    (rows, outcome)
}

type Outcome<C> = Result<<C as Command>::Outcome, RepositoryError>;

pub(super) fn queued<C: Command + Clone>(
    command: &C,
) -> (Arc<dyn AnyQueued>, oneshot::Receiver<Outcome<C>>) {
    let (queued, outcome) = Queued::new(command.clone());
    (Arc::new(queued), outcome)
}

pub(super) fn batch(
    commands: impl IntoIterator<Item = Arc<dyn AnyQueued>>,
    in_doubt_since: Option<Heads>,
) -> Batch {
    Batch {
        commands: commands.into_iter().collect(),
        in_doubt_since,
    }
}

/// Expects that the assumptions of a command are outdated.
pub(super) fn assert_stale<C: Command + Clone>(command: &C, facts: &Facts)
where
    C::Outcome: Debug,
{
    let outcome = rejected(command, facts);
    assert!(
        matches!(outcome, Err(RepositoryError::Stale { .. })),
        "{outcome:?}"
    );
}
