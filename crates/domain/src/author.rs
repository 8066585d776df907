//! Authors of what staff writes.

use serde::{Deserialize, Serialize};

use crate::{
    Author, AuthorKind, FaultCode, InputFault,
    text::{BLANK_IN_WORDS, is_blank},
    web_address::{HTTPS_IN_WORDS, is_https_address},
};

/// The name of authors who give none.
const UNNAMED: &str = "Staff";

/// The author of a message or note that is to be written.
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

impl AuthorDraft {
    /// Returns the author, whether one is given or not.
    pub(crate) fn author(draft: Option<&Self>) -> Author {
        Author {
            name: draft.map_or_else(|| UNNAMED.to_owned(), |author| author.name.clone()),
            avatar_url: draft.and_then(|author| author.avatar_url.clone()),
            kind: AuthorKind::Staff,
        }
    }
}

/// Returns the faults of an author that the schema cannot express, relative to what the author writes.
pub(crate) fn check_author(author: Option<&AuthorDraft>) -> Vec<InputFault> {
    let mut faults = Vec::new();
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
