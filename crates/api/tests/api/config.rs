//! `/api/agents/{id}/config`.

use domain::ProblemCode;
use insta::assert_snapshot;
use serde_json::json;
use sqlx::ConnectOptions as _;

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    postgres::Database,
    script::scripted,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_returned_as_sent() {
    let api = ApiServer::start().await;
    let config = json!({"greeting": "Hi!", "llm": {"topP": 0.25}, "fallbacks": []});
    let agent = api.agent(json!({"name": "Ada", "config": config})).await;
    let response = api
        .reader()
        .get(&format!("/api/agents/{}/config", id_of(&agent)))
        .await;
    assert_eq!(response.ok(), config);
    assert_eq!(response.header("etag"), "\"v1\"");
    assert_eq!(response.header("cache-control"), "private, no-cache");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_replaced_as_a_whole() {
    let api = ApiServer::start().await;
    let draft = json!({
        "name": "Ada", "personality": "Brief.", "capabilities": ["orders"],
        "config": {"greeting": "Hi!", "timeoutMs": 1000},
    });
    let path = format!("/api/agents/{}/config", id_of(&api.agent(draft).await));
    let response = api
        .writer()
        .put(&path, json!({"fallbackReply": "Hm."}))
        .await;
    assert_snapshot!(response.snapshot(), @r#"
    200 OK
    {
      "capabilities": [
        "orders"
      ],
      "config": {
        "fallbackReply": "Hm."
      },
      "createdAt": "[time]",
      "id": "[id]",
      "name": "Ada",
      "personality": "Brief.",
      "updatedAt": "[time]",
      "version": 2
    }
    "#);
    assert_eq!(response.header("etag"), "\"v2\"");
    let emptied = api.writer().put(&path, json!({})).await;
    assert_eq!(emptied.ok()["config"], json!({}));
    assert_eq!(api.reader().get(&path).await.ok(), json!({}));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_members_may_change_together_with_the_configuration() {
    let api = ApiServer::start().await;
    let path = format!("/api/agents/{}/config", api.agent_id().await);
    let body = json!({"name": "Bob", "capabilities": ["returns"], "greeting": "Yo."});
    let agent = api.writer().put(&path, body).await.ok();
    assert_eq!(agent["name"], "Bob");
    assert_eq!(agent["capabilities"], json!(["returns"]));
    assert_eq!(agent["config"], json!({"greeting": "Yo."}));
    assert_eq!(agent["version"], 2);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_point_into_the_request_body() {
    let api = ApiServer::start().await;
    let path = format!("/api/agents/{}/config", api.agent_id().await);
    let cases = [
        (
            json!({"engine": "gpt", "fallbacks": ["rules", "echo", {"engine": "echo", "model": "m"}]}),
            ProblemCode::UnknownEngine,
            [
                ("/engine", "unknown_value"),
                ("/fallbacks/1", "unknown_value"),
                ("/fallbacks/2/engine", "unknown_value"),
            ]
            .as_slice(),
        ),
        (
            json!({"fallbacks": [{"engine": "rules"}, {"engine": "rules", "model": "m", "x": 1}]}),
            ProblemCode::ValidationFailed,
            [
                ("/fallbacks/0/model", "required"),
                ("/fallbacks/1/x", "unknown_member"),
            ]
            .as_slice(),
        ),
        (
            json!({"rules": [
                {"pattern": "a", "reply": "b"},
                {"pattern": "(", "reply": "b"},
                {"keywords": ["c"], "replies": ["d", "{{mood}}"]},
            ]}),
            ProblemCode::InvalidRule,
            [
                ("/rules/1/pattern", "bad_format"),
                ("/rules/2/replies/1", "unknown_value"),
            ]
            .as_slice(),
        ),
        (
            json!({"name": "", "greting": "Hi!", "rules": [{"pattern": "a", "keywords": ["b"]}]}),
            ProblemCode::ValidationFailed,
            [
                ("/greting", "unknown_member"),
                ("/name", "too_short"),
                ("/rules/0/keywords", "not_combinable"),
                ("/rules/0/reply", "required"),
            ]
            .as_slice(),
        ),
    ];
    for (body, code, expected) in cases {
        let response = api.writer().put(&path, body).await;
        response.problem(code);
        let faults = response.faults();
        let faults: Vec<_> = faults.iter().map(|(at, code)| (&**at, &**code)).collect();
        assert_eq!(faults, expected);
    }
    assert_eq!(
        api.reader().get(&path).await.ok(),
        json!({}),
        "nothing was kept"
    );
    api.stop().await;
}

/// An older process could not read such an agent.
#[tokio::test(flavor = "multi_thread")]
async fn no_fallback_names_a_model_beside_a_process_of_an_earlier_version() {
    let database = Database::make().await;
    let on_postgres = || ApiServerBuilder::default().setting("DATABASE_URL", &database.url());
    let api = on_postgres().start().await;
    let mut connection = database.options().connect().await.expect("it answers");
    let older = "insert into nodes (id, level, lease_until) \
        values (gen_random_uuid(), $1, now() + interval '1 hour')";
    let inserted = sqlx::query(older)
        .bind(domain::LEVEL - 1)
        .execute(&mut connection);
    inserted.await.expect("the statement is valid");
    let api = api.restart(on_postgres()).await;
    let fallback = json!({"engine": "rules", "model": "m"});
    let draft = json!({"name": "Ada", "config": {"fallbacks": [fallback]}});
    let refused = api.writer().post("/api/agents", draft).await;
    refused.problem(ProblemCode::Upgrading);
    let draft = json!({"name": "Ada", "config": {"fallbacks": ["rules"]}});
    let path = format!("/api/agents/{}", id_of(&api.agent(draft).await));
    let change = json!({"config": {"fallbacks": [fallback]}});
    let refused = api.writer().patch(&path, change).await;
    refused.problem(ProblemCode::Upgrading);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_requests_are_judged_by_the_agents_own_engine() {
    let api = ApiServerBuilder::default()
        .setting("LLM__PROVIDERS__PICKY__BASE_URL", "http://127.0.0.1:9/v1")
        .setting("LLM__PROVIDERS__PICKY__MODEL", "small")
        .setting("LLM__PROVIDERS__PICKY__EXTRA_BODY", "top_k, service_tier")
        .start()
        .await;
    let llm = json!({"extraBody": {"top_k": 3, "n": 2}});
    let path = format!("/api/agents/{}", api.agent_id().await);
    let own = json!({"config": {"engine": "picky", "llm": llm}});
    let refused = api.writer().patch(&path, own.clone()).await;
    refused.problem(ProblemCode::ValidationFailed);
    let expected = (
        "/config/llm/extraBody/n".to_owned(),
        "unknown_member".to_owned(),
    );
    assert_eq!(refused.faults(), std::slice::from_ref(&expected));
    // The rules ignore the members, and a change of the engine shows the fault.
    let of_rules = json!({"config": {"engine": "rules", "llm": llm}});
    assert_eq!(
        api.writer().patch(&path, of_rules).await.ok()["config"]["llm"],
        llm
    );
    let moved = api
        .writer()
        .patch(&path, json!({"config": {"engine": "picky"}}))
        .await;
    assert_eq!(moved.faults(), [expected]);
    let fewer = json!({"engine": "picky", "llm": {"extraBody": {"top_k": 3}}});
    let replaced = api
        .writer()
        .put(&format!("{path}/config"), fewer.clone())
        .await;
    assert_eq!(replaced.ok()["config"], fewer);
    // A member that the operator permits no longer stays, and does not hinder other changes.
    let api = api
        .restart(
            ApiServerBuilder::default()
                .setting("LLM__PROVIDERS__PICKY__BASE_URL", "http://127.0.0.1:9/v1")
                .setting("LLM__PROVIDERS__PICKY__MODEL", "small")
                .setting("LLM__PROVIDERS__PICKY__EXTRA_BODY", "none"),
        )
        .await;
    let renamed = api.writer().patch(&path, json!({"name": "Eve"})).await;
    assert_eq!(renamed.ok()["config"], fewer);
    let changed = json!({"config": {"llm": {"temperature": 1}}});
    let changed = api.writer().patch(&path, changed).await;
    let expected = "/config/llm/extraBody/top_k".to_owned();
    assert_eq!(changed.faults(), [(expected, "unknown_member".to_owned())]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_removed_engines_can_be_changed_without_adding_unknown_ones() {
    let with_oracles = ApiServerBuilder::default().engine("oracle", scripted().0);
    let api = with_oracles.engine("seer", scripted().0).start().await;
    let config = json!({
        "engine": "oracle", "fallbacks": ["seer", "rules"], "titles": {"engine": "seer"},
    });
    let agent = api.agent(json!({"name": "Ada", "config": config})).await;
    let alone = json!({"name": "Bob", "config": {"engine": "oracle"}});
    let alone = id_of(&api.agent(alone).await);
    let path = format!("/api/agents/{}", id_of(&agent));
    let api = api.restart(ApiServerBuilder::default()).await;

    let renamed = api.writer().patch(&path, json!({"name": "Eve"})).await.ok();
    assert_eq!(
        (&renamed["name"], &renamed["config"]),
        (&json!("Eve"), &config)
    );
    let replacement =
        json!({"engine": "oracle", "fallbacks": ["rules", "seer"], "greeting": "Hi!"});
    let replaced = api
        .writer()
        .put(&format!("{path}/config"), replacement.clone())
        .await;
    assert_eq!(replaced.ok()["config"], replacement);
    for (config, expected) in [
        (json!({"engine": "seer"}), &["/config/engine"][..]),
        (
            json!({"fallbacks": ["seer", "oracle"]}),
            &["/config/fallbacks/1"],
        ),
        (
            json!({"titles": {"engine": "seer"}}),
            &["/config/titles/engine"],
        ),
    ] {
        let response = api.writer().patch(&path, json!({"config": config})).await;
        response.problem(ProblemCode::UnknownEngine);
        let pointers: Vec<_> = response.faults().into_iter().map(|(at, _)| at).collect();
        assert_eq!(pointers, expected);
    }
    let draft = json!({"name": "Ian", "config": config});
    let anew = api.writer().post("/api/agents", draft).await;
    anew.problem(ProblemCode::UnknownEngine);

    let reply = api
        .chat(json!({"agentId": agent["id"], "message": "Hello"}))
        .await;
    assert_eq!(
        (&reply["engine"], &reply["degraded"]),
        (&json!("rules"), &json!(true))
    );
    let command = json!({"agentId": alone, "message": "Hello"});
    let response = api.writer().post("/api/chat", command).await;
    response.problem(ProblemCode::EngineFailed);
    let back = api
        .writer()
        .patch(&path, json!({"config": {"engine": "rules"}}))
        .await;
    assert_eq!(back.ok()["config"]["engine"], "rules");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retention_that_is_no_time_is_explained() {
    let api = ApiServer::start().await;
    let path = format!("/api/agents/{}/config", api.agent_id().await);
    for retention in ["30", "30 days", "1s", "9999d"] {
        let config = json!({"retention": retention});
        let response = api.writer().put(&path, config).await;
        let problem = response.problem(ProblemCode::ValidationFailed);
        let detail = "must be a time from 1m to 3650d, such as 30d or 12h";
        let fault = json!({"pointer": "/retention", "code": "bad_format", "detail": detail});
        assert_eq!(problem["errors"], json!([fault]), "{retention}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_rule_is_rejected_with_the_reason() {
    let api = ApiServer::start().await;
    let path = format!("/api/agents/{}/config", api.agent_id().await);
    let rules = json!({"rules": [{"pattern": "order (\\d+", "reply": "Which?"}]});
    assert_snapshot!(api.writer().put(&path, rules).await.snapshot(), @r#"
    422 Unprocessable Entity
    {
      "code": "invalid_rule",
      "detail": "The request has 1 fault; see `errors`.",
      "errors": [
        {
          "code": "bad_format",
          "detail": "unclosed group",
          "pointer": "/rules/0/pattern"
        }
      ],
      "instance": "/api/agents/[id]/config",
      "requestId": "[id]",
      "retryable": false,
      "status": 422,
      "title": "A rule is invalid.",
      "type": "/problems/invalid_rule"
    }
    "#);
    api.stop().await;
}
