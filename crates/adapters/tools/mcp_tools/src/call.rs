//! One tool call and its errors.

use ports::{ToolArguments, ToolContext, ToolError};
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResponse, ErrorCode, ErrorData},
    service::{Peer, ServiceError},
};

use crate::{
    TOO_LARGE,
    call_meta::call_meta,
    connection_error::{ConnectionError, may_have_arrived},
    tool_result,
};

/// The connection and the name by which a tool is called.
pub(crate) struct Route {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) remote_name: String,
}

impl Route {
    /// Calls the tool. Dropping the future sends a cancellation to the server.
    pub(crate) async fn call(
        &self,
        arguments: &ToolArguments,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        let call = CallToolRequestParams::new(self.remote_name.clone());
        let mut call = call.with_arguments(arguments.clone());
        call.meta = Some(call_meta(context));
        match self.peer.call_tool_once(call).await {
            Ok(CallToolResponse::Complete(result)) => tool_result::read(result),
            Ok(_) => Err(ToolError::Unreadable(
                "it requests input that is not supported".to_owned(),
            )),
            Err(error) => Err(from_service(error)),
        }
    }
}

fn from_service(error: ServiceError) -> ToolError {
    match error {
        ServiceError::McpError(error) => from_protocol(error),
        ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
            let cause = ConnectionError::from_error(&error).into();
            if may_have_arrived(&error) {
                ToolError::Lost(cause)
            } else {
                ToolError::Unavailable(cause)
            }
        }
        _ => ToolError::Unreadable("its result violates the protocol".to_owned()),
    }
}

fn from_protocol(error: ErrorData) -> ToolError {
    match error.code {
        ErrorCode::INVALID_PARAMS => ToolError::InvalidArguments(error.message.into_owned()),
        ErrorCode::METHOD_NOT_FOUND => {
            ToolError::Unavailable("the server no longer has tools".into())
        }
        // Of this client.
        _ if error.message == TOO_LARGE => ToolError::Unreadable(TOO_LARGE.to_owned()),
        _ => ToolError::Failed(error.message.into_owned()),
    }
}
