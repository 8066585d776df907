//! Messages that a client sends again.

use domain::{AgentId, IdempotencyKey};
use kit::operations::Protocol;

/// Returns the idempotency key of a message from a user to an agent. `parts` identify the message:
/// one that is sent again has the same key.
pub(crate) fn resend_key(
    protocol: &Protocol,
    agent_id: AgentId,
    user_id: Option<&str>,
    parts: &[&str],
) -> IdempotencyKey {
    let agent_id = agent_id.to_string();
    let has_user = if user_id.is_some() { "user" } else { "" };
    let sender = [&*agent_id, has_user, user_id.unwrap_or_default()];
    IdempotencyKey::derived(protocol.name, &[&sender[..], parts].concat())
}

#[cfg(test)]
mod tests {
    use domain::AgentId;
    use uuid::Uuid;

    use super::resend_key;
    use crate::{ag_ui, openai};

    #[test]
    fn only_equal_messages_have_equal_keys() {
        let agent = AgentId::new(Uuid::nil());
        let key = |user, parts: &[&str]| resend_key(&openai::PROTOCOL, agent, user, parts);
        assert_eq!(key(None, &["a", "b"]), key(None, &["a", "b"]));
        for other in [
            key(None, &["ab", ""]),
            key(None, &["b", "a"]),
            key(Some(""), &["a", "b"]),
            key(Some("ada"), &["a", "b"]),
            resend_key(
                &openai::PROTOCOL,
                AgentId::new(Uuid::max()),
                None,
                &["a", "b"],
            ),
            resend_key(&ag_ui::PROTOCOL, agent, None, &["a", "b"]),
        ] {
            assert_ne!(key(None, &["a", "b"]), other);
        }
        assert_eq!(key(None, &[]).as_str().parse(), Ok(key(None, &[])));
    }
}
