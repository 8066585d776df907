//! Tokens that prove to a tool server for which user a tool is called.

use async_trait::async_trait;

use crate::{BoxError, ToolContext};

/// The reasons why a call that needs a token gets none.
#[derive(Debug, thiserror::Error)]
pub enum ToolTokenError {
    /// The credential that sent the message was revoked or withdrawn since.
    #[error("the credential that sent the message was revoked or withdrawn since")]
    Withdrawn,
    /// Another process received the message, so this one cannot tell.
    #[error("it is unknown whether the token that sent the message was withdrawn since")]
    Unknown,
    /// The credential cannot be checked, or no token can be signed.
    #[error("no token can be issued")]
    Failed(#[source] BoxError),
}

/// Issues the tokens that prove to a tool server for which user a tool is called.
#[async_trait]
pub trait ToolTokens: Send + Sync {
    /// Returns a new token for one call; `None` if the call has no user. `audience` is the URL of
    /// the server. MUST fail if the credential that sent the message was revoked or withdrawn since.
    async fn issue(
        &self,
        audience: &str,
        context: &ToolContext,
    ) -> Result<Option<String>, ToolTokenError>;
}
