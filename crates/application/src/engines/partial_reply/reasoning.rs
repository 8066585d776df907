//! The model's reasoning while it replies, as far as it is shown.

use domain::{Agent, Reasoning, ShowReasoning, reasoning::PARAGRAPH};

use super::PartialReply;
use crate::engines::Candidate;

/// The model's reasoning so far. That of each request is a paragraph of its own; that of a request that failed
/// stays, also if another engine replies then.
#[derive(Debug, Default, Clone)]
pub(crate) struct PartialReasoning {
    /// The reasoning, with those who see it; `None` if there is none, or nobody sees it.
    so_far: Option<Reasoning>,
    /// True if what follows is that of another request.
    is_next_request: bool,
    /// The length of the text that the journal has.
    recorded: usize,
}

impl PartialReasoning {
    /// Returns the text so far.
    pub(crate) fn text(&self) -> &str {
        self.so_far.as_ref().map_or("", |it| it.text.as_str())
    }

    /// Returns those who see the text.
    pub(crate) fn shown_to(&self) -> ShowReasoning {
        let so_far = self.so_far.as_ref();
        so_far.map_or(ShowReasoning::Never, |it| it.shown_to)
    }

    /// Returns the reasoning to store with the turn.
    pub(crate) fn to_stored(&self) -> Option<Reasoning> {
        self.so_far.clone()
    }

    /// Begins that of another request to a model.
    pub(crate) const fn start_request(&mut self) {
        self.is_next_request = true;
    }

    /// Adds what the model reasons, if anybody sees it. Returns whether the text has grown.
    #[must_use]
    pub(crate) fn push(&mut self, text: &str, shown_to: ShowReasoning) -> bool {
        let is_shown = matches!(shown_to, ShowReasoning::Staff | ShowReasoning::Everyone);
        if !is_shown || text.is_empty() {
            return false;
        }
        let so_far = self
            .so_far
            .get_or_insert_with(|| Reasoning::empty(shown_to));
        let before = so_far.text.len();
        if std::mem::take(&mut self.is_next_request) {
            so_far.push_paragraph(text);
        } else {
            so_far.push(text);
        }
        so_far.text.len() > before
    }

    /// Adds what the journal has of a response.
    pub(crate) fn push_recorded(&mut self, recorded: Option<&Reasoning>) {
        if let Some(recorded) = recorded {
            self.start_request();
            let _ = self.push(&recorded.text, recorded.shown_to);
        }
        self.recorded = self.text().len();
    }

    /// Returns what the journal lacks, and counts it as recorded.
    pub(crate) fn take_unrecorded(&mut self) -> Option<Reasoning> {
        let so_far = self.so_far.as_ref()?;
        let new = so_far.text.get(self.recorded..).unwrap_or_default();
        let new = new.strip_prefix(PARAGRAPH).unwrap_or(new);
        let unrecorded = (!new.is_empty()).then(|| Reasoning {
            text: new.to_owned(),
            shown_to: so_far.shown_to,
        });
        self.recorded = so_far.text.len();
        unrecorded
    }

    /// Appends a part that another node has sent. Skips what is known already; returns false if the parts before
    /// it are missing.
    #[must_use]
    pub(crate) fn push_part(&mut self, from: usize, text: &str, shown_to: ShowReasoning) -> bool {
        let so_far = self
            .so_far
            .get_or_insert_with(|| Reasoning::empty(shown_to));
        let Some(known) = so_far.text.len().checked_sub(from) else {
            return false;
        };
        so_far.push(text.get(known..).unwrap_or_default());
        true
    }

    /// Takes the reasoning that is stored with the turn. Returns false if it does not continue this one, so that
    /// readers receive it from the start. A cancelled turn may have a part of this one.
    #[must_use]
    pub(crate) fn become_stored(&mut self, stored: Option<Reasoning>) -> bool {
        let Some(stored) = stored.filter(|it| !self.text().starts_with(&it.text)) else {
            return true;
        };
        let continues = stored.text.starts_with(self.text());
        self.so_far = Some(stored);
        continues
    }
}

impl PartialReply {
    /// Begins what a request to a model adds.
    pub(in crate::engines) fn begin_request(&mut self, candidate: &Candidate, agent: &Agent) {
        self.requests.begin(candidate, agent);
        self.reasoning.start_request();
    }

    /// Takes the reasoning that another process has stored. Its readers receive it from the start if it is another
    /// one.
    pub(crate) fn take_stored_reasoning(&mut self, stored: Option<Reasoning>) {
        let continues = self.reasoning.become_stored(stored);
        self.resumptions += u32::from(!continues);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasoning_of_each_request_is_a_paragraph_and_is_recorded_once() {
        let mut live = PartialReasoning::default();
        let mut again = PartialReasoning::default();
        for pieces in [["Hm", "m."], ["So ", "then."]] {
            live.start_request();
            for piece in pieces {
                assert!(live.push(piece, ShowReasoning::Staff));
            }
            let recorded = live.take_unrecorded();
            assert_eq!(recorded.as_ref().unwrap().text, pieces.concat());
            again.push_recorded(recorded.as_ref());
        }
        assert_eq!(live.take_unrecorded(), None);
        assert_eq!(again.take_unrecorded(), None);
        assert_eq!(live.text(), "Hmm.\n\nSo then.");
        assert_eq!(again.to_stored(), live.to_stored());
    }

    #[test]
    fn what_nobody_sees_is_not_kept() {
        let mut reasoning = PartialReasoning::default();
        assert!(!reasoning.push("Hm.", ShowReasoning::Never));
        assert_eq!(reasoning.to_stored(), None);
    }

    #[test]
    fn parts_of_other_nodes_are_applied_once_and_in_order() {
        let mut reasoning = PartialReasoning::default();
        let parts = [(0, "ab"), (0, "ab"), (1, "bc"), (9, "z"), (3, "d")];
        let applied =
            parts.map(|(from, text)| reasoning.push_part(from, text, ShowReasoning::Everyone));
        assert_eq!(applied, [true, true, true, false, true]);
        assert_eq!(reasoning.text(), "abcd");
    }

    #[test]
    fn readers_go_on_with_the_stored_reasoning_unless_it_is_another_one() {
        let stored = |text: &str| {
            Some(Reasoning {
                text: text.to_owned(),
                shown_to: ShowReasoning::Staff,
            })
        };
        let mut reasoning = PartialReasoning::default();
        assert!(reasoning.become_stored(None));
        assert!(reasoning.become_stored(stored("ab")));
        assert!(reasoning.become_stored(stored("abc")));
        assert!(reasoning.become_stored(stored("a")));
        assert_eq!(reasoning.text(), "abc");
        assert!(!reasoning.become_stored(stored("x")));
        assert_eq!(reasoning.text(), "x");
    }
}
