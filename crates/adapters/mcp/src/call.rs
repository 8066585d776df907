//! One call, and what went wrong with it.

use ports::{ToolArguments, ToolError};
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResponse, ErrorCode, ErrorData},
    service::{Peer, ServiceError},
};

use crate::{answer, reason::Unreachable};

/// Where a tool is called.
pub(crate) struct Route {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) name_there: String,
}

impl Route {
    /// Calls the tool. When this is dropped, the server is told that nobody waits any longer.
    pub(crate) async fn call(&self, arguments: &ToolArguments) -> Result<String, ToolError> {
        let call = CallToolRequestParams::new(self.name_there.clone());
        let call = call.with_arguments(arguments.clone());
        match self.peer.call_tool_once(call).await {
            Ok(CallToolResponse::Complete(result)) => answer::read(result),
            Ok(_) => Err(ToolError::Failed(
                "it asks for what nobody here can give while it works".to_owned(),
            )),
            Err(error) => Err(from_service(error)),
        }
    }
}

fn from_service(error: ServiceError) -> ToolError {
    match error {
        ServiceError::McpError(error) => from_protocol(error),
        ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
            ToolError::Unavailable(Unreachable::because(&error).into())
        }
        _ => ToolError::Failed("its answer does not keep to the protocol".to_owned()),
    }
}

fn from_protocol(error: ErrorData) -> ToolError {
    match error.code {
        ErrorCode::INVALID_PARAMS => ToolError::Refused(error.message.into_owned()),
        ErrorCode::METHOD_NOT_FOUND => ToolError::Unavailable("it has no tools any more".into()),
        _ => ToolError::Failed(error.message.into_owned()),
    }
}
