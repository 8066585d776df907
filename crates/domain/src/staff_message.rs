//! Messages that members of staff write in place of agents.

use std::collections::BTreeSet;

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
    /// The text. It may be empty only with `files`.
    #[cfg_attr(
        feature = "schema",
        schema(max_length = 32000, pattern = r"^[^\x00]*$")
    )]
    pub content: String,
    /// The ids of the files of the message, each once. A file that another conversation uses cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(max_items = 8))]
    pub files: Vec<String>,
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
        check_content(&self.content, !self.files.is_empty())
            .into_iter()
            .chain(check_files(&self.files))
            .chain(check_author(self.author.as_ref()))
            .collect()
    }

    /// Returns the author of the message.
    pub fn author(&self) -> Author {
        AuthorDraft::author(self.author.as_ref())
    }
}

/// Returns the fault of a blank text of a message without files.
pub fn check_content(content: &str, has_files: bool) -> Option<InputFault> {
    let code = FaultCode::TooShort;
    let is_missing = !has_files && is_blank(content);
    is_missing.then(|| InputFault::new("/content", code, BLANK_IN_WORDS))
}

/// Returns the fault of files that are named twice.
pub(crate) fn check_files(files: &[String]) -> Option<InputFault> {
    let code = FaultCode::DuplicateMember;
    let is_repeated = files.iter().collect::<BTreeSet<_>>().len() < files.len();
    is_repeated.then(|| InputFault::new("/files", code, "must name each file once"))
}
