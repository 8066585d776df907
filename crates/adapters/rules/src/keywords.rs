//! Keywords: words that must occur, regardless of case.

use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation;

/// Text in the form for comparisons, and the positions of its words.
#[derive(Debug)]
pub(crate) struct FoldedText {
    text: String,
    words: Vec<Range<usize>>,
    /// The same words, for look-ups.
    sorted: Vec<Range<usize>>,
}

/// A keyword: one word, or a text that is searched as a substring.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    /// The common case: a single word, found by a look-up.
    Word(Box<str>),
    /// Several words, or a word with other characters. MUST NOT start or end within a word.
    Phrase(Box<str>),
}

impl FoldedText {
    /// Folds case and white space, and finds the words.
    pub(crate) fn new(source: &str) -> Self {
        let text = fold(source);
        let words = split_words(&text);
        let mut sorted = words.clone();
        sorted.sort_unstable_by(|one, other| text[one.clone()].cmp(&text[other.clone()]));
        Self {
            text,
            words,
            sorted,
        }
    }

    /// The words in their order.
    pub(crate) fn words(&self) -> Vec<&str> {
        let words = self.words.iter();
        words.map(|word| &self.text[word.clone()]).collect()
    }

    fn contains_word(&self, word: &str) -> bool {
        self.sorted
            .binary_search_by(|candidate| self.text[candidate.clone()].cmp(word))
            .is_ok()
    }

    fn contains_phrase(&self, phrase: &str) -> bool {
        let mut from = 0;
        while let Some(offset) = self.text[from..].find(phrase) {
            let start = from + offset;
            if !self.is_within_word(start) && !self.is_within_word(start + phrase.len()) {
                return true;
            }
            let step = self.text[start..].chars().next().map_or(1, char::len_utf8);
            from = start + step;
        }
        false
    }

    fn is_within_word(&self, position: usize) -> bool {
        let after = self.words.partition_point(|word| word.start < position);
        after > 0 && position < self.words[after - 1].end
    }
}

impl Keyword {
    /// Parses a keyword; `None` if it is blank.
    pub(crate) fn parse(source: &str) -> Option<Self> {
        let FoldedText { text, words, .. } = FoldedText::new(source);
        if text.is_empty() {
            return None;
        }
        let is_one_word = words.len() == 1 && words[0] == (0..text.len());
        let text = text.into_boxed_str();
        Some(if is_one_word {
            Self::Word(text)
        } else {
            Self::Phrase(text)
        })
    }

    /// Returns whether the message contains the keyword.
    pub(crate) fn occurs_in(&self, message: &FoldedText) -> bool {
        match self {
            Self::Word(word) => message.contains_word(word),
            Self::Phrase(phrase) => message.contains_phrase(phrase),
        }
    }

    /// The size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let (Self::Word(text) | Self::Phrase(text)) = self;
        size_of::<Self>() + text.len()
    }
}

/// Folds case, replaces each run of white space by one space and typographic apostrophes by plain
/// ones. The result is in normal form C, so that accented letters are equal however they were
/// typed.
fn fold(source: &str) -> String {
    let folded = fold_characters(source.trim().chars());
    if is_nfc_quick(folded.chars()) == IsNormalized::Yes {
        return folded;
    }
    // Composition can create a character that folds further.
    fold_characters(folded.nfc()).nfc().collect()
}

fn fold_characters(source: impl Iterator<Item = char>) -> String {
    let mut folded = String::with_capacity(source.size_hint().0);
    for character in source {
        if character.is_ascii_graphic() {
            folded.push(character.to_ascii_lowercase());
        } else if character.is_whitespace() {
            if !folded.ends_with(' ') {
                folded.push(' ');
            }
        } else if character == '\u{2019}' {
            folded.push('\'');
        } else {
            fold_character(character, &mut folded);
        }
    }
    folded
}

/// Lower, upper and lower case in sequence make 'ẞ', 'ß' and "SS", or 'Σ', 'σ' and 'ς', equal.
/// Characters are folded one by one, because in whole strings the case of 'Σ' depends on its
/// neighbours.
fn fold_character(character: char, folded: &mut String) {
    let lower = character.to_lowercase();
    let upper = lower.flat_map(char::to_uppercase);
    folded.extend(upper.flat_map(char::to_lowercase));
}

/// Splits text into words by UAX #29, which supports Chinese without spaces and keeps "don't" as
/// one word. It would also keep "thanks.bye", so words end at '.' and ':' as well.
fn split_words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    for (start, segment) in text.split_word_bound_indices() {
        let mut start = start;
        for part in segment.split(['.', ':']) {
            if part.chars().any(char::is_alphanumeric) {
                words.push(start..start + part.len());
            }
            start += part.len() + 1;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("refund", "I want a REFUND!", true)]
    #[case("REFUND", "refund?", true)]
    #[case("cat", "concatenate", false)]
    #[case("cat", "the cat's tail", false)]
    #[case("cat", "dog,cat,mouse", true)]
    #[case("straße", "HAUPTSTRASSE, STRASSE", true)]
    #[case("ΟΔΟΣ", "η οδος", true)]
    #[case("don't", "I DON\u{2019}T know", true)]
    #[case("don", "I don't know", false)]
    #[case("thanks", "ok.thanks.bye", true)]
    #[case("3.14", "pi is 3.14", true)]
    #[case("3.14", "it is 13.14", false)]
    #[case("c++", "I like C++.", true)]
    #[case("c++", "abc++", false)]
    #[case("good  morning", "Good\nmorning, all", true)]
    #[case("good morning", "good mornings", false)]
    #[case("a a", "ba a a", true)]
    #[case("👋", "hi 👋👋", true)]
    #[case("你好", "你好吗", true)]
    #[case("नमस्ते", "नमस्ते!", true)]
    #[case("नमस", "नमस्ते!", false)]
    #[case("42", "the answer is 42", true)]
    #[case("42", "room 421", false)]
    #[case::composed_and_decomposed("caf\u{e9}", "a CAFE\u{301}, please", true)]
    #[case::decomposed_and_composed("cafe\u{301}", "a CAF\u{c9}, please", true)]
    #[case::hangul("\u{1112}\u{1161}\u{11ab}", "\u{d55c}", true)]
    #[case::without_the_accent("cafe", "caf\u{e9}", false)]
    fn whole_words_match_in_any_case(
        #[case] keyword: &str,
        #[case] message: &str,
        #[case] occurs: bool,
    ) {
        let keyword = Keyword::parse(keyword).unwrap();
        assert_eq!(keyword.occurs_in(&FoldedText::new(message)), occurs);
    }

    #[test]
    fn a_blank_keyword_is_invalid() {
        assert_eq!(Keyword::parse(" \t\u{a0}"), None);
    }

    proptest! {
        // A combining mark at the start would belong to the character before it.
        #[test]
        fn every_text_contains_itself(text in "[\\p{L}\\p{N}\\p{P}]\\PC{0,40}") {
            if let Some(keyword) = Keyword::parse(&text) {
                prop_assert!(keyword.occurs_in(&FoldedText::new(&text)));
                let padded = format!("- {text} -");
                prop_assert!(keyword.occurs_in(&FoldedText::new(&padded)));
            }
        }
    }
}
