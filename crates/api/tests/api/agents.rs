//! `/api/agents`.

use domain::ProblemCode;
use futures::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{Api, Caller, id_of};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_made_of_a_name_alone() {
    let api = Api::start().await;
    let answer = api
        .writer()
        .post("/api/agents", json!({"name": "Ada"}))
        .await;
    assert_snapshot!(answer.shown(), @r#"
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
    let id = id_of(&answer.json());
    assert_eq!(answer.header("location"), format!("/api/agents/{id}"));
    assert_eq!(answer.header("etag"), "\"v1\"");
    let read = api.reader().get(answer.header("location")).await;
    assert_eq!(read.ok(), answer.json());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_kept_as_it_was_sent() {
    let api = Api::start().await;
    let draft = json!({
        "name": "Zoë 🦊",
        "personality": "Says \"hm\".\nOften.",
        "capabilities": [" orders ", "返品"],
        "config": {
            "greeting": "Grüß dich!",
            "rules": [{"keywords": ["order"], "reply": "Which one?", "priority": -3}],
            "history": {"maxMessages": 0},
            "llm": {"temperature": 0.5, "stop": ["END"]},
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
async fn every_fault_of_a_draft_is_told_at_once() {
    let api = Api::start().await;
    let draft = json!({
        "name": "",
        "personality": 7,
        "capabilities": ["a", "b", "a"],
        "config": {"timeoutMs": 99, "rules": [{"pattern": "a", "reply": "b", "priorty": 1}]},
        "colour": "red",
    });
    let answer = api.writer().post("/api/agents", draft).await;
    answer.problem(ProblemCode::ValidationFailed);
    let fault = |place: &str, code: &str| (place.to_owned(), code.to_owned());
    assert_eq!(
        answer.faults(),
        [
            fault("/capabilities/2", "duplicate_item"),
            fault("/colour", "unknown_member"),
            fault("/config/rules/0/priorty", "unknown_member"),
            fault("/config/timeoutMs", "too_small"),
            fault("/name", "too_short"),
            fault("/personality", "wrong_type"),
        ]
    );
    // What only the domain knows comes after the form is right.
    let draft = json!({"name": "Ada", "capabilities": ["a", " a "]});
    let answer = api.writer().post("/api/agents", draft).await;
    assert_eq!(
        answer.faults(),
        [fault("/capabilities/1", "duplicate_item")]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_are_counted_in_characters() {
    let api = Api::start().await;
    let named =
        |count: usize| json!({"name": "🦊".repeat(count), "personality": "é".repeat(8_000)});
    api.agent(named(128)).await;
    let answer = api.writer().post("/api/agents", named(129)).await;
    assert_eq!(
        answer.faults(),
        [("/name".to_owned(), "too_long".to_owned())]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_takes_effect_once_and_only_for_its_command() {
    let api = Api::start().await;
    let create = |name: &str, key: &str| {
        let request = api.writer().request("POST", "/api/agents");
        request
            .header("Idempotency-Key", key)
            .json(&json!({"name": name}))
    };
    create("Ada", "k-1").send().await.made();
    let again = create("Ada", "\"k-1\"").send().await;
    again.problem(ProblemCode::IdempotencyKeyInUse);
    let other = create("Bob", "k-1").send().await;
    other.problem(ProblemCode::IdempotencyKeyReused);
    let listed = api.reader().get("/api/agents").await.ok();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    create("Ada", "k-2").send().await.made();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_shows_each_agent_once_newest_first() {
    let api = Api::start().await;
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
async fn agents_are_found_by_the_beginning_of_their_name_or_by_a_capability() {
    let api = Api::start().await;
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
    assert_eq!(found("name=ZO%C3%8B").await, [zoe.clone()]);
    assert_eq!(found("name=x").await, Vec::<String>::new());
    assert_eq!(found("capability=orders").await, [adam, zoe]);
    assert_eq!(found("capability=order").await, Vec::<String>::new());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_query_is_told_at_once() {
    let api = Api::start().await;
    let path = "/api/agents?limit=101&name=a&capability=b&colour=red&name=c";
    assert_snapshot!(api.reader().get(path).await.shown(), @r#"
    422 Unprocessable Entity
    {
      "code": "validation_failed",
      "detail": "4 faults, see `errors`",
      "errors": [
        {
          "code": "unknown_member",
          "detail": "not known here",
          "parameter": "colour"
        },
        {
          "code": "duplicate_member",
          "detail": "sent twice",
          "parameter": "name"
        },
        {
          "code": "too_large",
          "detail": "at most 100",
          "parameter": "limit"
        },
        {
          "code": "not_combinable",
          "detail": "not together with 'name'",
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
    let api = Api::start().await;
    for name in ["a", "b"] {
        api.agent(json!({"name": name})).await;
    }
    let page = api.reader().get("/api/agents?limit=1").await.ok();
    let cursor = page["nextCursor"].as_str().expect("a second page");
    let elsewhere = [
        (api.reader(), format!("/api/agents?cursor={cursor}&name=a")),
        (api.reader(), format!("/api/conversations?cursor={cursor}")),
        (api.stranger(), format!("/api/agents?cursor={cursor}")),
        (api.reader(), format!("/api/agents?cursor={cursor}x")),
        (api.reader(), "/api/agents?cursor=".to_owned()),
    ];
    for (caller, path) in elsewhere {
        caller.get(&path).await.problem(ProblemCode::InvalidCursor);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_patch_changes_what_it_names_and_removes_what_is_null() {
    let api = Api::start().await;
    let draft = json!({
        "name": "Ada", "personality": "Brief.", "capabilities": ["orders"],
        "config": {"greeting": "Hi!", "fallbackReply": "Hm.", "metadata": {"a": "1", "b": "2"}},
    });
    let id = id_of(&api.agent(draft).await);
    let path = format!("/api/agents/{id}");
    let patch = json!({
        "personality": null,
        "config": {"greeting": null, "metadata": {"a": null, "c": "3"}},
    });
    let request = api.writer().request("PATCH", &path).body(patch.to_string());
    let answer = request.send().await;
    assert_snapshot!(answer.shown(), @r#"
    200 OK
    {
      "capabilities": [
        "orders"
      ],
      "config": {
        "fallbackReply": "Hm.",
        "metadata": {
          "b": "2",
          "c": "3"
        }
      },
      "createdAt": "[time]",
      "id": "[id]",
      "name": "Ada",
      "personality": "",
      "updatedAt": "[time]",
      "version": 2
    }
    "#);
    assert_eq!(answer.header("etag"), "\"v2\"");
    assert_eq!(api.reader().get(&path).await.ok(), answer.json());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_may_be_called_a_merge_patch_and_nothing_else() {
    let api = Api::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let sent_as = |media_type: &'static str| {
        let request = api.writer().request("PATCH", &path);
        let patch = json!({"name": media_type}).to_string();
        request
            .header("Content-Type", media_type)
            .raw_body(patch)
            .send()
    };
    assert_eq!(
        sent_as("application/merge-patch+json").await.ok()["version"],
        2
    );
    assert_eq!(
        sent_as("application/json; charset=utf-8").await.ok()["version"],
        3
    );
    let answer = sent_as("application/json-patch+json").await;
    answer.problem(ProblemCode::UnsupportedMediaType);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_must_be_there_cannot_be_removed() {
    let api = Api::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let answer = api.writer().patch(&path, json!({"name": null})).await;
    answer.problem(ProblemCode::ValidationFailed);
    assert_eq!(answer.faults()[0].0, "/name");
    let answer = api.writer().patch(&path, json!({"id": "x"})).await;
    assert_eq!(
        answer.faults(),
        [("/id".to_owned(), "unknown_member".to_owned())]
    );
    assert_eq!(api.reader().get(&path).await.ok()["version"], 1);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_effect_is_none() {
    let api = Api::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let before = api.reader().get(&path).await;
    let same = api.writer().patch(&path, json!({"name": "Ada"})).await;
    assert_eq!(same.ok(), before.json());
    assert_eq!(same.header("etag"), "\"v1\"");
    let events = api.reader().get("/api/events?since=0").await.ok();
    assert_eq!(events["data"].as_array().map(Vec::len), Some(1), "{events}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_lost_among_many() {
    let api = Api::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let writer = api.writer();
    let changes = (0..12).map(|number| {
        let patch = json!({"config": {"metadata": {format!("n{number}"): "x"}}});
        writer.patch(&path, patch)
    });
    for answer in join_all(changes).await {
        answer.ok();
    }
    let agent = api.reader().get(&path).await.ok();
    assert_eq!(agent["version"], 13);
    assert_eq!(
        agent["config"]["metadata"]
            .as_object()
            .map(serde_json::Map::len),
        Some(12)
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_its_agent_all_is_gone_but_the_turns() {
    let api = Api::start().await;
    let id = api.agent_id().await;
    let reply = api.chat(json!({"agentId": id, "message": "Hello"})).await;
    let conversation = reply["conversationId"].as_str().unwrap();
    let turn = reply["turnId"].as_str().unwrap();
    let writer = api.writer();
    let answer = writer.delete(&format!("/api/agents/{id}")).await;
    assert_eq!((answer.status, answer.body.len()), (204, 0));

    let agent = format!("/api/agents/{id}");
    writer.get(&agent).await.problem(ProblemCode::AgentNotFound);
    writer
        .delete(&agent)
        .await
        .problem(ProblemCode::AgentNotFound);
    let patch = writer.patch(&agent, json!({"name": "Bob"})).await;
    patch.problem(ProblemCode::AgentNotFound);
    let below = format!("/api/conversations/{conversation}");
    writer
        .get(&below)
        .await
        .problem(ProblemCode::ConversationNotFound);
    let messages = writer.get(&format!("{below}/messages")).await;
    messages.problem(ProblemCode::ConversationNotFound);
    let chat = json!({"agentId": id, "conversationId": conversation, "message": "Still there?"});
    let chat = writer.post("/api/chat", chat).await;
    chat.problem(ProblemCode::ConversationNotFound);
    let chat = writer
        .post("/api/chat", json!({"agentId": id, "message": "Hello?"}))
        .await;
    chat.problem(ProblemCode::AgentNotFound);
    for listing in ["/api/agents", "/api/conversations"] {
        assert_eq!(writer.get(listing).await.ok()["data"], json!([]));
    }
    assert_eq!(
        writer.get(&format!("/api/turns/{turn}")).await.ok()["status"],
        "completed"
    );
    api.stop().await;
}

/// The ids of all pages, by `nextCursor`; `Link` must lead the same way.
pub(crate) async fn all_ids(caller: &Caller, first: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut path = first.to_owned();
    loop {
        let answer = caller.get(&path).await;
        let page = answer.ok();
        ids.extend(page["data"].as_array().expect("a page").iter().map(id_of));
        let Value::String(cursor) = &page["nextCursor"] else {
            assert_eq!(
                (&page["hasMore"], answer.has("link")),
                (&json!(false), false)
            );
            return ids;
        };
        assert_eq!(page["hasMore"], true);
        let separator = if first.contains('?') { '&' } else { '?' };
        path = format!("{first}{separator}cursor={cursor}");
        let link = answer.header("link");
        assert_eq!(link, format!("<{path}>; rel=\"next\""));
    }
}
