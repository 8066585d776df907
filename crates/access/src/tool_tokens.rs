//! Tokens for the calls of tools.

use std::sync::Arc;

use async_trait::async_trait;
use ports::{ToolContext, ToolTokenError, ToolTokens};

use crate::Authenticator;

/// Issues the tokens for calls of tools, as long as the credential that sent the message is valid.
pub struct ToolTokenIssuer {
    authenticator: Arc<Authenticator>,
}

impl ToolTokenIssuer {
    /// Creates an issuer of tokens of this service. `authenticator` knows the credentials.
    pub fn new(authenticator: Arc<Authenticator>) -> Self {
        Self { authenticator }
    }
}

#[async_trait]
impl ToolTokens for ToolTokenIssuer {
    async fn issue(
        &self,
        audience: &str,
        context: &ToolContext,
    ) -> Result<Option<String>, ToolTokenError> {
        let Some(user_id) = context.user_id.as_deref() else {
            return Ok(None);
        };
        match self.authenticator.is_withdrawn(context).await {
            Ok(Some(false)) => {}
            Ok(Some(true)) => return Err(ToolTokenError::Withdrawn),
            Ok(None) => return Err(ToolTokenError::Unknown),
            Err(error) => return Err(ToolTokenError::Failed(error.into())),
        }
        let tokens = self.authenticator.own_tokens();
        let token = tokens.issue_for_tool(audience, user_id, context);
        token
            .map(Some)
            .map_err(|error| ToolTokenError::Failed(error.into()))
    }
}
