//! Requests of which a part would be ignored, or be taken for something else, are rejected.

use contract::fixture;
use domain::{Agent, AgentConfig, ProblemCode, Scope};
use ports::{ReplyError, ToldCause};
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    operations::{self, TestResources},
    script::FixedEngine,
    sse_client::EventStream,
};

fn fault(place: &str, code: &str) -> (String, String) {
    (place.to_owned(), code.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_of_the_api_rejects_unknown_query_parameters() {
    let api = ApiServer::start().await;
    let resources = TestResources::make(&api).await;
    let mut checked = 0;
    for operation in operations::all() {
        if !operation.template.starts_with("/api/") {
            continue;
        }
        let path = operation.path(&resources);
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}colour=red");
        let request = |caller: &Caller| operation.request_at(&path, caller, &resources);
        let response = request(&api.writer()).send().await;
        response.problem(ProblemCode::ValidationFailed);
        let faults = response.faults();
        assert_eq!(
            faults,
            [fault("colour", "unknown_member")],
            "{}",
            operation.id
        );
        if operation.id != "open_socket" {
            // The credential is checked first.
            let response = request(&api.anonymous()).send().await;
            response.problem(ProblemCode::Unauthenticated);
        }
        checked += 1;
    }
    assert!(checked > 30, "{checked} operations");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_paths_ignore_query_parameters_of_their_clients() {
    let api = ApiServer::start().await;
    for path in [
        "/livez?_=1",
        "/v1/models?api-version=1",
        "/.well-known/jwks.json?v=1",
    ] {
        api.reader().get(path).await.ok();
    }
    let form = [("token", "nonsense")];
    let request = api.reader().request("POST", "/oauth2/revoke?audience=x");
    let response = request.form(&form).send().await;
    assert!(!response.text().contains("unknown"), "{}", response.text());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_placeholders_are_rejected() {
    let api = ApiServer::start().await;
    for member in ["instructions", "greeting"] {
        for text in [
            "Greet {{user.nmae}}.",
            "{{agent}}",
            "{{user.name}} \\{{a}} {{b_1}}",
            "{ {{{x}}} }",
        ] {
            let draft = json!({"name": "Ada", "config": {member: text}});
            let response = api.writer().post("/api/agents", draft).await;
            response.problem(ProblemCode::ValidationFailed);
            let pointer = format!("/config/{member}");
            assert_eq!(
                response.faults(),
                [fault(&pointer, "unknown_value")],
                "{text}"
            );
        }
        for text in [
            "\\{{user.nmae}}",
            "{{user.id}} {{user.name}} {{agent.name}}",
            "{{ user.nmae }}",
            "{{}}",
            "{{a-b}}",
            "{user.id}",
            "a {{b",
        ] {
            let draft = json!({"name": "Ada", "config": {member: text}});
            let made = api.writer().post("/api/agents", draft).await.created();
            assert_eq!(made["config"][member], text);
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_text_with_placeholders_stays_valid() {
    let api = ApiServer::start().await;
    let stored = "Greet {{user.nmae}}.";
    let agent = Agent {
        config: AgentConfig {
            instructions: Some(stored.to_owned()),
            ..AgentConfig::default()
        },
        ..fixture::agent(1)
    };
    let (agents, tenant, stamp) = (&api.storage.agents, fixture::tenant(), fixture::stamp(0));
    let inserted = agents.insert(&tenant, &agent, &stamp, None);
    inserted.await.expect("a store");
    let url = format!("/api/agents/{}", agent.id);
    let patch = json!({"name": "Grace", "config": {"greeting": "Hello!"}});
    let changed = api.writer().patch(&url, patch).await.ok();
    assert_eq!(changed["config"]["instructions"], stored);
    let config = json!({"instructions": stored, "timeoutMs": 1000});
    let config_path = format!("{url}/config");
    let put = api.writer().put(&config_path, config).await;
    assert_eq!(put.ok()["config"]["instructions"], stored);
    let patch = json!({"config": {"instructions": "{{user.nmae}}"}});
    let response = api.writer().patch(&url, patch).await;
    response.problem(ProblemCode::ValidationFailed);
    assert_eq!(
        response.faults(),
        [fault("/config/instructions", "unknown_value")]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_visible_characters_is_rejected() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for message in [
        " ",
        "\n\t",
        "\u{a0}\u{3000}",
        "\u{feff}",
        "\u{200b}\u{200d}",
    ] {
        for more in [json!({}), json!({"store": false}), json!({"stream": true})] {
            let mut command = more;
            command["agentId"] = agent.clone().into();
            command["message"] = message.into();
            let response = api.writer().post("/api/chat", command).await;
            response.problem(ProblemCode::ValidationFailed);
            assert_eq!(
                response.faults(),
                [fault("/message", "too_short")],
                "{message:?}"
            );
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_with_a_key_has_the_agent_and_the_user_of_its_original() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let command = json!({"agentId": agent, "message": "Hello", "userId": "ada"});
    let original = api.chat(command).await["conversationId"].clone();
    let fork = json!({"forkOf": {"conversationId": original}, "conversationKey": "copy"});
    let made = api.writer().post("/api/conversations", fork.clone()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    assert_eq!(
        (&made["agentId"], &made["userId"]),
        (&json!(agent), &json!("ada"))
    );
    assert_eq!(
        (&made["key"], &made["messageCount"]),
        (&json!("copy"), &json!(2))
    );
    for more in [
        json!({}),
        json!({"agentId": agent}),
        json!({"userId": "ada"}),
    ] {
        let mut again = fork.clone();
        again
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let found = api.writer().post("/api/conversations", again).await;
        assert_eq!(found.status, 200, "{}", found.text());
        assert_eq!(found.json()["id"], made["id"]);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_engine_is_answered_with_the_engines_and_the_setting_of_models() {
    let api = ApiServer::start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "llm"}});
    let response = api.writer().post("/api/agents", draft).await;
    let problem = response.problem(ProblemCode::UnknownEngine);
    let fault = problem["errors"][0]["detail"].as_str().unwrap();
    assert!(fault.ends_with("an engine of the server: rules"), "{fault}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("`LLM__BASE_URL`"), "{detail}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_who_may_configure_agents_are_told_why_the_model_server_refused() {
    const CAUSE: &str = "the upstream returned 401, code invalid_api_key";
    let refuses = FixedEngine(|| Err(ReplyError::Rejected(ToldCause(CAUSE.into()).into())));
    let secret = FixedEngine(|| Err(ReplyError::Rejected("at 10.0.0.7".into())));
    let builder = ApiServerBuilder::default().engine("refuses", refuses);
    let api = builder.engine("secret", secret).start().await;
    let chatting = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    for (engine, caller, is_told) in [
        ("refuses", api.writer(), true),
        ("refuses", chatting, false),
        ("secret", api.writer(), false),
    ] {
        let agent = id_of(
            &api.agent(json!({"name": "Ada", "config": {"engine": engine}}))
                .await,
        );
        let command = json!({"agentId": agent, "message": "Hello"});
        let response = caller.post("/api/chat", command.clone()).await;
        let problem = response.problem(ProblemCode::EngineFailed);
        let request = caller.request("POST", "/api/chat").json(&command);
        let mut stream = EventStream::open(request.header("Accept", "text/event-stream")).await;
        stream.next_of_type("turn.started").await;
        let failed = stream.next_of_type("turn.failed").await;
        let turn = problem["turnId"].as_str().unwrap();
        let stored = api.writer().get(&format!("/api/turns/{turn}")).await.ok();
        for (error, is_told) in [
            (&problem, is_told),
            (&failed["error"], is_told),
            (&stored["error"], false),
        ] {
            let detail = error["detail"].as_str().unwrap();
            assert_eq!(detail.contains(CAUSE), is_told, "{error}");
            assert!(!detail.contains("10.0.0.7"), "{error}");
            assert!(
                detail.ends_with("see the server's log for details."),
                "{error}"
            );
            assert!(error.get("cause").is_none(), "{error}");
        }
    }
    api.stop().await;
}
