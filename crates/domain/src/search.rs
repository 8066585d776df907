//! Words of texts and of searches. The core decides what a word is, so that every store finds the same.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{AgentId, MessageId, TenantId};

/// The maximum length of a word in characters; the rest of a longer one is ignored.
const MAX_WORD: usize = 64;
/// The maximum part of a text that is indexed, in bytes: the words of more do not fit into a column of Postgres.
const MAX_INDEXED: usize = 256 * 1024;
/// The maximum length of a snippet in characters.
const MAX_SNIPPET: usize = 200;
/// The number of characters before the first match in a snippet.
const BEFORE_MATCH: usize = 60;

/// The characters of scripts that put no spaces between words: Hangul, Thai, Lao, Myanmar, Khmer, Kana
/// and Han. Each character is a word.
const UNSPACED: [Range<u32>; 16] = [
    0x0e00..0x0f00,
    0x1000..0x10a0,
    0x1100..0x1200,
    0x1780..0x1800,
    0x19e0..0x1a00,
    0x3005..0x3008,
    0x3041..0x3190,
    0x31f0..0x3200,
    0x3400..0x4dc0,
    0x4e00..0xa000,
    0xa960..0xa980,
    0xa9e0..0xaa00,
    0xaa60..0xaa80,
    0xac00..0xd800,
    0xf900..0xfb00,
    0x2_0000..0x3_23b0,
];

/// Half-width Kana and Hangul.
const HALF_WIDTH: Range<u32> = 0xff66..0xffdd;

fn is_unspaced(character: char) -> bool {
    let code = u32::from(character);
    // Most characters are below all of these.
    code >= 0x0e00 && (UNSPACED.iter().any(|it| it.contains(&code)) || HALF_WIDTH.contains(&code))
}

/// Returns whether a character is part of a word. Besides letters and digits, combining marks of any script are.
fn is_in_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(u32::from(character), 0x0300..0x0370 | 0x200c..0x200e)
}

/// Returns the letter of which `character` is the form at the end of a word.
const fn letter_of_final_form(character: char) -> char {
    if character == 'ς' { 'σ' } else { character }
}

/// A word, and its place in the text in bytes.
struct Word {
    text: String,
    at: usize,
}

/// Splits a text into words in lower case.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut open, mut length) = (false, 0);
    for (at, character) in text.char_indices() {
        let is_single = is_unspaced(character) && is_in_word(character);
        if !is_in_word(character) {
            open = false;
            continue;
        }
        if is_single || !open {
            words.push(Word {
                text: String::new(),
                at,
            });
            length = 0;
        }
        open = !is_single;
        if let Some(word) = words.last_mut()
            && length < MAX_WORD
        {
            word.text
                .extend(character.to_lowercase().map(letter_of_final_form));
            length += 1;
        }
    }
    words
}

/// Returns the words of a text, separated by spaces, as an index stores them: those at its beginning, if it is very
/// long.
pub fn indexed(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_INDEXED);
    let words: Vec<_> = words(&text[..end])
        .into_iter()
        .map(|word| word.text)
        .collect();
    words.join(" ")
}

/// The phrases of a search, which must all occur in a text. Each word of the input is a phrase, which has
/// several words if it contains other characters or is of a script without spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPhrases(Vec<Vec<String>>);

impl SearchPhrases {
    /// Reads the input of a search. It has no operators.
    pub fn parse(input: &str) -> Self {
        let phrases = input.split_whitespace().map(|part| {
            let words = words(part).into_iter().map(|word| word.text);
            words.collect::<Vec<_>>()
        });
        let mut different = Vec::new();
        for phrase in phrases.filter(|phrase| !phrase.is_empty()) {
            if !different.contains(&phrase) {
                different.push(phrase);
            }
        }
        Self(different)
    }

    /// Returns the phrases, each as its words. Without any, nothing is found.
    pub fn phrases(&self) -> &[Vec<String>] {
        &self.0
    }

    /// Returns the part of a text around the first match of a phrase, in one line of at most 200 characters;
    /// `None` if a phrase does not occur.
    pub fn snippet(&self, text: &str) -> Option<String> {
        let found = words(text);
        let occurs_at = |phrase: &Vec<String>, place: usize| {
            let rest = found[place..].iter().map(|word| &word.text);
            rest.take(phrase.len()).eq(phrase.iter())
        };
        let first_of = |phrase| (0..found.len()).find(|place| occurs_at(phrase, *place));
        let firsts: Option<Vec<_>> = self.0.iter().map(first_of).collect();
        let first = firsts?.into_iter().min()?;
        Some(around(text, found[first].at))
    }
}

/// Returns the part of a text around a byte.
fn around(text: &str, at: usize) -> String {
    let before = text[..at].char_indices().rev().nth(BEFORE_MATCH - 1);
    let start = before.map_or(0, |(start, _)| start);
    let cut = (start > 0).then_some('…');
    let line = text[start..]
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    let mut shown: Vec<char> = cut.into_iter().chain(line).take(MAX_SNIPPET + 1).collect();
    if shown.len() > MAX_SNIPPET {
        shown.truncate(MAX_SNIPPET - 1);
        shown.push('…');
    }
    let shown: String = shown.into_iter().collect();
    shown.trim().to_owned()
}

/// The text that a search has found in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TextMatch {
    /// The newest message that contains the words; null if the title does.
    pub message_id: Option<MessageId>,
    /// The part of the text around the first match: plain text in one line, at most 200 characters.
    pub snippet: String,
}

/// The part of an index that a search is confined to, or that is removed: everything of a tenant, of one of
/// its users, or of one of its agents. In an index it is a digest, which no text contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchScope(String);

impl SearchScope {
    /// Everything of a tenant.
    pub fn tenant(tenant: &TenantId) -> Self {
        Self::of('t', tenant, &[])
    }

    /// The conversations of a user.
    pub fn user(tenant: &TenantId, user: &str) -> Self {
        Self::of('u', tenant, user.as_bytes())
    }

    /// The conversations of an agent.
    pub fn agent(tenant: &TenantId, agent: AgentId) -> Self {
        Self::of('a', tenant, agent.uuid().as_bytes())
    }

    fn of(kind: char, tenant: &TenantId, what: &[u8]) -> Self {
        let mut digest = Sha256::new();
        digest.update(tenant.as_str());
        digest.update([0]);
        digest.update(what);
        let digest = digest.finalize();
        let start = u128::from_be_bytes(digest[..16].try_into().unwrap_or_default());
        Self(format!("{kind}{start:032x}"))
    }

    /// Returns the word in an index.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests;
