//! The commands of one transaction.

use std::sync::Arc;

use ports::{
    Decided, Decision, Facts, FactsQuery, Rows,
    write_store::{Heads, LoggedQuery},
};

use crate::{Part, Planner, queued::AnyQueued};

/// The commands of one transaction, which are decided together. Their scopes are disjoint (see
/// [`crate::selection::next_batch`]).
#[derive(Clone)]
pub(crate) struct Batch {
    pub(crate) commands: Arc<[Arc<dyn AnyQueued>]>,
    /// The heads before the first attempt, if an earlier one may have been committed.
    pub(crate) in_doubt_since: Option<Heads>,
}

impl Batch {
    /// Returns the query of a round; `None` if no further facts are needed.
    pub(crate) fn query(&self, round: usize, facts: &Facts) -> Option<FactsQuery> {
        let mut query = FactsQuery::default();
        match round {
            0 => self.needs(&mut query),
            1 => self.needs_more(facts, &mut query),
            _ => {}
        }
        (!query.is_empty()).then_some(query)
    }

    fn needs(&self, query: &mut FactsQuery) {
        for command in self.commands.iter() {
            command.needs(query);
        }
        query.logged = self.in_doubt_since.as_ref().map(|since| self.logged(since));
    }

    /// The events that an earlier attempt may have written.
    fn logged(&self, since: &Heads) -> LoggedQuery {
        let mut query = LoggedQuery {
            since: since.clone(),
            ..LoggedQuery::default()
        };
        for part in self.commands.iter().flat_map(|it| &it.scope().parts) {
            match part {
                Part::Conversation(id) => query.conversations.push(*id),
                Part::Agent(id) => query.agents.push(*id),
                Part::Name(_)
                | Part::Credential(_)
                | Part::User(_)
                | Part::File(_)
                | Part::Uploads(_)
                | Part::Key(_) => {}
            }
        }
        query
    }

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        for command in self.commands.iter() {
            command.needs_more(facts, query);
        }
        // The turns that an earlier attempt may have written.
        let logged = facts.logged.iter();
        let turns = logged.filter_map(|event| Some((event.tenant.clone(), event.turn_id?)));
        query.turns.extend(turns);
    }

    /// Plans all commands; returns the rows, and whether all are applied.
    pub(crate) fn plan(&self, facts: &Facts) -> (Rows, bool) {
        let mut planner = Planner::new(facts);
        let mut all_applied = true;
        for command in self.commands.iter() {
            all_applied &= command.plan(&mut planner, self.in_doubt_since.is_some());
        }
        (planner.into_rows(), all_applied)
    }
}

impl Decision for Batch {
    fn decide(&self, round: usize, facts: &Facts) -> Decided {
        match self.query(round, facts) {
            Some(query) => Decided::Read(query),
            None => Decided::Write(self.plan(facts).0),
        }
    }
}
