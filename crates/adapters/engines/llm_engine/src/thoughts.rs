//! Thoughts of a model that begin its reply as `<think>…</think>`. Some servers send them in a member of
//! their own only with certain options.

use std::{borrow::Cow, mem};

const BEGIN: &str = "<think>";
const END: &str = "</think>";

/// Finds the thoughts at the beginning of a reply.
#[derive(Default)]
pub(crate) struct ThoughtFilter {
    state: State,
    /// The text that is not known to be thought or reply.
    pending: String,
    /// The number of bytes that were removed.
    removed: usize,
    /// The thoughts that [`Self::take`] returns next; `None` if they are dropped.
    thoughts: Option<String>,
    /// A thought has a text.
    has_thought: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The text so far may be the beginning of the tag.
    #[default]
    Beginning,
    /// The text begins with the tag, and it is not decided whether it has a meaning.
    Undecided,
    Thought,
    /// Between the thought and the reply, whose first lines are empty.
    Gap,
    Reply,
}

impl ThoughtFilter {
    /// Creates a filter that returns the thoughts.
    pub(crate) fn keeping() -> Self {
        Self {
            thoughts: Some(String::new()),
            ..Self::default()
        }
    }

    /// Returns the thoughts since the last call.
    pub(crate) fn take(&mut self) -> String {
        self.thoughts.as_mut().map(mem::take).unwrap_or_default()
    }

    /// The number of bytes that are or were kept.
    pub(crate) fn bytes(&self) -> usize {
        self.pending.len() + self.removed
    }

    /// Returns whether [`Self::decide`] must be called.
    pub(crate) fn is_undecided(&self) -> bool {
        self.state == State::Undecided
    }

    /// Adds a piece, and returns the text of the reply so far.
    pub(crate) fn push<'a>(&mut self, piece: Cow<'a, str>) -> Cow<'a, str> {
        if self.state == State::Reply {
            return piece;
        }
        self.pending.push_str(&piece);
        Cow::Owned(self.advance())
    }

    /// Decides whether the tags have a meaning, and returns the text of the reply so far.
    pub(crate) fn decide(&mut self, has_think_tags: bool) -> String {
        if has_think_tags {
            self.state = State::Thought;
            let blank = self.pending.len() - self.pending.trim_start().len();
            self.remove(blank + BEGIN.len());
            return self.advance();
        }
        self.state = State::Reply;
        mem::take(&mut self.pending)
    }

    /// Ends the text, and returns the rest of the reply.
    pub(crate) fn finish(&mut self) -> String {
        if self.state == State::Thought {
            self.think(self.pending.len());
        }
        let rest = mem::take(&mut self.pending);
        let is_reply = matches!(self.state, State::Beginning | State::Undecided);
        if is_reply { rest } else { String::new() }
    }

    fn advance(&mut self) -> String {
        if self.state == State::Beginning {
            let text = self.pending.trim_start();
            if text.starts_with(BEGIN) {
                self.state = State::Undecided;
            } else if !BEGIN.starts_with(text) {
                self.state = State::Reply;
                return mem::take(&mut self.pending);
            }
        }
        if self.state == State::Thought {
            if let Some(at) = self.pending.find(END) {
                self.think(at);
                self.remove(END.len());
                self.state = State::Gap;
            } else {
                // The end of the tag may follow.
                let kept = self.pending.len().saturating_sub(END.len());
                self.think(self.pending.floor_char_boundary(kept));
            }
        }
        if self.state == State::Gap {
            let blank = self.pending.len() - self.pending.trim_start().len();
            self.remove(blank);
            if !self.pending.is_empty() {
                self.state = State::Reply;
            }
            return mem::take(&mut self.pending);
        }
        String::new()
    }

    /// Removes bytes that are thoughts. Blank lines before the first word are dropped.
    fn think(&mut self, bytes: usize) {
        if let Some(thoughts) = &mut self.thoughts {
            let piece = &self.pending[..bytes];
            let piece = if self.has_thought {
                piece
            } else {
                piece.trim_start()
            };
            self.has_thought |= !piece.is_empty();
            thoughts.push_str(piece);
        }
        self.remove(bytes);
    }

    fn remove(&mut self, bytes: usize) {
        self.pending.drain(..bytes);
        self.removed += bytes;
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Returns the reply of a text that arrives in pieces of this many characters.
    fn reply(text: &str, size: usize, has_think_tags: bool) -> String {
        let mut filter = ThoughtFilter::default();
        let mut reply = String::new();
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            reply.push_str(&filter.push(piece.iter().collect::<String>().into()));
            if filter.is_undecided() {
                reply.push_str(&filter.decide(has_think_tags));
            }
        }
        reply + &filter.finish()
    }

    #[rstest]
    #[case("<think>The user is rude.</think>\n\nHello!", "Hello!")]
    #[case("\n<think>\né < </thin </think>Hello! </think>\n", "Hello! </think>\n")]
    #[case(
        "<think></think>Hello!\n\n<think>a</think>",
        "Hello!\n\n<think>a</think>"
    )]
    #[case("<think>without an end", "")]
    #[case("<thinking>a</thinking>", "<thinking>a</thinking>")]
    #[case(" \n Hello <think>", " \n Hello <think>")]
    #[case("<thi", "<thi")]
    #[case("\n", "\n")]
    #[case("", "")]
    fn a_thought_at_the_beginning_is_removed(#[case] text: &str, #[case] expected: &str) {
        for size in 1..=text.chars().count().max(1) {
            assert_eq!(reply(text, size, true), expected);
            assert_eq!(reply(text, size, false), text);
        }
    }

    #[rstest]
    #[case("<think>The user is rude.</think>\n\nHello!", "The user is rude.")]
    #[case("\n<think>\n é < </thin </think>Hello! </think>\n", "é < </thin ")]
    #[case("<think>\n\n</think>\n\nHello!", "")]
    #[case("<think>without an end</thi", "without an end</thi")]
    #[case("Hello <think>a</think>", "")]
    fn thoughts_are_returned_in_pieces(#[case] text: &str, #[case] expected: &str) {
        let characters: Vec<char> = text.chars().collect();
        for size in 1..=characters.len() {
            let mut filter = ThoughtFilter::keeping();
            let mut thoughts = String::new();
            for piece in characters.chunks(size) {
                filter.push(piece.iter().collect::<String>().into());
                if filter.is_undecided() {
                    filter.decide(true);
                }
                thoughts.push_str(&filter.take());
            }
            filter.finish();
            assert_eq!(thoughts + &filter.take(), expected, "{size}");
            assert_eq!(filter.take(), "");
        }
    }

    #[test]
    fn removed_text_is_counted_and_not_kept() {
        let mut filter = ThoughtFilter::default();
        filter.push(BEGIN.into());
        filter.decide(true);
        for _ in 0..1000 {
            assert_eq!(filter.push("more".into()), "");
        }
        assert_eq!(filter.bytes(), BEGIN.len() + 4000);
        assert!(filter.pending.len() <= END.len() + 4);
    }
}
