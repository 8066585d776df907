//! The model's reasoning.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{AgentConfig, Audience, ShowReasoning};

/// The separator between the reasoning of two requests.
pub const PARAGRAPH: &str = "\n\n";

/// The model's reasoning in a turn, or a summary of it, for those who see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reasoning {
    /// The text, at most [`Reasoning::MAX_BYTES`].
    pub text: String,
    /// The callers that see it: `showReasoning` of the version of the agent that has replied.
    pub shown_to: ShowReasoning,
}

impl Reasoning {
    /// The maximum size of the reasoning of a turn in bytes of UTF-8. The rest is neither sent nor stored.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// Returns no text for these callers.
    pub const fn empty(shown_to: ShowReasoning) -> Self {
        Self {
            text: String::new(),
            shown_to,
        }
    }

    /// Appends a text as a paragraph of its own.
    pub fn push_paragraph(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.push(PARAGRAPH);
        }
        self.push(text);
    }

    /// Appends a text. Of one that does not fit, the beginning is kept, up to a character's border, and nothing
    /// of those that follow.
    pub fn push(&mut self, text: &str) {
        let room = Self::MAX_BYTES.saturating_sub(self.text.len());
        // After a cut, there may be room left for a shorter character.
        if room < char::MAX.len_utf8() {
            return;
        }
        // Stores accept no NUL, and would never accept the end of the turn.
        let text = if text.contains('\0') {
            Cow::Owned(text.replace('\0', "\u{fffd}"))
        } else {
            Cow::Borrowed(text)
        };
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }
}

impl Audience {
    /// Returns whether it sees reasoning that is shown to these callers. A value of a newer version shows
    /// it to nobody.
    pub const fn sees_reasoning(self, shown_to: ShowReasoning) -> bool {
        match (self, shown_to) {
            (_, ShowReasoning::Everyone) | (Self::Staff, ShowReasoning::Staff) => true,
            (Self::User, ShowReasoning::Staff)
            | (_, ShowReasoning::Never | ShowReasoning::Other(_)) => false,
        }
    }
}

impl AgentConfig {
    /// Returns the callers that receive the model's reasoning.
    pub fn show_reasoning(&self) -> ShowReasoning {
        let set = self.llm.as_ref().and_then(|llm| llm.show_reasoning);
        set.unwrap_or(ShowReasoning::Never)
    }
}

/// Reasoning as clients receive it: its text alone. What is read back is for staff.
pub(crate) mod text_only {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{Reasoning, ShowReasoning};

    #[expect(clippy::ref_option, reason = "serde requires the reference")]
    pub(crate) fn serialize<S: Serializer>(
        reasoning: &Option<Reasoning>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match reasoning {
            Some(reasoning) => serializer.serialize_str(&reasoning.text),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Reasoning>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.map(|text| Reasoning {
            text,
            shown_to: ShowReasoning::Staff,
        }))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::open_enum::ShortText;

    #[rstest]
    #[case::unknown(ShowReasoning::Other(ShortText::new("later")), [false, false])]
    #[case::never(ShowReasoning::Never, [false, false])]
    #[case::staff(ShowReasoning::Staff, [true, false])]
    #[case::everyone(ShowReasoning::Everyone, [true, true])]
    fn audiences_see_what_is_shown_to_them(
        #[case] shown_to: ShowReasoning,
        #[case] expected: [bool; 2],
    ) {
        let seen = [Audience::Staff, Audience::User].map(|it| it.sees_reasoning(shown_to));
        assert_eq!(seen, expected);
    }

    #[test]
    fn the_rest_of_a_long_text_is_cut_at_a_character() {
        let mut reasoning = Reasoning::empty(ShowReasoning::Staff);
        reasoning.push_paragraph("a");
        reasoning.push_paragraph(&"é".repeat(Reasoning::MAX_BYTES));
        assert_eq!(reasoning.text.len(), Reasoning::MAX_BYTES - 1);
        reasoning.push("b");
        assert!(reasoning.text.starts_with("a\n\né") && reasoning.text.ends_with('é'));
    }

    #[test]
    fn a_nul_is_replaced() {
        let mut reasoning = Reasoning::empty(ShowReasoning::Staff);
        reasoning.push_paragraph("a\0b");
        assert_eq!(reasoning.text, "a\u{fffd}b");
    }
}
