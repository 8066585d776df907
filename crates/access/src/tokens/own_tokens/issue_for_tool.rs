//! Tokens that prove to a tool server for which user a tool is called.

use std::time::Duration;

use domain::{AgentId, ConversationId, PrincipalId, TenantId};
use ports::ToolContext;
use serde::Serialize;
use uuid::Uuid;

use super::{super::own_token::unix_seconds, OwnTokens};
use crate::{
    jwt::{LEEWAY, TOOL_TOKEN},
    signing_keys::SigningKeyError,
};

/// The lifetime of a token for one call.
const LIFETIME: Duration = Duration::from_mins(5);

/// The claims of a token for a tool server.
#[derive(Serialize)]
struct ToolTokenClaims<'a> {
    iss: &'a str,
    aud: &'a str,
    sub: &'a str,
    tenant: &'a TenantId,
    agent_id: AgentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<ConversationId>,
    call_id: &'a str,
    act: Actor<'a>,
    iat: i64,
    exp: i64,
    jti: Uuid,
}

/// The principal that acts for the user (RFC 8693).
#[derive(Serialize)]
struct Actor<'a> {
    sub: &'a PrincipalId,
}

impl OwnTokens {
    /// Issues a token for one call of a tool to the server `audience`.
    pub(crate) fn issue_for_tool(
        &self,
        audience: &str,
        user_id: &str,
        context: &ToolContext,
    ) -> Result<String, SigningKeyError> {
        let user = self.principal_of_user(user_id, &context.started_by);
        let issued_at = unix_seconds(self.clock.now());
        let claims = ToolTokenClaims {
            iss: &self.issuer,
            aud: audience,
            sub: user.as_str(),
            tenant: &context.tenant,
            agent_id: context.agent_id,
            conversation_id: context.conversation_id,
            call_id: &context.call_id,
            act: Actor {
                sub: &context.started_by,
            },
            iat: issued_at,
            exp: issued_at + i64::try_from(LIFETIME.as_secs()).unwrap_or(i64::MAX),
            jti: self.ids.next_id(),
        };
        self.keys.sign(TOOL_TOKEN, &claims, None, LIFETIME + LEEWAY)
    }

    /// Returns the principal of a user. Only its own message shows that it is a user of an identity
    /// provider: whoever else names one may have made it up.
    fn principal_of_user(&self, user_id: &str, sender: &PrincipalId) -> PrincipalId {
        let sent_it = self.reserved_user_ids.contains(user_id) && sender.as_str() == user_id;
        if sent_it {
            sender.clone()
        } else {
            PrincipalId::user(user_id)
        }
    }
}
