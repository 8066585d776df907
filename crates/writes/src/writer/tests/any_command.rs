//! Commands of different kinds in one list.

use ports::FactsQuery;

use super::*;
use crate::{Planned, Planner, Scope};

/// A command of any kind. Its outcome is whether it was applied.
pub(super) struct AnyCommand(Box<dyn Erased>);

impl AnyCommand {
    pub(super) fn new(command: impl Command) -> Self {
        Self(Box::new(command))
    }
}

impl Command for AnyCommand {
    type Outcome = bool;

    fn scope(&self) -> Scope {
        self.0.erased_scope()
    }

    fn uses_log(&self) -> bool {
        self.0.erased_uses_log()
    }

    fn needs(&self, query: &mut FactsQuery) {
        self.0.erased_needs(query);
    }

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        self.0.erased_needs_more(facts, query);
    }

    fn stored(&self, facts: &Facts) -> Option<bool> {
        self.0.is_stored(facts).then_some(true)
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<bool>, RepositoryError> {
        self.0.erased_plan(planner)
    }
}

trait Erased: Send + Sync + 'static {
    fn erased_scope(&self) -> Scope;

    fn erased_uses_log(&self) -> bool;

    fn erased_needs(&self, query: &mut FactsQuery);

    fn erased_needs_more(&self, facts: &Facts, query: &mut FactsQuery);

    fn is_stored(&self, facts: &Facts) -> bool;

    fn erased_plan(&self, planner: &mut Planner<'_>) -> Result<Planned<bool>, RepositoryError>;
}

impl<C: Command> Erased for C {
    fn erased_scope(&self) -> Scope {
        self.scope()
    }

    fn erased_uses_log(&self) -> bool {
        self.uses_log()
    }

    fn erased_needs(&self, query: &mut FactsQuery) {
        self.needs(query);
    }

    fn erased_needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        self.needs_more(facts, query);
    }

    fn is_stored(&self, facts: &Facts) -> bool {
        self.stored(facts).is_some()
    }

    fn erased_plan(&self, planner: &mut Planner<'_>) -> Result<Planned<bool>, RepositoryError> {
        Ok(match self.plan(planner)? {
            Planned::Applied(_) => Planned::Applied(true),
            Planned::Rejected(_) => Planned::Rejected(false),
        })
    }
}
