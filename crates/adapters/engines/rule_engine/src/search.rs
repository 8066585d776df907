//! The search for the first matching rule, in slices of time.

use std::{
    cell::OnceCell,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use cpu_pool::TimeSlice;
use ports::ModelRequest;

use crate::{
    compiled_rules::{CompiledRules, Mismatch, SearchMemory},
    keywords::FoldedText,
    pattern::Captures,
};

/// The maximum time of a search, without pauses. Two hundred ordinary rules take a small part of it
/// for the longest message.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(3);

/// A search that can pause between two rules and within one.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) rules: Arc<CompiledRules>,
    pub(crate) request: ModelRequest,
    folded: OnceCell<FoldedText>,
    next: usize,
    /// The results of the rules before the matching one, if they are recorded.
    mismatches: Option<Vec<Mismatch>>,
    /// Present while the search is paused.
    memory: Option<SearchMemory>,
    spent: Duration,
}

/// The matching rule and the positions of its groups.
#[derive(Debug)]
pub(crate) struct Match {
    pub(crate) index: usize,
    pub(crate) captures: Captures,
}

/// The search takes too long for this message.
#[derive(Debug)]
pub(crate) struct SearchTimeout;

impl Search {
    pub(crate) fn new(rules: Arc<CompiledRules>, request: ModelRequest) -> Self {
        Self {
            rules,
            request,
            folded: OnceCell::new(),
            next: 0,
            mismatches: None,
            memory: None,
            spent: Duration::ZERO,
        }
    }

    /// Records the results of the rules before the matching one.
    pub(crate) fn recording(self) -> Self {
        Self {
            mismatches: Some(Vec::new()),
            ..self
        }
    }

    /// Returns the recorded results of the rules before the matching one.
    pub(crate) fn mismatches(&self) -> &[Mismatch] {
        self.mismatches.as_deref().unwrap_or_default()
    }

    /// Continues until a rule matches, no rule is left, or the slice is over.
    pub(crate) fn advance(
        &mut self,
        slice: TimeSlice,
    ) -> Poll<Result<Option<Match>, SearchTimeout>> {
        let started = Instant::now();
        let memory = self.memory.take();
        let mut memory = memory.unwrap_or_else(|| self.rules.acquire_memory());
        if let Poll::Ready(found) = self.try_rules(&mut memory, slice) {
            self.rules.release_memory(memory);
            return Poll::Ready(Ok(found));
        }
        self.spent += started.elapsed();
        if self.spent >= MAX_SEARCH_TIME {
            return Poll::Ready(Err(SearchTimeout));
        }
        self.memory = Some(memory);
        Poll::Pending
    }

    fn try_rules(&mut self, memory: &mut SearchMemory, slice: TimeSlice) -> Poll<Option<Match>> {
        while self.next < self.rules.len() {
            let (index, message) = (self.next, &self.request.message);
            let folded = || self.folded.get_or_init(|| FoldedText::new(message));
            match self.rules.try_rule(index, memory, message, folded, slice) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(captures)) => {
                    return Poll::Ready(Some(Match { index, captures }));
                }
                Poll::Ready(Err(mismatch)) => {
                    self.next += 1;
                    if let Some(mismatches) = &mut self.mismatches {
                        mismatches.push(mismatch);
                    }
                }
            }
            if slice.is_over() && self.next < self.rules.len() {
                return Poll::Pending;
            }
        }
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use domain::{TenantId, TurnId};

    use super::*;
    use crate::fixture::{agent, pattern_rule};

    fn search(message: &str) -> Search {
        let mut agent = agent();
        let sources = ["never", "nor this", "hello"];
        agent.config.rules = Some(
            sources
                .map(|source| pattern_rule(source, "{{capture.0}}"))
                .to_vec(),
        );
        let agent = Arc::new(agent);
        let rules = CompiledRules::compile(&agent).unwrap();
        let tenant = TenantId::DEFAULT.parse().unwrap();
        let turn = TurnId::new(uuid::Uuid::nil());
        let request = ModelRequest::new(tenant, agent, turn, message);
        Search::new(Arc::new(rules), request)
    }

    #[test]
    fn a_search_pauses_between_rules_and_continues() {
        let mut search = search("oh, hello");
        for _ in 0..2 {
            assert!(search.advance(TimeSlice::new(Duration::ZERO)).is_pending());
        }
        let Poll::Ready(Ok(Some(found))) = search.advance(TimeSlice::new(Duration::MAX)) else {
            panic!("the third rule matches");
        };
        assert_eq!((found.index, found.captures), (2, vec![Some(4..9)]));
    }

    #[test]
    fn a_search_ends_when_no_rule_is_left() {
        let mut search = search("good-bye");
        for _ in 0..2 {
            let found = search.advance(TimeSlice::new(Duration::MAX));
            assert!(matches!(found, Poll::Ready(Ok(None))));
        }
    }

    #[test]
    fn a_search_ends_when_it_takes_too_long() {
        let mut search = search("good-bye");
        search.spent = MAX_SEARCH_TIME;
        let found = search.advance(TimeSlice::new(Duration::ZERO));
        assert!(matches!(found, Poll::Ready(Err(SearchTimeout))));
    }
}
