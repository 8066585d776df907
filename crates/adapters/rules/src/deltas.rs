//! A reply in pieces, for streaming.

use std::mem;

/// The minimum length of a delta in bytes, except for the last one. Shorter sentences are combined,
/// so that the events of a reply are not larger than its text.
const MIN_DELTA_BYTES: usize = 40;

/// The sentences or lines of a reply. Concatenated, they are the whole reply.
#[derive(Debug)]
pub(crate) struct Deltas {
    text: String,
    /// The number of bytes that were returned.
    returned: usize,
}

/// The state of the search for the end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Within a sentence.
    Inside,
    /// After a mark that ends the sentence if white space follows.
    Marked,
    /// After the end of the sentence, to which this white space still belongs.
    Over,
}

impl Deltas {
    /// Splits a text; an empty text has no deltas.
    pub(crate) const fn new(text: String) -> Self {
        Self { text, returned: 0 }
    }
}

impl Iterator for Deltas {
    type Item = String;

    /// Copies nothing if the reply is a single delta, as most are.
    fn next(&mut self) -> Option<String> {
        let rest = &self.text[self.returned..];
        let length = length_of_first(rest);
        if self.returned == 0 && length == rest.len() {
            let whole = mem::take(&mut self.text);
            return (!whole.is_empty()).then_some(whole);
        }
        self.returned += length;
        (length > 0).then(|| rest[..length].to_owned())
    }
}

/// Returns the length of the first delta of `text` in bytes.
fn length_of_first(text: &str) -> usize {
    if text.len() <= MIN_DELTA_BYTES {
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
        if end_a_sentence && searched + marks >= MIN_DELTA_BYTES {
            return searched + marks;
        }
        searched = text.ceil_char_boundary(searched + marks.max(1));
    }
    text.len()
}

/// Returns whether a mark may start with this byte: a quick way to skip letters.
const fn may_be_a_mark(byte: u8) -> bool {
    matches!(byte, b'\n' | b'.' | b'!' | b'?' | 0xe2 | 0xe3 | 0xef)
}

/// Returns the number of bytes of marks and white space at the start of `text`, and whether they
/// end a sentence.
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
    /// An abbreviation counts as the end of a sentence, which only splits a delta.
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
    fn a_single_delta_is_not_copied(#[case] text: &str) {
        let text = text.to_owned();
        let pointer = text.as_ptr();
        let mut deltas = Deltas::new(text);
        let whole = deltas.next().unwrap();
        assert_eq!(whole.as_ptr(), pointer);
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
    fn deltas_end_with_a_sentence_or_line(#[case] expected: &[&str]) {
        let deltas: Vec<String> = Deltas::new(expected.concat()).collect();
        assert_eq!(deltas, expected);
    }

    #[test]
    fn an_empty_reply_has_no_delta() {
        assert_eq!(Deltas::new(String::new()).next(), None);
    }

    proptest! {
        #[test]
        fn concatenated_deltas_are_the_reply(text in "([a-z.!?…。」\"\\n é🦊]|[a-z]{1,30}[.!?] ?){0,60}") {
            let deltas: Vec<String> = Deltas::new(text.clone()).collect();
            prop_assert_eq!(deltas.concat(), text);
            if let Some((last, others)) = deltas.split_last() {
                prop_assert!(!last.is_empty());
                prop_assert!(others.iter().all(|delta| delta.len() >= MIN_DELTA_BYTES));
            }
        }
    }
}
