//! Messages that members of staff write in place of agents.

use serde::{Deserialize, Serialize};

use crate::{
    Author, AuthorKind, FaultCode, InputFault,
    text::{BLANK_IN_WORDS, is_blank},
    web_address::{HTTPS_IN_WORDS, is_https_address},
};

/// The name of authors who give none.
const UNNAMED: &str = "Staff";

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

/// The author of a message that is to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuthorDraft {
    /// The name that users see.
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 128,
            pattern = r"^[^\x00-\x1f\x7f-\x9f]*$"
        )
    )]
    pub name: String,
    /// The https address of a picture. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(max_length = 2048))]
    pub avatar_url: Option<String>,
}

impl StaffMessageDraft {
    /// Returns the faults that the schema cannot express.
    pub fn check(&self) -> Vec<InputFault> {
        check_text(&self.content, self.author.as_ref())
    }

    /// Returns the author of the message.
    pub fn author(&self) -> Author {
        author(self.author.as_ref())
    }
}

/// Returns the faults of a text and its author.
pub(crate) fn check_text(content: &str, author: Option<&AuthorDraft>) -> Vec<InputFault> {
    let mut faults: Vec<_> = check_content(content).into_iter().collect();
    if author.is_some_and(|author| is_blank(&author.name)) {
        let code = FaultCode::TooShort;
        faults.push(InputFault::new("/author/name", code, BLANK_IN_WORDS));
    }
    let avatar = author.and_then(|author| author.avatar_url.as_deref());
    if avatar.is_some_and(|address| !is_https_address(address)) {
        let code = FaultCode::BadFormat;
        faults.push(InputFault::new("/author/avatarUrl", code, HTTPS_IN_WORDS));
    }
    faults
}

/// Returns the author of a text.
pub(crate) fn author(draft: Option<&AuthorDraft>) -> Author {
    Author {
        name: draft.map_or_else(|| UNNAMED.to_owned(), |author| author.name.clone()),
        avatar_url: draft.and_then(|author| author.avatar_url.clone()),
        kind: AuthorKind::Staff,
    }
}

/// Returns the fault of a blank text.
pub fn check_content(content: &str) -> Option<InputFault> {
    let code = FaultCode::TooShort;
    is_blank(content).then(|| InputFault::new("/content", code, BLANK_IN_WORDS))
}
