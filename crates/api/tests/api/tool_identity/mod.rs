//! Tests of the identity of the caller of a chat, as an MCP server receives it over real HTTP.

mod crm;

use domain::ProblemCode;
use serde_json::json;

use crate::{
    child_program,
    user_tokens::{BACKEND, backend, user, withdraw},
};
use crm::{Setup, new_agent, report_in};

const DOCUMENT: &str = include_str!("../../../../../docs/tools.md");

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_server_learns_for_which_user_of_a_key_it_is_called() {
    let mut setup = Setup::start().await;
    let (key, caller) = backend(&setup.api, BACKEND).await;
    let body = json!({"agentId": setup.agent, "message": "Hello", "userId": "grace"});
    let report = setup.report(&caller, body).await;
    let turn = crate::engines::turn(&setup.api, &report.turn).await;
    let conversation = &turn["conversationId"];
    let call = format!("{}-1", report.turn);
    let expected = json!({
        "tenantId": "default", "agentId": setup.agent, "agentVersion": 1, "userId": "grace",
        "conversationId": conversation, "turnId": report.turn, "callId": call, "attempt": 1,
    });
    assert_eq!(report.meta, expected);
    assert_eq!(turn["toolCalls"][0]["id"], call.as_str());
    assert_eq!(report.headers["idempotency-key"], call.as_str());
    assert_eq!(report.headers["x-api-key"], "a-word");

    let claims = setup.claims(&report).await;
    let expected = json!({
        "iss": format!("http://{}", setup.api.address), "aud": setup.url, "sub": "user:grace",
        "tenant": "default", "agent_id": setup.agent, "conversation_id": conversation,
        "call_id": call, "act": {"sub": format!("key:{key}")},
        "iat": claims["iat"], "exp": claims["iat"].as_i64().expect("a time") + 300,
        "jti": claims["jti"],
    });
    assert_eq!(claims, expected);
    // The tool server cannot use the token here.
    let tool_server = setup.api.caller(report.token());
    for path in ["/api/conversations", "/api/agents", "/api/capabilities"] {
        let refused = tool_server.get(path).await;
        refused.problem(ProblemCode::InvalidCredentials);
    }
    setup.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_server_in_python_recognises_the_caller() {
    let source = DOCUMENT.split("```python\n").nth(1).expect("Python");
    let source = source.split("```").next().expect("its end");
    let mut setup = Setup::start().await;
    let (key, backend) = backend(&setup.api, BACKEND).await;
    let grace = user(&setup.api, &backend, "grace").await;
    let by_key = json!({"agentId": setup.agent, "message": "Hello", "userId": "grace"});
    let by_user = json!({"agentId": setup.agent, "message": "Hello"});
    let key = format!("key:{key} key:other");
    for (caller, body, trusted, is_trusted) in [
        (&backend, &by_key, &*key, true),
        (&backend, &by_key, "key:other", false),
        (&grace, &by_user, "", true),
    ] {
        let report = setup.report(caller, body.clone()).await;
        let order = json!({
            "source": source, "service": format!("http://{}", setup.api.address),
            "url": setup.url, "trusted": trusted,
            "authorization": report.headers["authorization"],
            "meta": {"agent-service/callId": report.meta["callId"]},
        });
        let read = child_program::run("tool_token_server.py", &[], &order).await;
        if is_trusted {
            assert_eq!(read, setup.claims(&report).await);
        } else {
            let reason = "whoever sent the message may have made up the user";
            assert_eq!(read, json!({"refused": reason}));
        }
    }
    setup.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_user_or_a_conversation_has_none() {
    let mut setup = Setup::start().await;
    let writer = setup.api.writer();
    let body = json!({"agentId": setup.agent, "message": "Hello"});
    let report = setup.report(&writer, body).await;
    assert_eq!(report.meta.get("userId"), None);
    assert_eq!(report.token(), None);

    let body =
        json!({"agentId": setup.agent, "message": "Hello", "userId": "grace", "store": false});
    let report = setup.report(&writer, body).await;
    assert_eq!(report.meta.get("conversationId"), None);
    assert_eq!(report.meta["userId"], "grace");
    let claims = setup.claims(&report).await;
    assert_eq!(claims.get("conversation_id"), None);
    assert_eq!(claims["sub"], "user:grace");

    let completion = json!({
        "model": setup.agent, "messages": [{"role": "user", "content": "Hello"}],
    });
    let request = writer.request("POST", "/v1/chat/completions");
    let request = request.header("X-User-Id", "ada").json(&completion);
    let report = setup.report_of(request).await;
    assert_eq!(report.meta["userId"], "ada");
    assert_eq!(setup.claims(&report).await["sub"], "user:ada");
    setup.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_not_called_after_the_token_of_the_message_was_withdrawn() {
    let mut setup = Setup::start().await;
    let (key, backend) = backend(&setup.api, BACKEND).await;
    let grace = user(&setup.api, &backend, "grace").await;
    let body = json!({"agentId": setup.agent, "message": "Hello"});
    let report = setup.report(&grace, body.clone()).await;
    assert_eq!(report.meta["userId"], "grace");
    let claims = setup.claims(&report).await;
    assert_eq!(claims["sub"], "user:grace");
    assert_eq!(claims["act"], json!({"sub": "user:grace"}));

    // The key is revoked last, since its tokens end with it.
    let end_of_user = async || withdraw(&backend, "grace").await;
    let writer = setup.api.writer();
    let end_of_key = async || {
        let revoked = writer.delete(&format!("/api/keys/{key}")).await;
        assert_eq!(revoked.status, 204);
    };
    let by_key = json!({"agentId": setup.agent, "message": "Hello", "userId": "grace"});
    for (caller, body, is_user) in [(&grace, body, true), (&backend, by_key, false)] {
        let sending = caller.post("/api/chat", body);
        let script = &mut setup.script;
        let (_, ()) = tokio::join!(sending, async {
            let call = script.next_call().await;
            if is_user {
                end_of_user().await;
            } else {
                end_of_key().await;
            }
            let result = call.result_of("crm_report").await;
            assert_eq!(result["status"], "unavailable");
            call.answer("Not now.").await;
        });
    }
    setup.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_different_tenants_at_the_same_time_keep_their_identities() {
    let mut setup = Setup::start().await;
    let callers = [setup.api.writer(), setup.api.other_tenant()];
    let agents = [setup.agent.clone(), new_agent(&callers[1]).await];
    let body =
        |index: usize| json!({"agentId": agents[index], "message": "Hello", "userId": "grace"});
    let sending = futures::future::join_all(
        (0..2).map(|index| callers[index].post("/api/chat", body(index))),
    );
    let script = &mut setup.script;
    let (_, reports) = tokio::join!(sending, async {
        let (one, other) = (script.next_call().await, script.next_call().await);
        let reports = tokio::join!(report_in(&one), report_in(&other));
        let turns = [&one, &other].map(|it| {
            let request = &it.request;
            (request.tenant.clone(), request.agent.id, request.turn_id)
        });
        one.answer("Done.").await;
        other.answer("Done.").await;
        turns.into_iter().zip([reports.0, reports.1])
    });
    let mut tenants = Vec::new();
    for ((tenant, agent, turn), report) in reports {
        let claims = setup.claims(&report).await;
        assert_eq!(report.meta["tenantId"], json!(tenant));
        assert_eq!(report.meta["agentId"], json!(agent));
        assert_eq!(report.meta["turnId"], json!(turn));
        assert_eq!(claims["tenant"], json!(tenant));
        assert_eq!(claims["agent_id"], json!(agent));
        assert_eq!(claims["call_id"], json!(format!("{turn}-1")));
        tenants.push(tenant.to_string());
    }
    tenants.sort();
    assert_eq!(tenants, ["default", "other"]);
    setup.api.stop().await;
}
