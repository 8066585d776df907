//! `/api/conversations/{id}/messages`.

use domain::ProblemCode;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    agents::all_ids,
    api_server::{ApiServer, id_of},
};

/// A conversation of three turns, and the path of its messages.
async fn conversation_of_three_turns(api: &ApiServer) -> String {
    let draft =
        json!({"name": "Ada", "config": {"rules": [{"pattern": ".*", "reply": "{{message}}!"}]}});
    let agent = id_of(&api.agent(draft).await);
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    for message in ["one", "two", "three"] {
        api.chat(json!({"agentId": agent, "conversationId": id, "message": message}))
            .await;
    }
    format!("/api/conversations/{id}/messages")
}

fn contents(page: &Value) -> Vec<&str> {
    let messages = page["data"].as_array().expect("a page");
    messages
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_follows_its_message() {
    let api = ApiServer::start().await;
    let path = conversation_of_three_turns(&api).await;
    let response = api.reader().get(&format!("{path}?limit=2")).await;
    let mut page = response.ok();
    assert!(page["nextCursor"].is_string());
    page["nextCursor"] = Value::Null;
    crate::redaction::redact(&mut page);
    assert_snapshot!(serde_json::to_string_pretty(&page).unwrap(), @r#"
    {
      "data": [
        {
          "content": "one",
          "conversationId": "[id]",
          "createdAt": "[time]",
          "files": [],
          "id": "[id]",
          "model": null,
          "role": "user",
          "seq": 1,
          "turnId": "[id]",
          "turnStatus": "completed",
          "usage": null
        },
        {
          "agentVersion": 1,
          "content": "one!",
          "conversationId": "[id]",
          "createdAt": "[time]",
          "engine": "rules",
          "files": [],
          "finishReason": "stop",
          "id": "[id]",
          "model": null,
          "role": "agent",
          "seq": 2,
          "turnId": "[id]",
          "usage": null
        }
      ],
      "hasMore": true,
      "nextCursor": null
    }
    "#);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_read_from_either_end_page_by_page() {
    let api = ApiServer::start().await;
    let path = conversation_of_three_turns(&api).await;
    let reader = api.reader();
    let ascending = reader.get(&path).await.ok();
    assert_eq!(
        contents(&ascending),
        ["one", "one!", "two", "two!", "three", "three!"]
    );
    let seqs = ascending["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["seq"]);
    assert!(seqs.eq(&[1, 2, 3, 4, 5, 6]));
    let descending = reader.get(&format!("{path}?order=desc")).await.ok();
    assert_eq!(
        contents(&descending),
        ["three!", "three", "two!", "two", "one!", "one"]
    );

    let whole: Vec<String> = ascending["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(id_of)
        .collect();
    assert_eq!(
        all_ids(&reader, &format!("{path}?order=asc&limit=4")).await,
        whole
    );
    let mut backwards = whole;
    backwards.reverse();
    assert_eq!(
        all_ids(&reader, &format!("{path}?limit=1&order=desc")).await,
        backwards
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_keeps_to_its_direction() {
    let api = ApiServer::start().await;
    let path = conversation_of_three_turns(&api).await;
    let page = api.reader().get(&format!("{path}?limit=1")).await.ok();
    let cursor = page["nextCursor"].as_str().unwrap();
    let response = api
        .reader()
        .get(&format!("{path}?order=desc&cursor={cursor}"))
        .await;
    response.problem(ProblemCode::InvalidCursor);
    let response = api.reader().get(&format!("{path}?order=sideways")).await;
    assert_eq!(
        response.faults(),
        [("order".to_owned(), "unknown_value".to_owned())]
    );
    api.stop().await;
}
