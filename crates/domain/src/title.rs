//! Titles of conversations, and those that models write.

use serde::{Deserialize, Serialize};

use crate::{UnknownMembers, open_enum::open_enum, text::is_blank};

/// The maximum length of a title that a model writes, in characters.
pub const MODEL_TITLE_CHARACTERS: usize = 60;

/// The quotation marks that models put around a title.
const QUOTES: [(char, char); 9] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('“', '”'),
    ('„', '“'),
    ('‘', '’'),
    ('«', '»'),
    ('「', '」'),
    ('『', '』'),
];

open_enum! {
    /// The author of the title of a conversation.
    TitleSource[15] {
        /// A client, which may also have removed the title. It is never replaced.
        Person = "person",
        /// A model.
        Model = "model",
    }
}

impl TitleSource {
    /// Returns the author of the title with which a client creates a conversation.
    pub fn of_client(title: Option<&str>) -> Option<Self> {
        title.map(|_title| Self::Person)
    }
}

/// The settings of titles that a model writes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TitlesConfig {
    /// Name of the engine that writes titles. Its fallbacks are not used, and engines without a model
    /// write none. A name that the server does not know is rejected, unless the agent had it before.
    /// Default: the engine of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 64,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub engine: Option<String>,
    /// The model's name at the provider. Default: `config.llm.model`; with `engine`, the operator's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 256,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub model: Option<String>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

/// Returns the title in the answer of a model: its first line, without quotation marks around it, a period at
/// its end and control characters. `None` if nothing is left.
pub fn title_in(answer: &str) -> Option<String> {
    let mut lines = answer.lines().map(in_one_line);
    let line = lines.find(|line| !is_blank(line))?;
    let title = without_period(without_quotes(without_period(&line)));
    title_of(title)
}

/// Returns the first words of a text as a title; `None` if it has none.
pub fn first_words(text: &str) -> Option<String> {
    title_of(&in_one_line(text))
}

fn title_of(line: &str) -> Option<String> {
    let title = cut(line);
    (!is_blank(title)).then(|| title.to_owned())
}

/// Returns a text without control characters, and with single spaces between its words.
fn in_one_line(text: &str) -> String {
    let is_kept = |letter: &char| letter.is_whitespace() || !letter.is_control();
    let kept: String = text.chars().filter(is_kept).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn without_quotes(line: &str) -> &str {
    let inner = |(open, close): &(char, char)| line.strip_prefix(*open)?.strip_suffix(*close);
    QUOTES.iter().find_map(inner).unwrap_or(line).trim()
}

/// An ellipsis is kept.
fn without_period(line: &str) -> &str {
    let stripped = line.strip_suffix(['.', '。']).unwrap_or(line);
    if stripped.ends_with(['.', '。']) {
        line
    } else {
        stripped.trim_end()
    }
}

/// Cuts a line between two words. A first word that is too long is cut itself: scripts without spaces have
/// long ones.
fn cut(line: &str) -> &str {
    let Some((end, next)) = line.char_indices().nth(MODEL_TITLE_CHARACTERS) else {
        return line;
    };
    let fitting = &line[..end];
    match fitting.rfind(' ') {
        Some(space) if next != ' ' => &fitting[..space],
        _ => fitting,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("Broken parcel", "Broken parcel")]
    #[case("\n \t\n  Broken   parcel  \nIt is about a parcel.", "Broken parcel")]
    #[case("\"Broken parcel.\"", "Broken parcel")]
    #[case("“Broken parcel”.", "Broken parcel")]
    #[case("„Zerbrochenes Paket“", "Zerbrochenes Paket")]
    #[case("「壊れた小包」。", "壊れた小包")]
    #[case("Bro\u{7}ken\u{0} parcel\r\n", "Broken parcel")]
    #[case("And then...", "And then...")]
    #[case("The \"new\" parcel", "The \"new\" parcel")]
    #[case("It's \"new\"", "It's \"new\"")]
    fn the_title_in_an_answer_is_its_first_line(#[case] answer: &str, #[case] title: &str) {
        assert_eq!(title_in(answer).as_deref(), Some(title));
    }

    #[rstest]
    #[case("")]
    #[case(" \n\t\r\n ")]
    #[case("\"\"")]
    #[case(".")]
    #[case("\u{200b}\u{0}")]
    fn an_answer_without_a_visible_character_has_no_title(#[case] answer: &str) {
        assert_eq!(title_in(answer), None);
    }

    #[test]
    fn a_long_title_ends_between_two_words() {
        let five = "word ".repeat(13);
        assert_eq!(title_in(&five), Some("word ".repeat(12).trim().to_owned()));
        let exact = format!("{} end", "x".repeat(56));
        assert_eq!(title_in(&exact), Some(exact.clone()));
        assert_eq!(title_in(&format!("{exact} more")), Some(exact.clone()));
        let longer = format!("{exact}ing");
        assert_eq!(title_in(&longer), Some("x".repeat(56)));
        assert_eq!(title_in(&"赤".repeat(70)), Some("赤".repeat(60)));
    }

    #[test]
    fn the_first_words_of_a_text_are_a_title() {
        let text = "  Where\nis my \"parcel\"?";
        assert_eq!(
            first_words(text).as_deref(),
            Some("Where is my \"parcel\"?")
        );
        assert_eq!(first_words(" \n "), None);
    }

    proptest! {
        #[test]
        fn every_title_fits(answer in any::<String>(), words in "[a-z \"'.\n]{0,200}") {
            for title in [title_in(&answer), title_in(&words), first_words(&answer)] {
                let Some(title) = title else { continue };
                prop_assert!(title.chars().count() <= MODEL_TITLE_CHARACTERS);
                prop_assert!(!title.chars().any(char::is_control));
                prop_assert_eq!(title.trim(), &title);
                prop_assert!(!is_blank(&title));
            }
        }
    }
}
