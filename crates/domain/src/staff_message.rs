//! Messages that members of staff write in place of agents.

use serde::{Deserialize, Serialize};

use crate::{
    Author, FaultCode, InputFault,
    author::{AuthorDraft, check_author},
    text::{BLANK_IN_WORDS, is_blank},
};

/// A message of staff that is to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StaffMessageDraft {
    /// The text.
    #[cfg_attr(
        feature = "schema",
        schema(min_length = 1, max_length = 32000, pattern = r"^[^\x00]*$")
    )]
    pub content: String,
    /// Who writes it, as users see it. Default: `Staff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorDraft>,
    /// The client's own id of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 128,
            pattern = r"^[^\x00-\x1f\x7f-\x9f]*$"
        )
    )]
    pub client_message_id: Option<String>,
}

impl StaffMessageDraft {
    /// Returns the faults that the schema cannot express.
    pub fn check(&self) -> Vec<InputFault> {
        check_content(&self.content)
            .into_iter()
            .chain(check_author(self.author.as_ref()))
            .collect()
    }

    /// Returns the author of the message.
    pub fn author(&self) -> Author {
        AuthorDraft::author(self.author.as_ref())
    }
}

/// Returns the fault of a blank text.
pub fn check_content(content: &str) -> Option<InputFault> {
    let code = FaultCode::TooShort;
    is_blank(content).then(|| InputFault::new("/content", code, BLANK_IN_WORDS))
}
