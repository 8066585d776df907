//! The tools that the client of a chat demands to be called.

use domain::{FaultCode, InputFault};
use ports::{AgentTool, ToolChoice};

/// Checks that the model is offered what it must call.
pub(super) fn check_tool_choice(
    choice: &ToolChoice,
    tools: &[AgentTool],
) -> Result<(), Vec<InputFault>> {
    let (is_offered, detail) = match choice {
        ToolChoice::Auto => return Ok(()),
        ToolChoice::Required => (!tools.is_empty(), "the model is offered no tool"),
        ToolChoice::Function(name) => (
            tools.iter().any(|tool| tool.function == *name),
            "must name a tool that the model is offered",
        ),
    };
    if is_offered {
        return Ok(());
    }
    // Only the requests of OpenAI's clients have this member.
    let fault = InputFault::new("/tool_choice", FaultCode::UnknownValue, detail);
    Err(vec![fault])
}
