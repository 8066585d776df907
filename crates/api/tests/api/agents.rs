//! `/api/agents`: creating, reading and listing agents.

use domain::ProblemCode;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_needs_only_a_name() {
    let api = ApiServer::start().await;
    let response = api
        .writer()
        .post("/api/agents", json!({"name": "Ada"}))
        .await;
    assert_snapshot!(response.snapshot(), @r#"
    201 Created
    {
      "capabilities": [],
      "config": {},
      "createdAt": "[time]",
      "id": "[id]",
      "name": "Ada",
      "personality": "",
      "updatedAt": "[time]",
      "version": 1
    }
    "#);
    let id = id_of(&response.json());
    assert_eq!(response.header("location"), format!("/api/agents/{id}"));
    assert_eq!(response.header("etag"), "\"v1\"");
    let read = api.reader().get(response.header("location")).await;
    assert_eq!(read.ok(), response.json());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_stored_as_sent() {
    let api = ApiServer::start().await;
    let draft = json!({
        "name": "Zoë 🦊",
        "personality": "Says \"hm\".\nOften.",
        "capabilities": [" orders ", "返品"],
        "config": {
            "greeting": "Grüß dich!",
            "rules": [{"keywords": ["order"], "reply": "Which one?", "priority": -3}],
            "history": {"maxMessages": 0},
            "llm": {"temperature": 2.0_f64.next_down(), "stop": ["END"]},
            "timeoutMs": 60000.0,
            "metadata": {"team": "blue"},
        },
    });
    let made = api.agent(draft.clone()).await;
    assert_eq!(made["name"], draft["name"]);
    assert_eq!(made["personality"], draft["personality"]);
    assert_eq!(made["capabilities"], json!(["orders", "返品"]), "trimmed");
    let mut config = draft["config"].clone();
    config["timeoutMs"] = json!(60_000);
    assert_eq!(made["config"], config);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_errors_of_a_draft_are_reported_at_once() {
    let api = ApiServer::start().await;
    let draft = json!({
        "name": "",
        "personality": 7,
        "capabilities": ["a", "b", "a"],
        "config": {"timeoutMs": 99, "rules": [{"pattern": "a", "reply": "b", "priorty": 1}]},
        "colour": "red",
    });
    let response = api.writer().post("/api/agents", draft).await;
    response.problem(ProblemCode::ValidationFailed);
    let fault = |pointer: &str, code: &str| (pointer.to_owned(), code.to_owned());
    assert_eq!(
        response.faults(),
        [
            fault("/capabilities/2", "duplicate_item"),
            fault("/colour", "unknown_member"),
            fault("/config/rules/0/priorty", "unknown_member"),
            fault("/config/timeoutMs", "too_small"),
            fault("/name", "too_short"),
            fault("/personality", "wrong_type"),
        ]
    );
    // Domain errors are reported after schema errors.
    let draft = json!({"name": "Ada", "capabilities": ["a", " a "]});
    let response = api.writer().post("/api/agents", draft).await;
    assert_eq!(
        response.faults(),
        [fault("/capabilities/1", "duplicate_item")]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_are_counted_in_characters() {
    let api = ApiServer::start().await;
    let named =
        |count: usize| json!({"name": "🦊".repeat(count), "personality": "é".repeat(8_000)});
    api.agent(named(128)).await;
    let response = api.writer().post("/api/agents", named(129)).await;
    assert_eq!(
        response.faults(),
        [("/name".to_owned(), "too_long".to_owned())]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_takes_effect_once_and_only_for_its_command() {
    let api = ApiServer::start().await;
    let create = |name: &str, key: &str| {
        let request = api.writer().request("POST", "/api/agents");
        request
            .header("Idempotency-Key", key)
            .json(&json!({"name": name}))
    };
    let first = create("Ada", "k-1").send().await.created();
    let again = create("Ada", "\"k-1\"").send().await;
    assert_eq!(again.created(), first);
    let other = create("Bob", "k-1").send().await;
    other.problem(ProblemCode::IdempotencyKeyReused);
    let listed = api.reader().get("/api/agents").await.ok();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    create("Ada", "k-2").send().await.created();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_shows_each_agent_once_newest_first() {
    let api = ApiServer::start().await;
    let mut made = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        made.push(id_of(&api.agent(json!({"name": name})).await));
    }
    made.reverse();
    assert_eq!(all_ids(&api.reader(), "/api/agents?limit=2").await, made);
    assert_eq!(all_ids(&api.reader(), "/api/agents").await, made);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_found_by_name_prefix_or_capability() {
    let api = ApiServer::start().await;
    let named = |name: &'static str, capability: &'static str| {
        api.agent(json!({"name": name, "capabilities": [capability]}))
    };
    let zoe = id_of(&named("Zoë", "orders").await);
    let ada = id_of(&named("ADA", "returns").await);
    let adam = id_of(&named("adam", "orders").await);
    let reader = api.reader();
    let found = |query: &'static str| {
        let reader = reader.clone();
        async move { all_ids(&reader, &format!("/api/agents?limit=1&{query}")).await }
    };
    assert_eq!(found("name=ad").await, [ada.clone(), adam.clone()]);
    assert_eq!(found("name=ZO%C3%8B").await, std::slice::from_ref(&zoe));
    assert_eq!(found("name=x").await, Vec::<String>::new());
    assert_eq!(found("capability=orders").await, [adam, zoe]);
    assert_eq!(found("capability=order").await, Vec::<String>::new());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_errors_of_a_query_are_reported_at_once() {
    let api = ApiServer::start().await;
    let path = "/api/agents?limit=101&name=a&capability=b&colour=red&name=c";
    assert_snapshot!(api.reader().get(path).await.snapshot(), @r#"
    422 Unprocessable Entity
    {
      "code": "validation_failed",
      "detail": "The request has 4 faults; see `errors`.",
      "errors": [
        {
          "code": "unknown_member",
          "detail": "unknown parameter",
          "parameter": "colour"
        },
        {
          "code": "duplicate_member",
          "detail": "must be sent at most once",
          "parameter": "name"
        },
        {
          "code": "too_large",
          "detail": "at most 100",
          "parameter": "limit"
        },
        {
          "code": "not_combinable",
          "detail": "cannot be combined with 'name'",
          "parameter": "capability"
        }
      ],
      "instance": "/api/agents",
      "requestId": "[id]",
      "retryable": false,
      "status": 422,
      "title": "The request is well-formed but not valid.",
      "type": "/problems/validation_failed"
    }
    "#);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_belongs_to_its_listing_and_tenant() {
    let api = ApiServer::start().await;
    for name in ["a", "b"] {
        api.agent(json!({"name": name})).await;
    }
    let page = api.reader().get("/api/agents?limit=1").await.ok();
    let cursor = page["nextCursor"].as_str().expect("a second page");
    let elsewhere = [
        (api.reader(), format!("/api/agents?cursor={cursor}&name=a")),
        (api.reader(), format!("/api/conversations?cursor={cursor}")),
        (api.other_tenant(), format!("/api/agents?cursor={cursor}")),
        (api.reader(), format!("/api/agents?cursor={cursor}x")),
        (api.reader(), "/api/agents?cursor=".to_owned()),
    ];
    for (caller, path) in elsewhere {
        caller.get(&path).await.problem(ProblemCode::InvalidCursor);
    }
    api.stop().await;
}

/// The ids of all pages, by `nextCursor`; `Link` must lead to the same pages.
pub(crate) async fn all_ids(caller: &Caller, first: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut path = first.to_owned();
    loop {
        let response = caller.get(&path).await;
        let page = response.ok();
        ids.extend(page["data"].as_array().expect("a page").iter().map(id_of));
        let Value::String(cursor) = &page["nextCursor"] else {
            assert_eq!(
                (&page["hasMore"], response.has("link")),
                (&json!(false), false)
            );
            return ids;
        };
        assert_eq!(page["hasMore"], true);
        let separator = if first.contains('?') { '&' } else { '?' };
        path = format!("{first}{separator}cursor={cursor}");
        let link = response.header("link");
        assert_eq!(link, format!("<{path}>; rel=\"next\""));
    }
}
