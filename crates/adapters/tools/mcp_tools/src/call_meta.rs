//! The metadata of a call, which servers receive in `_meta` of `tools/call`.

use ports::ToolContext;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, MetaObject, RequestMetaObject};
use serde_json::{Map, Value};

/// The member with the id of the call.
const CALL_ID: &str = "agent-service/callId";
/// The member with the user.
const USER_ID: &str = "agent-service/userId";

/// Returns the metadata of a call.
pub(crate) fn call_meta(context: &ToolContext) -> RequestMetaObject {
    let conversation = context.conversation_id.map(|id| id.to_string());
    let members = [
        (
            "agent-service/tenantId",
            Some(context.tenant.as_str().into()),
        ),
        (
            "agent-service/agentId",
            Some(context.agent_id.to_string().into()),
        ),
        (
            "agent-service/agentVersion",
            Some(context.agent_version.into()),
        ),
        (USER_ID, context.user_id.as_deref().map(Value::from)),
        (
            "agent-service/conversationId",
            conversation.map(Value::from),
        ),
        (
            "agent-service/turnId",
            Some(context.turn_id.to_string().into()),
        ),
        (CALL_ID, Some(context.call_id.as_str().into())),
        ("agent-service/attempt", Some(context.attempt.into())),
    ];
    let members = members.into_iter();
    let members = members.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    RequestMetaObject(MetaObject(members.collect::<Map<_, _>>()))
}

/// A call in a message.
pub(crate) struct SentCall<'a> {
    pub(crate) id: &'a str,
    pub(crate) has_user: bool,
}

/// Returns the call that a message makes.
pub(crate) fn sent_call(message: &ClientJsonRpcMessage) -> Option<SentCall<'_>> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return None;
    };
    let ClientRequest::CallToolRequest(call) = &request.request else {
        return None;
    };
    let members = &call.params.meta.as_ref()?.0.0;
    Some(SentCall {
        id: members.get(CALL_ID)?.as_str()?,
        has_user: members.contains_key(USER_ID),
    })
}

#[cfg(test)]
mod tests {
    use contract::tool_provider::context;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_member_is_sent_and_absent_ones_are_left_out() {
        let context = context();
        let full = json!({
            "agent-service/tenantId": context.tenant,
            "agent-service/agentId": context.agent_id,
            "agent-service/agentVersion": 1,
            "agent-service/userId": "ada",
            "agent-service/conversationId": context.conversation_id,
            "agent-service/turnId": context.turn_id,
            "agent-service/callId": context.call_id,
            "agent-service/attempt": 1,
        });
        assert_eq!(Value::Object(call_meta(&context).0.0), full);
        let unstored = ToolContext {
            user_id: None,
            conversation_id: None,
            ..context
        };
        let mut without = full;
        for absent in ["agent-service/userId", "agent-service/conversationId"] {
            without.as_object_mut().expect("members").remove(absent);
        }
        assert_eq!(Value::Object(call_meta(&unstored).0.0), without);
    }
}
