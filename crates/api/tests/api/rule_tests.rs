//! `POST /api/rules/test`.

use domain::ProblemCode;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, id_of};

const PATH: &str = "/api/rules/test";

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_tested_without_an_agent() {
    let api = ApiServer::start().await;
    let body = json!({
        "message": "When do you open?",
        "userId": "grace",
        "rules": [
            {"keywords": ["price"], "reply": "It is free."},
            {"name": "hours", "pattern": "when .*open", "reply": "At 9, {{user.id}}."},
            {"pattern": "open", "reply": "Later."},
            {"pattern": "open", "reply": "Never.", "capability": "orders", "priority": 7},
        ],
    });
    let response = api.writer().post(PATH, body).await;
    assert_snapshot!(response.snapshot(), @r#"
    200 OK
    {
      "finishReason": "stop",
      "matchedRule": 1,
      "reply": "At 9, grace.",
      "rules": [
        {
          "index": 0,
          "keyword": "price",
          "outcome": "missing_keyword"
        },
        {
          "index": 1,
          "name": "hours",
          "outcome": "matched"
        },
        {
          "index": 2,
          "outcome": "later"
        },
        {
          "capability": "orders",
          "index": 3,
          "outcome": "missing_capability"
        }
      ],
      "source": "rule"
    }
    "#);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_of_an_agent_are_tested_as_it_replies() {
    let api = ApiServer::start().await;
    let agent = id_of(&api.agent(json!({
        "name": "Ada", "capabilities": ["orders"],
        "config": {
            "rules": [
                {"pattern": "order", "replies": ["Which one?", "{{agent.name}} asks again."], "capability": "orders"},
            ],
            "fallbackReply": "Sorry.",
        },
    })).await);
    for turn in 0..2 {
        let body = json!({"agentId": agent, "message": "My order", "turnNumber": turn});
        let tested = api.writer().post(PATH, body).await.ok();
        let reply = ["Which one?", "Ada asks again."][turn];
        assert_eq!(
            (&tested["reply"], &tested["matchedRule"]),
            (&json!(reply), &json!(0))
        );
    }
    let chat = json!({"agentId": agent, "message": "My order"});
    assert_eq!(api.chat(chat).await["message"], "Which one?");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsaved_members_replace_those_of_the_agent_and_nothing_is_stored() {
    let api = ApiServer::start().await;
    let agent = api.agent(json!({
        "name": "Ada", "config": {"rules": [{"pattern": "a", "reply": "saved"}], "fallbackReply": "Sorry."},
    })).await;
    let head = || async { api.writer().get("/api/events").await.ok()["headSeq"].take() };
    let before = head().await;
    for (changed, reply, source) in [
        (json!({}), "saved", "rule"),
        (
            json!({"rules": [{"pattern": "x", "reply": "unsaved"}]}),
            "Sorry.",
            "fallback_reply",
        ),
        (
            json!({"rules": [], "fallbackReply": "Hm."}),
            "Hm.",
            "fallback_reply",
        ),
        (
            json!({"rules": [{"pattern": "a", "reply": "able", "capability": "x"}], "capabilities": ["x"]}),
            "able",
            "rule",
        ),
    ] {
        let mut body = json!({"agentId": id_of(&agent), "message": "a"});
        let changed = changed.as_object().expect("members").clone();
        body.as_object_mut().expect("members").extend(changed);
        let tested = api.writer().post(PATH, body).await.ok();
        assert_eq!(
            (&tested["reply"], &tested["source"]),
            (&json!(reply), &json!(source))
        );
    }
    assert_eq!(head().await, before, "no event");
    let read = api
        .reader()
        .get(&format!("/api/agents/{}", id_of(&agent)))
        .await;
    assert_eq!(read.ok(), agent);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_tested_rules_have_pointers_into_the_body() {
    let api = ApiServer::start().await;
    let test = async |body: Value| api.writer().post(PATH, body).await;
    let broken = json!({"message": "a", "rules": [
        {"pattern": "a", "reply": "fine"}, {"pattern": "(", "reply": "b"}, {"pattern": "c", "reply": "{{x}}"},
    ]});
    let response = test(broken).await;
    response.problem(ProblemCode::InvalidRule);
    let pointers: Vec<String> = response.faults().into_iter().map(|fault| fault.0).collect();
    assert_eq!(pointers, ["/rules/1/pattern", "/rules/2/reply"]);
    for (body, pointer, code) in [
        (json!({"message": "a"}), "/agentId", "required"),
        (json!({"rules": []}), "/message", "required"),
        (json!({"rules": [], "message": ""}), "/message", "too_short"),
        (
            json!({"rules": [{"pattern": "a"}], "message": "a"}),
            "/rules/0/reply",
            "required",
        ),
        (
            json!({"rules": [], "message": "a", "fallbackReply": ""}),
            "/fallbackReply",
            "too_short",
        ),
        (
            json!({"rules": [], "message": "a", "turnNumber": -1}),
            "/turnNumber",
            "too_small",
        ),
        (
            json!({"rules": [], "message": "a", "colour": 1}),
            "/colour",
            "unknown_member",
        ),
    ] {
        let response = test(body.clone()).await;
        response.problem(ProblemCode::ValidationFailed);
        assert_eq!(
            response.faults(),
            [(pointer.to_owned(), code.to_owned())],
            "{body}"
        );
    }
    let missing = test(json!({"agentId": "nonsense", "message": "a"})).await;
    missing.problem(ProblemCode::AgentNotFound);
    api.stop().await;
}
