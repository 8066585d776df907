//! An answer in pieces, as it streams.

use std::mem;

/// Shortest delta in bytes, the last one aside. What is shorter goes with the next, so that an
/// answer of small sentences does not become a crowd of events that each weigh more than their
/// text.
const DELTA_BYTES: usize = 40;

/// The sentences or lines of an answer; put together they are the answer again.
#[derive(Debug)]
pub(crate) struct Deltas {
    text: String,
    /// Bytes that were given.
    given: usize,
}

/// Where the search for the end of a sentence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the middle of a sentence.
    Inside,
    /// Behind a mark that ends the sentence if white space follows.
    Marked,
    /// Behind the end; the white space here still belongs to it.
    Over,
}

impl Deltas {
    /// Those of `text`; none where it is empty.
    pub(crate) const fn of(text: String) -> Self {
        Self { text, given: 0 }
    }
}

impl Iterator for Deltas {
    type Item = String;

    /// Nothing is copied when the answer is a single delta, as most are.
    fn next(&mut self) -> Option<String> {
        let rest = &self.text[self.given..];
        let length = length_of_first(rest);
        if self.given == 0 && length == rest.len() {
            let whole = mem::take(&mut self.text);
            return (!whole.is_empty()).then_some(whole);
        }
        self.given += length;
        (length > 0).then(|| rest[..length].to_owned())
    }
}

/// How many bytes the first delta of `text` has.
fn length_of_first(text: &str) -> usize {
    if text.len() <= DELTA_BYTES {
        return text.len();
    }
    let bytes = text.as_bytes();
    let mut searched = 0;
    while let Some(letters) = bytes[searched..]
        .iter()
        .position(|byte| may_be_a_mark(*byte))
    {
        searched += letters;
        let (marks, end_a_sentence) = run_of_marks(&text[searched..]);
        if end_a_sentence && searched + marks >= DELTA_BYTES {
            return searched + marks;
        }
        searched = text.ceil_char_boundary(searched + marks.max(1));
    }
    text.len()
}

/// Whether a mark may begin with this byte: a quick way past the letters of most languages.
const fn may_be_a_mark(byte: u8) -> bool {
    matches!(byte, b'\n' | b'.' | b'!' | b'?' | 0xe2 | 0xe3 | 0xef)
}

/// How many bytes of marks and white space `text` begins with, and whether they end a sentence.
fn run_of_marks(text: &str) -> (usize, bool) {
    let mut state = State::Inside;
    for (position, character) in text.char_indices() {
        let next = state.after(character);
        let is_over = state == State::Over;
        if next == State::Inside || (is_over && next != State::Over) {
            return (position, is_over);
        }
        state = next;
    }
    (text.len(), true)
}

impl State {
    /// An abbreviation is taken for the end of a sentence: a delta ends there, and no harm is done.
    fn after(self, character: char) -> Self {
        match (character, self) {
            ('\n' | '。' | '！' | '？', _) | ('」' | '』' | '）', Self::Over) => Self::Over,
            ('.' | '!' | '?' | '…', _) | ('"' | '\'' | '”' | '’' | ')' | ']', Self::Marked) => {
                Self::Marked
            }
            (_, Self::Marked | Self::Over) if character.is_whitespace() => Self::Over,
            _ => Self::Inside,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::of_one_sentence("You're welcome, and do come back whenever there is anything else.")]
    #[case::short("Hello! I'm Ada.\nHow are you?")]
    #[case::decimal(
        "It is 3.14159 by the way, see example.org/a.html?b=c for what follows from it"
    )]
    #[case::white_space_at_the_end("Whatever you say, the answer is always the same. \n\n")]
    fn a_whole_answer_is_not_copied(#[case] text: &str) {
        let text = text.to_owned();
        let place = text.as_ptr();
        let mut deltas = Deltas::of(text);
        let whole = deltas.next().unwrap();
        assert_eq!(whole.as_ptr(), place);
        assert_eq!(deltas.next(), None);
    }

    #[rstest]
    #[case::sentences(&[
        "The first sentence is a long one, is it not? ",
        "The second one, says Ada, is “even longer.”  ",
        "The third is not.",
    ])]
    #[case::lines(&[
        "- a line that is long enough to be a delta\n\n",
        "- another line that is long enough to be one\n  ",
        "- the last",
    ])]
    #[case::short_ones_go_with_the_next(&[
        "Hello! I'm Ada. I can help with time and weather. ",
        "What can I do for you?",
    ])]
    #[case::quoted(&[
        "She said: \"Nothing is ever quite as it seems.\" ",
        "(He thought that nothing is what it seems to be!) ",
        "\"And so what?\"",
    ])]
    #[case::without_spaces(&["「今日は天気がいいから散歩に行きましょう。」", "そうしましょう！"])]
    #[case::runs_of_marks(&["Is that really what you would like to say?!... ", "Yes."])]
    fn ends_with_a_sentence_or_line(#[case] expected: &[&str]) {
        let deltas: Vec<String> = Deltas::of(expected.concat()).collect();
        assert_eq!(deltas, expected);
    }

    #[test]
    fn an_empty_answer_has_none() {
        assert_eq!(Deltas::of(String::new()).next(), None);
    }

    proptest! {
        #[test]
        fn put_together_they_are_the_answer(text in "([a-z.!?…。」\"\\n é🦊]|[a-z]{1,30}[.!?] ?){0,60}") {
            let deltas: Vec<String> = Deltas::of(text.clone()).collect();
            prop_assert_eq!(deltas.concat(), text);
            if let Some((last, others)) = deltas.split_last() {
                prop_assert!(!last.is_empty());
                prop_assert!(others.iter().all(|delta| delta.len() >= DELTA_BYTES));
            }
        }
    }
}
