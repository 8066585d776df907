//! Replaces the values of a body that differ between runs, and checks their format.

use domain::{CredentialKind, CredentialSecret, Timestamp};
use serde_json::Value;
use uuid::Uuid;

/// Replaces ids, times, delays and keys by placeholders.
pub(crate) fn redact(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) => redact_text(name, text),
                    Value::Number(wait) if name == "retryAfter" => {
                        assert!(wait.as_u64() >= Some(1), "{name} is {wait}");
                        *member = "[seconds]".into();
                    }
                    other => redact(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

fn redact_text(name: &str, text: &mut String) {
    let form = match name {
        "id" | "agentId" | "conversationId" | "turnId" | "messageId" | "requestId" => {
            assert_is_id(name, text);
            "[id]"
        }
        "time" | "createdAt" | "updatedAt" | "startedAt" | "finishedAt" | "lastMessageAt" => {
            assert_is_time(name, text);
            "[time]"
        }
        "actor" => {
            let id = text.strip_prefix("key:").unwrap_or_default();
            assert_eq!(id.len(), 12, "{name} is {text}");
            "[key]"
        }
        "instance" => {
            *text = without_ids(text);
            return;
        }
        _ => {
            let is_secret = CredentialSecret::parse(CredentialKind::Key, text).is_ok();
            assert!(!is_secret, "{name} shows a key");
            return;
        }
    };
    form.clone_into(text);
}

fn assert_is_id(name: &str, text: &str) {
    let id = Uuid::parse_str(text).unwrap_or_else(|_| panic!("{name} is {text}"));
    assert_eq!(id.get_version_num(), 7, "{name} is {text}");
    assert_eq!(text, id.hyphenated().to_string());
}

fn assert_is_time(name: &str, text: &str) {
    assert!(Timestamp::parse(text).is_ok(), "{name} is {text}");
    // Times always have milliseconds and `Z`.
    assert_eq!(
        text.len(),
        "2026-11-20T09:30:00.020Z".len(),
        "{name} is {text}"
    );
    assert!(text.ends_with('Z'), "{name} is {text}");
}

fn without_ids(path: &str) -> String {
    let parts = path.split('/').map(|part| match Uuid::parse_str(part) {
        Ok(_) => "[id]",
        Err(_) => part,
    });
    parts.collect::<Vec<_>>().join("/")
}
