//! The search for the rule that answers a message, in slices of time.

use std::{
    cell::OnceCell,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use cpu_pool::Slice;
use ports::ReplyRequest;

use crate::{
    keywords::FoldedText,
    pattern::Captures,
    rule_book::{Memories, RuleBook},
};

/// The longest time for which a message is searched, pauses aside. Two hundred ordinary rules
/// take a small part of it on the longest message.
const LONGEST_SEARCH: Duration = Duration::from_secs(3);

/// A search that can pause between two rules, and inside of one.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) book: Arc<RuleBook>,
    pub(crate) request: ReplyRequest,
    folded: OnceCell<FoldedText>,
    next: usize,
    /// Present while the search is paused.
    memories: Option<Memories>,
    spent: Duration,
}

/// The rule that matches, and what its groups caught.
#[derive(Debug)]
pub(crate) struct Match {
    pub(crate) place: usize,
    pub(crate) captures: Captures,
}

/// The rules take too much work on this message.
#[derive(Debug)]
pub(crate) struct TooMuchWork;

impl Search {
    pub(crate) fn new(book: Arc<RuleBook>, request: ReplyRequest) -> Self {
        Self {
            book,
            request,
            folded: OnceCell::new(),
            next: 0,
            memories: None,
            spent: Duration::ZERO,
        }
    }

    /// Continues until the first rule that matches is found, no rule is left, or the slice is
    /// over.
    pub(crate) fn advance(&mut self, slice: Slice) -> Poll<Result<Option<Match>, TooMuchWork>> {
        let started = Instant::now();
        let memories = self.memories.take();
        let mut memories = memories.unwrap_or_else(|| self.book.take_memories());
        if let Poll::Ready(found) = self.try_rules(&mut memories, slice) {
            self.book.give_back(memories);
            return Poll::Ready(Ok(found));
        }
        self.spent += started.elapsed();
        if self.spent >= LONGEST_SEARCH {
            return Poll::Ready(Err(TooMuchWork));
        }
        self.memories = Some(memories);
        Poll::Pending
    }

    fn try_rules(&mut self, memories: &mut Memories, slice: Slice) -> Poll<Option<Match>> {
        while self.next < self.book.len() {
            let (place, message) = (self.next, &self.request.message);
            let folded = || self.folded.get_or_init(|| FoldedText::new(message));
            match self.book.try_rule(place, memories, message, folded, slice) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(captures)) => {
                    return Poll::Ready(Some(Match { place, captures }));
                }
                Poll::Ready(None) => self.next += 1,
            }
            if slice.is_over() && self.next < self.book.len() {
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
    use crate::samples::{agent, pattern_rule};

    fn search(message: &str) -> Search {
        let mut agent = agent();
        let sources = ["never", "nor this", "hello"];
        agent.config.rules = Some(
            sources
                .map(|source| pattern_rule(source, "{{capture.0}}"))
                .to_vec(),
        );
        let agent = Arc::new(agent);
        let book = RuleBook::compile(&agent).unwrap();
        let request = ReplyRequest {
            tenant: TenantId::DEFAULT.parse().unwrap(),
            agent,
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
            assert!(search.advance(Slice::new(Duration::ZERO)).is_pending());
        }
        let Poll::Ready(Ok(Some(found))) = search.advance(Slice::new(Duration::MAX)) else {
            panic!("the third rule matches");
        };
        assert_eq!((found.place, found.captures), (2, vec![Some(4..9)]));
    }

    #[test]
    fn ends_when_no_rule_is_left() {
        let mut search = search("good-bye");
        for _ in 0..2 {
            let found = search.advance(Slice::new(Duration::MAX));
            assert!(matches!(found, Poll::Ready(Ok(None))));
        }
    }

    #[test]
    fn ends_when_it_takes_too_much_work() {
        let mut search = search("good-bye");
        search.spent = LONGEST_SEARCH;
        let found = search.advance(Slice::new(Duration::ZERO));
        assert!(matches!(found, Poll::Ready(Err(TooMuchWork))));
    }
}
