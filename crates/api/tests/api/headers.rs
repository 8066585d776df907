//! Headers of every response, and conditional requests.

use domain::ProblemCode;
use serde_json::json;

use crate::{
    api_server::ApiServer,
    operations::{self, TestResources},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_id_is_echoed_or_minted() {
    let api = ApiServer::start().await;
    let with = |id: String| {
        let request = api.anonymous().request("GET", "/api/agents");
        request.header("X-Request-Id", &id).send()
    };
    for good in ["a", "Trace-1.b_2", &"x".repeat(128)] {
        assert_eq!(with(good.to_owned()).await.header("x-request-id"), good);
    }
    for bad in ["", "a b", "a/b", "ä", &"x".repeat(129)] {
        let response = with(bad.to_owned()).await;
        let minted = response.header("x-request-id");
        assert_eq!(minted.len(), 36, "{bad} became {minted}");
    }
    let first = api.anonymous().get("/livez").await;
    let second = api.anonymous().get("/livez").await;
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_has_a_cache_policy() {
    let api = ApiServer::start().await;
    for operation in operations::all() {
        let resources = TestResources::make(&api).await;
        let response = operation.request(&api.writer(), &resources).send().await;
        let expected = match operation.id {
            "get_openapi"
            | "get_asyncapi"
            | "list_problems"
            | "get_problem"
            | "get_console"
            | "get_authorization_server"
            | "get_protected_resource"
            | "get_jwks" => "public, max-age=300",
            _ if response.has("etag") => "private, no-cache",
            "follow_conversation" | "export_conversations" | "export_user" => {
                "no-store, no-transform"
            }
            _ => "no-store",
        };
        assert_eq!(
            response.header("cache-control"),
            expected,
            "{}",
            operation.id
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_get_without_a_body() {
    let api = ApiServer::start().await;
    let resources = TestResources::make(&api).await;
    let gets = operations::all()
        .into_iter()
        .filter(|operation| operation.method == "GET");
    for operation in gets {
        let path = operation.path(&resources);
        let get = api.writer().get(&path).await;
        let head = api.writer().request("HEAD", &path).send().await;
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        for name in [
            "content-type",
            "content-length",
            "etag",
            "cache-control",
            "link",
        ] {
            assert_eq!(
                head.headers.get(name),
                get.headers.get(name),
                "{name} of {path}"
            );
        }
    }
    let rejected = api.anonymous().request("HEAD", "/api/agents").send().await;
    assert_eq!(rejected.status, 401);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_resource_is_not_modified() {
    let api = ApiServer::start().await;
    let resources = TestResources::make(&api).await;
    let agent = format!("/api/agents/{}", resources.agent);
    let conversation = format!("/api/conversations/{}", resources.conversation);
    for path in [
        &agent,
        &format!("{agent}/config"),
        &conversation,
        "/openapi.json",
        "/asyncapi.json",
    ] {
        let first = api.reader().get(path).await;
        let tag = first.header("etag");
        let request_with = |value: String| {
            let request = api.reader().request("GET", path);
            request.header("If-None-Match", &value).send()
        };
        for same in [
            tag.to_owned(),
            format!("W/{tag}"),
            format!("\"a\", {tag}"),
            "*".to_owned(),
        ] {
            let response = request_with(same).await;
            assert_eq!((response.status, response.body.len()), (304, 0), "{path}");
            assert_eq!(response.header("etag"), tag);
            assert_eq!(
                response.header("cache-control"),
                first.header("cache-control")
            );
        }
        for other in ["\"v0\"", "\"\"", &tag[1..], "nonsense"] {
            assert_eq!(
                request_with(other.to_owned()).await.body,
                first.body,
                "{path} {other}"
            );
        }
    }
    let tag = api
        .reader()
        .get(&conversation)
        .await
        .header("etag")
        .to_owned();
    let command = json!({
        "agentId": resources.agent, "conversationId": resources.conversation, "message": "More",
    });
    api.chat(command).await;
    let request = api
        .reader()
        .request("GET", &conversation)
        .header("If-None-Match", &tag);
    assert_eq!(
        request.send().await.status,
        200,
        "a message changes the conversation"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_may_require_a_version() {
    let api = ApiServer::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let change = |method: &'static str, tag: &'static str, number: u32| {
        let path = match method {
            "PUT" => format!("{path}/config"),
            _ => path.clone(),
        };
        let request = api.writer().request(method, &path).header("If-Match", tag);
        let body = match method {
            "PATCH" => json!({"name": number.to_string()}),
            _ => json!({"greeting": number.to_string()}),
        };
        if method == "DELETE" {
            request.send()
        } else {
            request.json(&body).send()
        }
    };
    for method in ["PATCH", "PUT", "DELETE"] {
        for stale in [
            "\"v7\"",
            "\"other\"",
            "W/\"v1\"",
            "\"v7\", W/\"v1\", \"v8\"",
        ] {
            change(method, stale, 0)
                .await
                .problem(ProblemCode::VersionMismatch);
        }
        for malformed in ["v1", "\"v1", "\"v1\" \"v2\"", "\"v1\", *", ""] {
            let response = change(method, malformed, 0).await;
            response.problem(ProblemCode::InvalidHeader);
            assert_eq!(
                response.faults(),
                [("If-Match".to_owned(), "bad_format".to_owned())]
            );
        }
    }
    assert_eq!(change("PATCH", "\"v1\"", 1).await.header("etag"), "\"v2\"");
    assert_eq!(change("PUT", "\"v2\"", 2).await.header("etag"), "\"v3\"");
    assert_eq!(change("PATCH", "*", 3).await.header("etag"), "\"v4\"");
    change("PATCH", "\"v3\"", 4)
        .await
        .problem(ProblemCode::VersionMismatch);
    let listed = "\"v3\", \"v4\",\"v9\"";
    assert_eq!(change("PATCH", listed, 5).await.header("etag"), "\"v5\"");
    change("DELETE", listed, 0)
        .await
        .problem(ProblemCode::VersionMismatch);
    assert_eq!(change("DELETE", "\"v5\", \"v6\"", 0).await.status, 204);
    change("DELETE", "\"v5\"", 0)
        .await
        .problem(ProblemCode::AgentNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_returns_a_position_to_resume_events_from() {
    let api = ApiServer::start().await;
    let resources = TestResources::make(&api).await;
    // A read from memory may reflect an older log position than the store, never a newer one.
    for path in [
        format!("/api/agents/{}", resources.agent),
        format!("/api/agents/{}/config", resources.agent),
    ] {
        let response = api.reader().get(&path).await;
        let position: i64 = response.header("x-event-seq").parse().unwrap();
        assert!((1..=11).contains(&position), "{path}: {position}");
    }
    for path in [
        "/api/agents".to_owned(),
        format!("/api/conversations/{}", resources.conversation),
        "/api/conversations".to_owned(),
        format!("/api/conversations/{}/messages", resources.conversation),
        format!("/api/turns/{}", resources.turn),
    ] {
        let response = api.reader().get(&path).await;
        let position: i64 = response.header("x-event-seq").parse().unwrap();
        // Twice: agent.created, conversation.created, turn.started, turn.completed or turn.requires_action.
        // Once: message.created, note.created, user.updated.
        assert_eq!(position, 11, "{path}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsupported_accept_header_is_not_acceptable() {
    let api = ApiServer::start().await;
    let request_with = |accept: &'static str| {
        let request = api.reader().request("GET", "/api/agents");
        request.header("Accept", accept).send()
    };
    for fitting in [
        "application/json",
        "application/*",
        "*/*;q=0.1",
        "text/html, */*;q=0.8",
    ] {
        request_with(fitting).await.ok();
    }
    for other in ["text/html", "application/xml", "application/json;q=0"] {
        request_with(other)
            .await
            .problem(ProblemCode::NotAcceptable);
    }
    api.stop().await;
}
