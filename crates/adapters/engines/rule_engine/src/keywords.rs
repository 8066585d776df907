//! Keywords: words that must occur, regardless of case.

use std::ops::Range;

use domain::text::is_ignorable;
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};
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
        let first = self
            .sorted
            .partition_point(|candidate| &self.text[candidate.clone()] < word);
        let found = self.sorted.get(first).map(|it| &self.text[it.clone()]);
        found.is_some_and(|found| found == word || takes_particles(word) && found.starts_with(word))
    }

    fn contains_phrase(&self, phrase: &str) -> bool {
        let mut from = 0;
        while let Some(offset) = self.text[from..].find(phrase) {
            let start = from + offset;
            let end = start + phrase.len();
            let is_at_end = !self.is_within_word(end) || takes_particles(phrase);
            if !self.is_within_word(start) && is_at_end {
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
/// ones, and drops characters that only control how text is shown. The result is in normal form KC, so
/// that accented letters are equal however they were typed, and other forms of a letter are the letter:
/// full or half width, ligatures, circles.
///
/// Case is folded without regard to the language: the four letters İ, I, ı and i are one, since a
/// message in Turkish begins a sentence with İ or I.
fn fold(source: &str) -> String {
    let folded = fold_characters(source.trim().chars());
    if is_nfkc_quick(folded.chars()) == IsNormalized::Yes {
        return folded;
    }
    // The normal form can contain characters that fold further.
    fold_characters(folded.nfkc()).nfkc().collect()
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
        } else if character == DOT_ABOVE && folded.ends_with('i') {
            // The lower case of İ is an i with this dot.
        } else if is_ignorable(character) && character != ZERO_WIDTH_SPACE {
            // Nothing of it is seen.
        } else if character == 'İ' {
            folded.push('i');
        } else {
            fold_character(character, &mut folded);
        }
    }
    folded
}

/// The combining dot above.
const DOT_ABOVE: char = '\u{307}';
/// It separates words.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Returns whether a text ends in Korean, which writes particles without a space before them.
fn takes_particles(text: &str) -> bool {
    text.ends_with(is_hangul)
}

fn is_hangul(character: char) -> bool {
    matches!(
        character,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
    )
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
/// one word. It would also keep "thanks.bye" and Latin with a Korean particle, so words end at '.' and
/// ':' as well, and where Korean begins or ends.
fn split_words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    for (start, segment) in text.split_word_bound_indices() {
        let mut start = start;
        for part in segment.split(['.', ':']) {
            push_words(&mut words, start, part);
            start += part.len() + 1;
        }
    }
    words
}

/// Adds the words of a part without spaces, which begins at `start`: more than one if only some of it
/// is Korean.
fn push_words(words: &mut Vec<Range<usize>>, start: usize, part: &str) {
    let mut rest = part;
    while let Some(first) = rest.chars().next() {
        let is_korean = is_hangul(first);
        let is_other = |letter: char| letter.is_alphanumeric() && is_hangul(letter) != is_korean;
        let (word, after) = rest.split_at(rest.find(is_other).unwrap_or(rest.len()));
        let begin = start + part.len() - rest.len();
        if word.chars().any(char::is_alphanumeric) {
            words.push(begin..begin + word.len());
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use unicode_normalization::char::is_combining_mark;

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
    #[case::turkish_capital("iade", "İade etmek istiyorum", true)]
    #[case::turkish_capitals("istanbul", "Kargo İSTANBUL, lütfen", true)]
    #[case::turkish_capital_keyword("İade", "iade etmek istiyorum", true)]
    #[case::turkish_last_letter("fiyatı", "FİYATI", true)]
    #[case::dotless("ışık", "IŞIK", true)]
    #[case::dotless_and_dotted("istanbul", "ISTANBUL", true)]
    #[case::decomposed_capital("iade", "I\u{307}ade", true)]
    #[case::another_dot("z\u{307}", "z", false)]
    #[case::korean_particle("환불", "환불을 해주세요", true)]
    #[case::korean_particle_and_space("배송", "배송은 언제 오나요?", true)]
    #[case::korean_alone("환불", "환불 해주세요", true)]
    #[case::within_korean("불을", "환불을 해주세요", false)]
    #[case::korean_after_latin("classpath", "CLASSPATH에서 오류", true)]
    #[case::within_latin_before_korean("class", "CLASSPATH에서 오류", false)]
    #[case::korean_phrase("환불 정책", "환불 정책은요?", true)]
    #[case::korean_after_digits("3월", "3월에 만나요", true)]
    #[case::digits_before_korean("42", "42개", true)]
    #[case::longer_korean("환불을", "환불", false)]
    #[case::full_width("refund", "ＲＥＦＵＮＤ！", true)]
    #[case::half_width("カタログ", "ｶﾀﾛｸﾞ", true)]
    #[case::ligature("office", "the oﬃce", true)]
    #[case::superscript("m2", "20 m²", true)]
    #[case::circled_keyword("①", "step 1", true)]
    #[case::soft_hyphen("refund", "re\u{ad}fund", true)]
    #[case::direction_marks("שלום", "\u{200f}שלום\u{200e}, hi", true)]
    #[case::byte_order_mark("hello", "\u{feff}hello", true)]
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
        #[test]
        fn every_text_contains_itself(text in "[\\p{L}\\p{N}\\p{P}]\\PC{0,40}") {
            // A combining mark at the start would belong to the character before it. Some letters, such
            // as that of the Lao vowel am, begin with one once they are decomposed.
            let first = text.nfkc().find(|character| !character.is_whitespace());
            prop_assume!(!first.is_some_and(is_combining_mark));
            if let Some(keyword) = Keyword::parse(&text) {
                prop_assert!(keyword.occurs_in(&FoldedText::new(&text)));
                let padded = format!("- {text} -");
                prop_assert!(keyword.occurs_in(&FoldedText::new(&padded)));
            }
        }
    }
}
