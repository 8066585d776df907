//! The search for the rule that answers a message, in slices of time.

use std::{
    cell::OnceCell,
    sync::Arc,
    time::{Duration, Instant},
};

use ports::ReplyRequest;

use crate::{keywords::FoldedText, pattern::Captures, rule_book::RuleBook};

/// A search that can pause between two rules and go on elsewhere: one rule is quick, but two
/// hundred of the worst kind on a long message are not.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) book: Arc<RuleBook>,
    pub(crate) request: ReplyRequest,
    folded: OnceCell<FoldedText>,
    next: usize,
}

/// How far a search has come.
#[derive(Debug)]
pub(crate) enum Progress {
    /// A rule matches, and none before it.
    Found(Match),
    /// No rule matches.
    Nothing,
    /// The slice of time is over.
    Paused,
}

/// The rule that matches, and what its groups caught.
#[derive(Debug)]
pub(crate) struct Match {
    pub(crate) place: usize,
    pub(crate) captures: Captures,
}

impl Search {
    pub(crate) fn new(book: Arc<RuleBook>, request: ReplyRequest) -> Self {
        Self {
            book,
            request,
            folded: OnceCell::new(),
            next: 0,
        }
    }

    /// Goes on until it is done or `slice` is over; asks at least one rule.
    pub(crate) fn advance(&mut self, slice: Duration) -> Progress {
        if self.next == self.book.len() {
            return Progress::Nothing;
        }
        let mut memories = self.book.take_memories();
        let started = Instant::now();
        let progress = loop {
            let place = self.next;
            let message = &self.request.message;
            let folded = || self.folded.get_or_init(|| FoldedText::new(message));
            if let Some(captures) = self.book.try_rule(place, &mut memories, message, folded) {
                break Progress::Found(Match { place, captures });
            }
            self.next += 1;
            if self.next == self.book.len() {
                break Progress::Nothing;
            }
            if started.elapsed() >= slice {
                break Progress::Paused;
            }
        };
        self.book.give_back(memories);
        progress
    }
}

#[cfg(test)]
mod tests {
    use domain::{TenantId, TurnId};

    use super::*;
    use crate::samples::{agent, pattern_rule};

    fn search(message: &str) -> Search {
        let mut agent = agent();
        let sources = ["never", "nor this", "hello"];
        agent.config.rules = Some(sources.map(|source| pattern_rule(source, "x")).to_vec());
        let book = RuleBook::compile(&agent).unwrap();
        let request = ReplyRequest {
            tenant: TenantId::DEFAULT.parse().unwrap(),
            agent: Arc::new(agent),
            turn_id: TurnId::new(uuid::Uuid::nil()),
            turn_number: 0,
            user_id: None,
            history: Vec::new(),
            message: message.to_owned(),
            tools: Vec::new(),
            unavailable_tools: Vec::new(),
        };
        Search::new(Arc::new(book), request)
    }

    #[test]
    fn pauses_between_rules_and_goes_on_where_it_was() {
        let mut search = search("oh, hello");
        for _ in 0..2 {
            assert!(matches!(search.advance(Duration::ZERO), Progress::Paused));
        }
        let Progress::Found(found) = search.advance(Duration::ZERO) else {
            panic!("the third rule matches");
        };
        assert_eq!((found.place, found.captures), (2, vec![Some(4..9)]));
    }

    #[test]
    fn ends_when_no_rule_is_left() {
        let mut search = search("good-bye");
        for _ in 0..2 {
            let progress = search.advance(Duration::MAX);
            assert!(matches!(progress, Progress::Nothing));
        }
    }
}
