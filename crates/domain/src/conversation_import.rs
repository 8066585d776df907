//! Conversations that were led elsewhere and are stored with their messages.

use serde::{Deserialize, Serialize};

use crate::{
    Author, FaultCode, InputFault, Role, Timestamp,
    author::{AuthorDraft, check_author},
    text::{BLANK_IN_WORDS, is_blank},
};

/// A message of an imported conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportedMessage {
    /// `user` or `agent`.
    pub role: Role,
    /// The member of staff who has written the message, if it was not the agent. Only with the role `agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorDraft>,
    /// The text.
    #[cfg_attr(
        feature = "schema",
        schema(min_length = 1, max_length = 32000, pattern = r"^[^\x00]*$")
    )]
    pub content: String,
    /// The time of the message: not before that of the message before it, and not in the future.
    pub created_at: Timestamp,
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

impl ImportedMessage {
    /// Returns the author as it is stored.
    pub fn author(&self) -> Option<Author> {
        let author = self.author.as_ref();
        author.map(|author| AuthorDraft::author(Some(author)))
    }

    fn check(&self) -> Vec<InputFault> {
        let mut faults = check_author(self.author.as_ref());
        if is_blank(&self.content) {
            let code = FaultCode::TooShort;
            faults.push(InputFault::new("/content", code, BLANK_IN_WORDS));
        }
        if self.author.is_some() && self.role == Role::User {
            let detail = "only messages with the role 'agent' have an author";
            faults.push(InputFault::new("/author", FaultCode::NotCombinable, detail));
        }
        faults
    }
}

/// The messages and the time with which an imported conversation begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationImport {
    /// The time at which it began; that of the first message if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Its messages, oldest first.
    pub messages: Vec<ImportedMessage>,
}

impl ConversationImport {
    /// Returns the time at which the conversation began.
    pub fn began_at(&self, now: Timestamp) -> Timestamp {
        let first = self.messages.first().map(|first| first.created_at);
        self.created_at.or(first).unwrap_or(now)
    }

    /// Returns the faults that the schema cannot express.
    pub fn check(&self, now: Timestamp) -> Vec<InputFault> {
        let mut faults = Vec::new();
        let mut not_before = self.created_at;
        faults.extend(self.created_at.and_then(|at| check_time(at, None, now)));
        for (index, message) in self.messages.iter().enumerate() {
            let time = check_time(message.created_at, not_before, now);
            let own = message.check().into_iter().chain(time);
            faults.extend(own.map(|fault| fault.below(&format!("/messages/{index}"))));
            not_before = Some(message.created_at);
        }
        faults
    }
}

/// Returns the fault of a time that is in the future, or before that of what precedes it.
fn check_time(at: Timestamp, not_before: Option<Timestamp>, now: Timestamp) -> Option<InputFault> {
    let (code, detail) = if at > now {
        (FaultCode::TooLarge, "must not be in the future")
    } else if not_before.is_some_and(|before| at < before) {
        (FaultCode::TooSmall, "must not be before the time before it")
    } else {
        return None;
    };
    Some(InputFault::new("/createdAt", code, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_milliseconds(1_000);

    fn message(role: Role, content: &str, at: i64) -> ImportedMessage {
        ImportedMessage {
            role,
            author: None,
            content: content.to_owned(),
            created_at: Timestamp::from_milliseconds(at),
            client_message_id: None,
        }
    }

    fn faults(created_at: Option<i64>, messages: Vec<ImportedMessage>) -> Vec<(String, FaultCode)> {
        let import = ConversationImport {
            created_at: created_at.map(Timestamp::from_milliseconds),
            messages,
        };
        let faults = import.check(NOW).into_iter();
        faults.map(|it| (it.pointer, it.code)).collect()
    }

    #[test]
    fn times_neither_decrease_nor_lie_in_the_future() {
        let at = |at| message(Role::User, "Hello", at);
        assert_eq!(faults(Some(5), vec![at(5), at(5), at(1_000)]), []);
        assert_eq!(
            faults(Some(6), vec![at(5), at(4), at(1_001)]),
            [
                ("/messages/0/createdAt".to_owned(), FaultCode::TooSmall),
                ("/messages/1/createdAt".to_owned(), FaultCode::TooSmall),
                ("/messages/2/createdAt".to_owned(), FaultCode::TooLarge),
            ]
        );
        assert_eq!(
            faults(Some(1_001), Vec::new()),
            [("/createdAt".to_owned(), FaultCode::TooLarge)]
        );
    }

    #[test]
    fn messages_are_not_blank_and_users_have_no_author() {
        let author = AuthorDraft {
            name: "Grace".to_owned(),
            avatar_url: None,
        };
        let by_grace = |role| ImportedMessage {
            author: Some(author.clone()),
            ..message(role, "Hello", 1)
        };
        let messages = vec![
            message(Role::Agent, " \u{3000}", 1),
            by_grace(Role::User),
            by_grace(Role::Agent),
        ];
        assert_eq!(
            faults(None, messages),
            [
                ("/messages/0/content".to_owned(), FaultCode::TooShort),
                ("/messages/1/author".to_owned(), FaultCode::NotCombinable),
            ]
        );
    }

    #[test]
    fn a_conversation_begins_with_its_first_message() {
        let import = |created_at, messages| ConversationImport {
            created_at,
            messages,
        };
        let first = || vec![message(Role::User, "Hello", 7)];
        let at = Timestamp::from_milliseconds;
        assert_eq!(import(Some(at(3)), first()).began_at(NOW), at(3));
        assert_eq!(import(None, first()).began_at(NOW), at(7));
        assert_eq!(import(None, Vec::new()).began_at(NOW), NOW);
    }
}
