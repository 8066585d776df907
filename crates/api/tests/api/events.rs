//! `/api/events`.

use domain::{ProblemCode, Scope, Timestamp};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
};

/// The `(seq, type)` of the events of a page.
async fn types_by_seq(caller: &Caller, query: &str) -> Vec<(i64, String)> {
    let page = caller.get(&format!("/api/events?{query}")).await.ok();
    let events = page["data"].as_array().expect("a page").iter();
    events
        .map(|event| {
            let kind = event["type"].as_str().expect("a type").to_owned();
            (event["seq"].as_i64().expect("a position"), kind)
        })
        .collect()
}

fn listed(expected: &[(i64, &str)]) -> Vec<(i64, String)> {
    expected
        .iter()
        .map(|(seq, kind)| (*seq, (*kind).to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_in_the_log_once_and_in_order() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let reply = api
        .chat(json!({"agentId": agent, "message": "Hello"}))
        .await;
    let conversation = reply["conversationId"].as_str().unwrap();
    let writer = api.writer();
    writer
        .patch(&format!("/api/agents/{agent}"), json!({"name": "Bob"}))
        .await
        .ok();
    let path = format!("/api/conversations/{conversation}");
    writer.patch(&path, json!({"title": "Hi"})).await.ok();
    writer.delete(&path).await;
    writer.delete(&format!("/api/agents/{agent}")).await;
    let expected = listed(&[
        (1, "agent.created"),
        (2, "conversation.created"),
        (3, "turn.started"),
        (4, "turn.completed"),
        (5, "agent.updated"),
        (6, "conversation.updated"),
        (7, "conversation.deleted"),
        (8, "agent.deleted"),
    ]);
    assert_eq!(types_by_seq(&api.reader(), "since=0").await, expected);
    assert_eq!(types_by_seq(&api.reader(), "since=5").await, expected[5..]);
    assert_eq!(types_by_seq(&api.reader(), "").await, []);
    assert_eq!(
        types_by_seq(&api.other_tenant(), "since=0").await,
        [],
        "a log for each tenant"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "most of them are the snapshot")]
async fn an_event_contains_the_state_after_the_change() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    api.chat(json!({"agentId": agent, "message": "Hello", "userId": "bob"}))
        .await;
    let response = api.reader().get("/api/events?since=3").await;
    assert_snapshot!(response.snapshot(), @r#"
    200 OK
    {
      "data": [
        {
          "actor": "[key]",
          "agentId": "[id]",
          "conversationId": "[id]",
          "data": {
            "message": {
              "agentVersion": 1,
              "content": "Hello! I'm Ada. What can I do for you?",
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
            },
            "turn": {
              "agentId": "[id]",
              "agentVersion": 1,
              "clientMessageId": null,
              "conversationId": "[id]",
              "createdAt": "[time]",
              "degraded": false,
              "engine": "rules",
              "error": null,
              "files": [],
              "finishReason": "stop",
              "finishedAt": "[time]",
              "id": "[id]",
              "input": "Hello",
              "metadata": {},
              "model": null,
              "reply": {
                "agentVersion": 1,
                "content": "Hello! I'm Ada. What can I do for you?",
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
              },
              "retryOf": null,
              "startedAt": "[time]",
              "status": "completed",
              "toolCalls": [],
              "usage": null
            }
          },
          "id": "[id]",
          "seq": 4,
          "tenantId": "default",
          "time": "[time]",
          "turnId": "[id]",
          "type": "turn.completed",
          "userId": "bob"
        }
      ],
      "firstSeq": 1,
      "hasMore": false,
      "headSeq": 4,
      "nextSince": 4
    }
    "#);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_deleted_resources_contain_no_data() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let path = format!("/api/agents/{agent}");
    api.writer().delete(&path).await;
    let page = api.reader().get("/api/events?since=0").await.ok();
    assert_eq!(page["data"][0]["data"], json!({"deleted": true}));
    assert_eq!(
        page["data"][1]["data"]["agent"],
        json!({"id": agent, "version": 1})
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_contains_the_requested_events() {
    let api = ApiServer::start().await;
    let (first, second) = (api.agent_id().await, api.agent_id().await);
    let reply = api
        .chat(json!({"agentId": second, "message": "Hello"}))
        .await;
    let conversation = reply["conversationId"].as_str().unwrap();
    let reader = api.reader();
    let of_first = types_by_seq(&reader, &format!("since=0&agentId={first}")).await;
    assert_eq!(of_first, listed(&[(1, "agent.created")]));
    let of_talk = types_by_seq(&reader, &format!("since=0&conversationId={conversation}")).await;
    let talk = [
        (3, "conversation.created"),
        (4, "turn.started"),
        (5, "turn.completed"),
    ];
    assert_eq!(of_talk, listed(&talk));
    let of_types = types_by_seq(&reader, "since=0&types=agent.created,turn.completed").await;
    let types = [
        (1, "agent.created"),
        (2, "agent.created"),
        (5, "turn.completed"),
    ];
    assert_eq!(of_types, listed(&types));
    assert_eq!(types_by_seq(&reader, "since=0&agentId=7").await, []);
    let rejected = reader
        .get("/api/events?since=-1&types=agent.born&limit=0")
        .await;
    let fault = |pointer: &str, code: &str| (pointer.to_owned(), code.to_owned());
    let expected = [
        fault("limit", "too_small"),
        fault("since", "too_small"),
        fault("types", "unknown_value"),
    ];
    assert_eq!(rejected.faults(), expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_no_gaps_between_them() {
    let api = ApiServer::start().await;
    for _ in 0..3 {
        let agent = api.agent_id().await;
        api.chat(json!({"agentId": agent, "message": "Hello"}))
            .await;
    }
    let (mut since, mut seqs) = (json!(0), Vec::new());
    loop {
        let response = api
            .reader()
            .get(&format!("/api/events?limit=5&since={since}"))
            .await;
        let page = response.ok();
        assert_eq!(
            (&page["firstSeq"], &page["headSeq"]),
            (&json!(1), &json!(12))
        );
        assert_eq!(response.header("x-event-seq"), "12");
        let events = page["data"].as_array().unwrap().iter();
        seqs.extend(events.map(|event| event["seq"].as_i64().unwrap()));
        since = page["nextSince"].clone();
        if page["hasMore"] == false {
            break;
        }
    }
    assert_eq!(seqs, (1..=12).collect::<Vec<_>>());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_outside_the_log_is_rejected_with_the_bounds() {
    let api = ApiServer::start().await;
    api.agent_id().await;
    api.agent_id().await;
    let rejected = async |since: i64, why: &str, bounds: [i64; 2]| {
        let response = api
            .reader()
            .get(&format!("/api/events?since={since}"))
            .await;
        let problem = response.problem(ProblemCode::CursorExpired);
        // True of both ends.
        assert_eq!(problem["title"], "The log does not contain this position.");
        assert_eq!(problem["detail"], why);
        assert_eq!(
            json!([problem["firstSeq"], problem["headSeq"]]),
            json!(bounds)
        );
    };
    let ahead = "The position is after the head of the log.";
    rejected(3, ahead, [1, 2]).await;
    let later = Timestamp::from_milliseconds(i64::MAX / 2);
    let trimmed = api.storage.maintenance.trim_log(later, 1_000).await;
    assert_eq!(trimmed.expect("the log is trimmed"), 2);
    let behind = "The events after the position have been removed from the log.";
    rejected(1, behind, [3, 2]).await;
    rejected(3, ahead, [3, 2]).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_only_what_its_scopes_allow() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    api.chat(json!({"agentId": agent, "message": "Hello"}))
        .await;
    let kinds = |scopes: &'static [Scope]| {
        let api = &api;
        async move {
            let events = types_by_seq(&api.caller_with_scopes(scopes).await, "since=0").await;
            events.into_iter().map(|(_, kind)| kind).collect::<Vec<_>>()
        }
    };
    assert_eq!(kinds(&[Scope::EventsRead]).await, Vec::<String>::new());
    assert_eq!(
        kinds(&[Scope::EventsRead, Scope::AgentsRead]).await,
        ["agent.created"]
    );
    let of_talk = ["conversation.created", "turn.started", "turn.completed"];
    assert_eq!(
        kinds(&[Scope::EventsRead, Scope::ConversationsRead]).await,
        of_talk
    );
    // A caller that may only chat sees the turns that it started.
    let chatter = api
        .caller_with_scopes(&[Scope::EventsRead, Scope::ChatWrite])
        .await;
    let reply = chatter
        .post("/api/chat", json!({"agentId": agent, "message": "Hi"}))
        .await
        .ok();
    let page = chatter.get("/api/events?since=0").await.ok();
    let events = page["data"].as_array().unwrap();
    let own: Vec<&Value> = events.iter().map(|event| &event["turnId"]).collect();
    let none = &Value::Null;
    assert_eq!(own, [none, &reply["turnId"], &reply["turnId"]], "{page}");
    assert_eq!(events[0]["data"]["profile"]["name"], "Ada", "{page}");
    assert_eq!(
        id_of(&events[1]["data"]["turn"]),
        reply["turnId"].as_str().unwrap()
    );
    api.stop().await;
}
