//! The tools that the client of a chat demands to be called.

use domain::{AgentConfig, Audience};
use ports::{AgentTool, ToolChoice};

/// Checks that the model is offered what it must call. For users it is as if the tools that they may not see
/// were not offered: they could guess the names of those otherwise. Returns the fault in words.
pub(super) fn check_tool_choice(
    choice: &ToolChoice,
    tools: &[AgentTool],
    config: &AgentConfig,
    audience: Audience,
) -> Result<(), &'static str> {
    let (is_offered, detail) = match choice {
        ToolChoice::Auto => return Ok(()),
        ToolChoice::Required => (!tools.is_empty(), "the model is offered no tool"),
        ToolChoice::Function(name) => {
            let mut tools = tools.iter().filter(|tool| tool.function == *name);
            let is_offered = tools.any(|it| config.shows_tool(&it.definition.name, audience));
            (is_offered, "must name a tool that the model is offered")
        }
    };
    is_offered.then_some(()).ok_or(detail)
}
