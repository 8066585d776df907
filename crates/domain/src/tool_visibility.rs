//! The visibility of tool calls to the readers of turns, messages and events.

use std::borrow::Cow;

use serde_json::Value;

use crate::{ToolCall, UnknownMembers, open_enum::open_enum};

open_enum! {
    /// What users see of the calls of a tool. Keys, clients and principals with
    /// `conversations:all` see all of them.
    ToolVisibility[16] {
        /// The call with its arguments and its result.
        Full = "full",
        /// The name, the status and the times; `arguments` and `result` are null.
        Status = "status",
        /// Nothing.
        Hidden = "none",
    }
}

#[expect(
    clippy::derivable_impls,
    reason = "open enums have no default of their own"
)]
impl Default for ToolVisibility {
    fn default() -> Self {
        Self::Status
    }
}

/// The kind of reader of a response or an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Keys, clients, and users who reach the conversations of all users.
    Staff,
    /// A user, also one whom a key or a client names in its request.
    User,
}

impl Audience {
    /// Returns what it sees of a call of this visibility. A value of a newer version shows nothing to users.
    pub fn sees(self, visibility: Option<ToolVisibility>) -> ToolVisibility {
        match (self, visibility.unwrap_or_default()) {
            (Self::Staff, _) => ToolVisibility::Full,
            (Self::User, ToolVisibility::Other(_)) => ToolVisibility::Hidden,
            (Self::User, visibility) => visibility,
        }
    }
}

impl ToolCall {
    /// Returns what an audience sees of the call.
    pub fn visibility_to(&self, audience: Audience) -> ToolVisibility {
        audience.sees(self.visibility)
    }

    /// Returns the call without arguments and result.
    fn status_only(&self) -> Self {
        Self {
            id: self.id.clone(),
            at: self.at,
            name: self.name.clone(),
            arguments: Value::Null,
            edited_arguments: None,
            status: self.status.clone(),
            duration_ms: self.duration_ms,
            result: None,
            needs: self.needs,
            approver: self.approver,
            expires_at: self.expires_at,
            decided_by: None,
            decided_at: self.decided_at,
            visibility: self.visibility,
            // What a newer version has added may be a part of the arguments or of the result.
            unknown: UnknownMembers::default(),
        }
    }
}

/// Returns a call as an audience sees it; `None` if it is not shown.
pub fn show_call(call: &ToolCall, audience: Audience) -> Option<Cow<'_, ToolCall>> {
    let names_staff = audience == Audience::User && call.decided_by.is_some();
    match call.visibility_to(audience) {
        ToolVisibility::Full if names_staff => Some(Cow::Owned(ToolCall {
            decided_by: None,
            ..call.clone()
        })),
        ToolVisibility::Full => Some(Cow::Borrowed(call)),
        ToolVisibility::Status => Some(Cow::Owned(call.status_only())),
        ToolVisibility::Hidden | ToolVisibility::Other(_) => None,
    }
}

/// Reduces the calls of a turn to what an audience sees of them. Returns `true` if it sees less than
/// everything.
pub fn show_calls(calls: &mut Vec<ToolCall>, audience: Audience) -> bool {
    let mut is_reduced = false;
    calls.retain_mut(|call| {
        let shown = match show_call(call, audience) {
            Some(Cow::Borrowed(_)) => return true,
            Some(Cow::Owned(reduced)) => Some(reduced),
            None => None,
        };
        is_reduced = true;
        let is_shown = shown.is_some();
        if let Some(reduced) = shown {
            *call = reduced;
        }
        is_shown
    });
    is_reduced
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(visibility: &Value) -> ToolCall {
        let mut call = json!({
            "id": "t-1", "at": 2, "name": "crm/find", "arguments": {"name": "Ada"}, "status": "ok",
            "durationMs": 3, "result": "found", "editedArguments": {"name": "Eve"},
        });
        if !visibility.is_null() {
            call["visibility"] = visibility.clone();
        }
        serde_json::from_value(call).unwrap()
    }

    #[test]
    fn users_see_what_the_call_was_made_with() {
        for (visibility, expected) in [
            (json!("full"), Some(true)),
            (json!("status"), Some(false)),
            (Value::Null, Some(false)),
            (json!("none"), None),
            (json!("of a newer version"), None),
        ] {
            let whole = call(&visibility);
            let mut shown = vec![whole.clone()];
            assert_eq!(
                show_calls(&mut shown, Audience::User),
                expected != Some(true)
            );
            let shown = shown.pop();
            assert_eq!(shown.is_some(), expected.is_some(), "{visibility}");
            let Some(shown) = shown else { continue };
            if expected == Some(true) {
                assert_eq!(shown, whole);
                continue;
            }
            let mut expected = json!({
                "id": "t-1", "at": 2, "name": "crm/find", "arguments": null, "status": "ok",
                "durationMs": 3, "result": null,
            });
            if !visibility.is_null() {
                expected["visibility"] = visibility;
            }
            assert_eq!(serde_json::to_value(shown).unwrap(), expected);
        }
    }

    #[test]
    fn staff_sees_everything() {
        for visibility in [json!("none"), json!("status"), Value::Null] {
            let whole = call(&visibility);
            let mut shown = vec![whole.clone()];
            assert!(!show_calls(&mut shown, Audience::Staff));
            assert_eq!(shown, [whole]);
        }
    }
}
