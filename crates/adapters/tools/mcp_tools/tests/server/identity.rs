//! Tests of the metadata and the credentials that a server over HTTP receives with a call.

use std::sync::Arc;

use async_trait::async_trait;
use contract::{fixture, tool_provider::context};
use futures::future::join_all;
use mcp_tools::{HttpEndpoint, McpTransport};
use parking_lot::Mutex;
use ports::{ToolContext, ToolError, ToolTokenError, ToolTokens};
use serde_json::{Value, json};

use crate::{fixture::Fixture, web::Web};

/// Tokens that name the call and the server. Those of `mallory` were withdrawn.
#[derive(Default)]
struct FakeTokens(Mutex<Vec<String>>);

#[async_trait]
impl ToolTokens for FakeTokens {
    async fn issue(
        &self,
        audience: &str,
        context: &ToolContext,
    ) -> Result<Option<String>, ToolTokenError> {
        self.0.lock().push(audience.to_owned());
        match context.user_id.as_deref() {
            Some("mallory") => Err(ToolTokenError::Withdrawn),
            Some(user) => Ok(Some(format!("{user}.{}", context.call_id))),
            None => Ok(None),
        }
    }
}

async fn connected(change: impl FnOnce(&mut HttpEndpoint)) -> (Web, Fixture) {
    let mut web = Web::spawn(&[]);
    let mut endpoint = web.endpoint();
    change(&mut endpoint);
    let server = Fixture::new(McpTransport::Http(endpoint));
    (web, server.wait_until_connected().await)
}

/// Returns a call as the server received it.
async fn report(server: &Fixture, context: &ToolContext) -> Value {
    let report = server.call_for(context, "report", json!({})).await;
    serde_json::from_str(&report.expect("a report")).expect("JSON")
}

/// The context of a call of this user in a tenant of its own.
fn call_of(user: Option<&str>, number: u32) -> ToolContext {
    let turn_id = fixture::turn_id(number);
    ToolContext {
        tenant: fixture::tenant_named(&format!("tenant-{number}")),
        user_id: user.map(str::to_owned),
        turn_id,
        call_id: format!("{turn_id}-1"),
        ..context()
    }
}

#[tokio::test]
async fn a_call_says_for_whom_it_is_made() {
    let (_web, server) = connected(|_| {}).await;
    let context = context();
    let report = report(&server, &context).await;
    for (name, expected) in [
        ("tenantId", json!(context.tenant)),
        ("agentId", json!(context.agent_id)),
        ("agentVersion", json!(1)),
        ("userId", json!("ada")),
        ("conversationId", json!(context.conversation_id)),
        ("turnId", json!(context.turn_id)),
        ("callId", json!(context.call_id)),
        ("attempt", json!(1)),
    ] {
        let sent = &report["meta"][format!("agent-service/{name}")];
        assert_eq!(*sent, expected, "{name}");
    }
    assert_eq!(report["headers"]["idempotency-key"], context.call_id);
    assert_eq!(report["headers"]["authorization"], Value::Null);
}

#[tokio::test]
async fn configured_headers_are_sent_with_every_request() {
    let (_web, server) = connected(|endpoint| {
        let headers = [("X-Api-Key", "a word"), ("authorization", "Basic dTpw")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.into()));
        endpoint.headers.extend(headers);
    })
    .await;
    let report = report(&server, &context()).await;
    let received = report["received"].as_array().expect("requests");
    let names: Vec<_> = received.iter().map(|it| &it["request"]).collect();
    for expected in ["initialize", "tools/list", "tools/call"] {
        assert!(names.contains(&&json!(expected)), "{names:?}");
    }
    for request in received {
        let headers = &request["headers"];
        assert_eq!(headers["x-api-key"], "a word", "{request}");
        assert_eq!(headers["authorization"], "Basic dTpw", "{request}");
        let is_call = request["request"] == "tools/call";
        assert_eq!(headers["idempotency-key"].is_string(), is_call, "{request}");
    }
}

#[tokio::test]
async fn a_token_is_sent_with_the_calls_of_a_user_only() {
    let tokens = Arc::new(FakeTokens::default());
    let issuer = Arc::clone(&tokens);
    let mut url = String::new();
    let (_web, server) = connected(|endpoint| {
        url.clone_from(&endpoint.url);
        endpoint.user_tokens = Some(issuer);
    })
    .await;
    let of_ada = call_of(Some("ada"), 1);
    let report_to_ada = report(&server, &of_ada).await;
    let expected = format!("Bearer ada.{}", of_ada.call_id);
    assert_eq!(report_to_ada["headers"]["authorization"], expected);
    let others = report_to_ada["received"].as_array().expect("requests");
    let others = others.iter().filter(|it| it["request"] != "tools/call");
    for request in others {
        assert_eq!(request["headers"]["authorization"], Value::Null);
    }
    let of_nobody = report(&server, &call_of(None, 2)).await;
    assert_eq!(of_nobody["headers"]["authorization"], Value::Null);

    let of_mallory = call_of(Some("mallory"), 3);
    let refused = server.call_for(&of_mallory, "report", json!({})).await;
    assert!(
        matches!(refused, Err(ToolError::Unavailable(_))),
        "{refused:?}"
    );
    let last = report(&server, &call_of(None, 4)).await;
    let received = last["received"].as_array().expect("requests").iter();
    let calls = received.filter(|it| it["request"] == "tools/call");
    assert_eq!(calls.count(), 3, "the refused call was not made");
    assert_eq!(*tokens.0.lock(), vec![url; 4]);
}

#[tokio::test]
async fn calls_at_the_same_time_keep_their_own_identities() {
    let (_web, server) = connected(|endpoint| {
        endpoint.user_tokens = Some(Arc::new(FakeTokens::default()));
    })
    .await;
    let calls = (1..=32).map(|number| call_of(Some(&format!("user-{number}")), number));
    let calls: Vec<_> = calls.collect();
    let reports = join_all(calls.iter().map(|call| report(&server, call))).await;
    for (call, report) in calls.iter().zip(reports) {
        let user = call.user_id.as_deref().expect("a user");
        let (meta, headers) = (&report["meta"], &report["headers"]);
        assert_eq!(meta["agent-service/tenantId"], json!(call.tenant));
        assert_eq!(meta["agent-service/userId"], user);
        assert_eq!(headers["idempotency-key"], call.call_id);
        let expected = format!("Bearer {user}.{}", call.call_id);
        assert_eq!(headers["authorization"], expected);
    }
}
