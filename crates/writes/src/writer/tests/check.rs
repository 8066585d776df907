//! Comparison of the facts that the writer knows with those of the model.

use std::{collections::HashMap, fmt::Debug, hash::Hash};

use domain::TurnStatus;
use ports::{Conditions, FactsQuery, write_store::InTenant};

use super::{writing::Writing, *};

impl Writing {
    /// Expects that the facts that the writer knows are those of the model, unless another process has
    /// written to the model since.
    pub(super) fn check_known_facts(&self) {
        let tables = self.model.0.lock();
        let tenant = fixture::tenant();
        let heads = self.known(FactsQuery::default()).map(|facts| facts.heads);
        if heads.is_none_or(|heads| heads.get(&tenant) != tables.heads.get(&tenant)) {
            return;
        }
        let newest = self.last_number.saturating_sub(20).max(101)..=self.last_number;
        for number in [1, 2, 3, 1_001].into_iter().chain(newest) {
            let key = (tenant.clone(), fixture::conversation_id(number));
            let mut query = FactsQuery::default();
            query.conversations.insert(key.clone());
            let known = self.known(query).map(|facts| facts.conversations);
            assert_same(known, &key, tables.conversation(&key).as_ref());

            let key = (tenant.clone(), fixture::agent_id(number));
            let mut query = FactsQuery::default();
            query.agents.insert(key.clone());
            let known = self.known(query).map(|facts| facts.agents);
            assert_same(known, &key, tables.agents.get(&key));

            let key = (tenant.clone(), fixture::turn_id(number));
            let mut query = FactsQuery::default();
            query.turns.insert(key.clone());
            let known = self.known(query).map(|facts| facts.turns);
            let open = tables.turns.get(&key).filter(|row| {
                [TurnStatus::Queued, TurnStatus::InProgress].contains(&row.turn.status)
            });
            assert_same(known, &key, open);
        }
    }

    /// Returns the facts of `query`, if they are known.
    fn known(&self, mut query: FactsQuery) -> Option<Facts> {
        query.tenants.insert(fixture::tenant());
        let (mut facts, mut conditions) = (Facts::default(), Conditions::default());
        let known_facts = &self.writer.known_facts;
        known_facts.add(&query, &mut facts, &mut conditions)?;
        Some(facts)
    }
}

fn assert_same<K: Eq + Hash, T: PartialEq + Debug>(
    known: Option<HashMap<InTenant<K>, T>>,
    key: &InTenant<K>,
    stored: Option<&T>,
) {
    if let Some(known) = known {
        assert_eq!(known.get(key), stored);
    }
}
