//! `/api/agents/{id}/config`.

use domain::ProblemCode;
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    harness::{Api, Plan, id_of},
    script::scripted,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_read_as_it_was_sent() {
    let api = Api::start().await;
    let config = json!({"greeting": "Hi!", "llm": {"topP": 0.25}, "fallbacks": []});
    let agent = api.agent(json!({"name": "Ada", "config": config})).await;
    let answer = api
        .reader()
        .get(&format!("/api/agents/{}/config", id_of(&agent)))
        .await;
    assert_eq!(answer.ok(), config);
    assert_eq!(answer.header("etag"), "\"v1\"");
    assert_eq!(answer.header("cache-control"), "private, no-cache");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_replaced_as_a_whole() {
    let api = Api::start().await;
    let draft = json!({
        "name": "Ada", "personality": "Brief.", "capabilities": ["orders"],
        "config": {"greeting": "Hi!", "timeoutMs": 1000},
    });
    let path = format!("/api/agents/{}/config", id_of(&api.agent(draft).await));
    let answer = api
        .writer()
        .put(&path, json!({"fallbackReply": "Hm."}))
        .await;
    assert_snapshot!(answer.shown(), @r#"
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
    assert_eq!(answer.header("etag"), "\"v2\"");
    let emptied = api.writer().put(&path, json!({})).await;
    assert_eq!(emptied.ok()["config"], json!({}));
    assert_eq!(api.reader().get(&path).await.ok(), json!({}));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_else_an_agent_has_may_go_with_its_configuration() {
    let api = Api::start().await;
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
async fn faults_point_into_the_body_that_was_sent() {
    let api = Api::start().await;
    let path = format!("/api/agents/{}/config", api.agent_id().await);
    let cases = [
        (
            json!({"engine": "gpt", "fallbacks": ["rules", "echo"]}),
            ProblemCode::UnknownEngine,
            [
                ("/engine", "unknown_value"),
                ("/fallbacks/1", "unknown_value"),
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
        let answer = api.writer().put(&path, body).await;
        answer.problem(code);
        let faults = answer.faults();
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

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_engines_have_gone_can_be_changed_and_only_names_that_are_new_are_judged() {
    let with_oracles = Plan::default().engine("oracle", scripted().0);
    let api = with_oracles.engine("seer", scripted().0).start().await;
    let config = json!({"engine": "oracle", "fallbacks": ["seer", "rules"]});
    let agent = api.agent(json!({"name": "Ada", "config": config})).await;
    let alone = json!({"name": "Bob", "config": {"engine": "oracle"}});
    let alone = id_of(&api.agent(alone).await);
    let path = format!("/api/agents/{}", id_of(&agent));
    let api = api.restart(Plan::default()).await;

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
    ] {
        let answer = api.writer().patch(&path, json!({"config": config})).await;
        answer.problem(ProblemCode::UnknownEngine);
        let pointers: Vec<_> = answer.faults().into_iter().map(|(at, _)| at).collect();
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
    let answer = api.writer().post("/api/chat", command).await;
    answer.problem(ProblemCode::EngineFailed);
    let back = api
        .writer()
        .patch(&path, json!({"config": {"engine": "rules"}}))
        .await;
    assert_eq!(back.ok()["config"]["engine"], "rules");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_does_not_compile_is_refused_with_the_reason() {
    let api = Api::start().await;
    let path = format!("/api/agents/{}/config", api.agent_id().await);
    let rules = json!({"rules": [{"pattern": "order (\\d+", "reply": "Which?"}]});
    assert_snapshot!(api.writer().put(&path, rules).await.shown(), @r#"
    422 Unprocessable Entity
    {
      "code": "invalid_rule",
      "detail": "1 fault, see `errors`",
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
      "title": "A rule does not work.",
      "type": "/problems/invalid_rule"
    }
    "#);
    api.stop().await;
}
