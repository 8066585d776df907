//! The text of a reply. That of a reply by a schema is a draft until it was checked.

use super::{MAX_TEXT_BYTES, PARAGRAPH, PartialReply};

impl PartialReply {
    /// Returns the text that was not checked yet.
    pub(crate) fn draft(&self) -> Option<&str> {
        self.draft.as_deref()
    }

    /// Keeps the text that follows as a draft.
    pub(crate) fn withhold(&mut self) {
        self.draft = Some(String::new());
    }

    /// Adds the draft to the text; `None` if it does not fit.
    pub(crate) fn publish_draft(&mut self) -> Option<()> {
        let draft = self.draft.take().unwrap_or_default();
        self.start_section();
        self.push_text(&draft).then_some(())
    }

    /// Returns the text of the current request to the model.
    pub(crate) fn section(&self) -> &str {
        if let Some(draft) = &self.draft {
            return draft;
        }
        let text = self.text.get(self.section..).unwrap_or_default();
        if self.needs_paragraph() {
            text.strip_prefix(PARAGRAPH).unwrap_or(text)
        } else {
            text
        }
    }

    /// Returns whether a separator precedes the text of the section.
    fn needs_paragraph(&self) -> bool {
        let before = self.text.get(..self.section).unwrap_or_default();
        !before.is_empty() && !before.ends_with('\n')
    }

    /// Appends text; returns false if it does not fit.
    #[must_use]
    pub(crate) fn push_text(&mut self, text: &str) -> bool {
        if let Some(draft) = &mut self.draft {
            let fits = draft.len() + text.len() <= MAX_TEXT_BYTES;
            draft.push_str(if fits { text } else { "" });
            return fits;
        }
        let starts_paragraph =
            self.text.len() == self.section && !text.is_empty() && self.needs_paragraph();
        let separator = if starts_paragraph { PARAGRAPH } else { "" };
        let fits = self.text.len() + separator.len() + text.len() <= MAX_TEXT_BYTES;
        if fits {
            self.text.push_str(separator);
            self.text.push_str(text);
        }
        fits
    }
}
