//! The check of a call before it is made: it runs, waits for an answer, or is refused.

use domain::{ActionNeeded, AgentConfig, Approver, Timestamp, ToolEntry, ToolVisibility, Wait};
use ports::AgentTool;

use super::call::Failure;

/// The end of the time in which the client of an unrecorded chat can send the output of its tool: there is
/// none, because no turn waits for it.
const NEVER: Timestamp = Timestamp::from_milliseconds(253_402_300_799_999);

/// Returns what a call of a tool waits for, if it does, or why it is not made. `expires_at` is the time
/// from which it is too late for an answer, and `None` in an unrecorded chat. There, nobody could answer later,
/// and no record would keep a call that acts from being made twice.
pub(super) fn permission(
    tool: &AgentTool,
    config: &AgentConfig,
    expires_at: Option<Timestamp>,
) -> Result<Option<Box<Wait>>, Failure> {
    let is_read_only = tool.definition.hints.read_only == Some(true);
    match (needs(tool, config), expires_at) {
        (Some(ActionNeeded::Output), _) => {
            let wait = wait(ActionNeeded::Output, None, expires_at.unwrap_or(NEVER));
            Ok(Some(Box::new(wait)))
        }
        (Some(needs), Some(expires_at)) => {
            let entry = config.tool_entry(&tool.definition.name);
            let approver = entry.map_or(Approver::User, ToolEntry::approver);
            Ok(Some(Box::new(wait(needs, Some(approver), expires_at))))
        }
        (None, Some(_)) => Ok(None),
        (None, None) if is_read_only => Ok(None),
        (_, None) => Err(Failure::unrecorded()),
    }
}

/// Returns what a call needs before it is made, or in its place.
fn needs(tool: &AgentTool, config: &AgentConfig) -> Option<ActionNeeded> {
    if tool.provider.is_none() {
        return Some(ActionNeeded::Output);
    }
    let hints = tool.definition.hints;
    let is_destructive = hints.read_only != Some(true) && hints.destructive != Some(false);
    let entry = config.tool_entry(&tool.definition.name)?;
    let is_required = entry.requires_approval(is_destructive);
    is_required.then_some(ActionNeeded::Approval)
}

fn wait(needs: ActionNeeded, approver: Option<Approver>, expires_at: Timestamp) -> Wait {
    Wait {
        needs,
        approver,
        expires_at,
        decision: None,
        has_begun: false,
        resumptions_before: 0,
    }
}

/// Returns what users see of a call, if it is not the default. They see all of a call that they are asked
/// about.
pub(super) fn visibility(
    name: Option<&str>,
    wait: Option<&Wait>,
    config: &AgentConfig,
) -> Option<ToolVisibility> {
    let Some(name) = name else {
        return config.visibility_of_unknown_tools();
    };
    let configured = config.tool_entry(name).and_then(|entry| entry.visibility);
    let asked = wait.filter(|wait| !wait.is_for_staff());
    configured.or(asked.map(|_| ToolVisibility::Full))
}
