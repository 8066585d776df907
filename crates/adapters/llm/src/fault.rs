//! What goes wrong with an upstream, and what that means to those who asked.

use std::time::Duration;

use ports::{BoxError, ReplyError, UselessAnswer};
use reqwest::StatusCode;

use crate::complaint::Complaint;

/// The most of a cause that is told: certificates, for one, are quoted there.
const CAUSE_CHARACTERS: usize = 300;

/// Why a question got no answer. Says nothing that the upstream said in free text: that could hold
/// the prompt, or the key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// There was no connection, or it broke before the head of an answer.
    #[error("the upstream cannot be reached")]
    Unreachable(#[source] BoxError),
    /// The connection broke within the answer.
    #[error("the upstream's answer was cut")]
    Cut(#[source] BoxError),
    /// The answer ended before its end.
    #[error("the upstream's answer has no end")]
    Unfinished,
    /// It took too long.
    #[error("the upstream took too long")]
    TimedOut,
    /// It said that it will not, or cannot.
    #[error(transparent)]
    Complaint(#[from] Complaint),
    /// What it said is none of what it may say.
    #[error("{0}")]
    Malformed(&'static str),
    /// What it said came whole and well-formed, and is no answer. An agent may have wanted it so.
    #[error("{0}")]
    Useless(&'static str),
}

impl Fault {
    pub(crate) fn unreachable(error: reqwest::Error) -> Self {
        Self::Unreachable(cause(error))
    }

    pub(crate) fn cut(error: reqwest::Error) -> Self {
        Self::Cut(cause(error))
    }

    /// Whether the same question may get an answer soon.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Cut(_) => true,
            Self::TimedOut | Self::Unfinished | Self::Malformed(_) | Self::Useless(_) => false,
            Self::Complaint(complaint) => {
                complaint.status.is_server_error()
                    || complaint.status == StatusCode::TOO_MANY_REQUESTS
            }
        }
    }

    /// Whether the upstream knows nothing at this address, or no such model.
    pub(crate) fn is_of_something_unknown(&self) -> bool {
        matches!(self, Self::Complaint(it) if it.status == StatusCode::NOT_FOUND)
    }

    /// When it says the question may be put again.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Complaint(complaint) => complaint.retry_after,
            _ => None,
        }
    }
}

fn cause(error: reqwest::Error) -> BoxError {
    shown(&ports::error::told(&error.without_url())).into()
}

/// A foreign text as a log may hold it: one line that is not too long.
pub(crate) fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let kept = characters.by_ref().take(CAUSE_CHARACTERS);
    let mut shown = String::new();
    for character in kept {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

impl From<Fault> for ReplyError {
    fn from(fault: Fault) -> Self {
        match &fault {
            Fault::Unreachable(_) => Self::Unavailable(fault.into()),
            Fault::TimedOut => Self::TimedOut,
            Fault::Cut(_) | Fault::Unfinished => Self::CutOff(fault.into()),
            Fault::Malformed(_) => Self::BadAnswer(fault.into()),
            Fault::Useless(what) => Self::BadAnswer(UselessAnswer(what).into()),
            Fault::Complaint(complaint) => match complaint.status {
                StatusCode::TOO_MANY_REQUESTS => Self::RateLimited {
                    retry_after: complaint.retry_after,
                },
                StatusCode::REQUEST_TIMEOUT => Self::TimedOut,
                status if status.is_server_error() => Self::Unavailable(fault.into()),
                // What is neither an error nor an answer, such as a redirect, asks for something
                // that the operator has to see to, just as a refusal does.
                _ => Self::Refused(fault.into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    fn of_status(status: u16) -> Fault {
        let status = StatusCode::from_u16(status).unwrap();
        Complaint::read(Some(status), &Value::Null, None).into()
    }

    #[rstest]
    #[case(500, true, true)]
    #[case(503, true, true)]
    #[case(529, true, true)]
    #[case(429, true, true)]
    #[case(408, false, true)]
    #[case(400, false, false)]
    #[case(401, false, false)]
    #[case(404, false, false)]
    #[case(422, false, false)]
    #[case(301, false, false)]
    fn a_status_says_whether_it_may_pass(
        #[case] status: u16,
        #[case] may_pass: bool,
        #[case] is_retryable: bool,
    ) {
        let fault = of_status(status);
        assert_eq!(fault.may_pass(), may_pass);
        assert_eq!(ReplyError::from(fault).is_retryable(), is_retryable);
    }

    #[test]
    fn foreign_text_is_one_short_line() {
        assert_eq!(shown("a\r\n\u{1b}[31mb"), "a\\r\\n\\u{1b}[31mb");
        assert_eq!(
            shown(&"é".repeat(CAUSE_CHARACTERS)),
            "é".repeat(CAUSE_CHARACTERS)
        );
        let cut = shown(&"é".repeat(CAUSE_CHARACTERS + 1));
        assert_eq!(cut, "é".repeat(CAUSE_CHARACTERS) + "…");
    }
}
