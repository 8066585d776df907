//! Completions in stored conversations.

use std::time::Duration;

use domain::ProblemCode;
use futures::future::join_all;
use ports::ReplyError;
use serde_json::{Value, json};

use super::{ask_stored, completion, error, header, ok};
use crate::{
    api_server::ApiServer,
    engines::{contents, scripted_agent},
    nodes::pair::{NodePair, SOON},
    response::Request,
    script::{EngineCall, Script},
};

const RETRY_COUNT: &str = "x-stainless-retry-count";
/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The id of the conversation with a key.
async fn conversation(api: &ApiServer, agent: &str, key: &str) -> Option<String> {
    let path = format!("/api/conversations?agentId={agent}&key={key}");
    let page = api.reader().get(&path).await.ok();
    page["data"][0]["id"].as_str().map(str::to_owned)
}

/// Sends a request, and answers the call of the engine.
async fn answered(request: Request, script: &mut Script, text: &str) -> (Value, Vec<String>) {
    let (reply, history) = tokio::join!(ok(request), async {
        let call = script.next_call().await;
        let history = history(&call);
        call.answer(text).await;
        history
    });
    (reply, history)
}

fn history(call: &EngineCall) -> Vec<String> {
    let history = call.request.history.iter();
    history.map(|it| it.content.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stored_conversation_is_the_history() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let mut first = ask_stored(&agent, "One?", "c-1");
    first["metadata"]["page"] = "start".into();
    let first = completion(&writer, &first);
    let (first, shown) = answered(first, &mut script, "Two.").await;
    assert!(shown.is_empty(), "{shown:?}");
    let turn = first["id"].as_str().unwrap().replace("chatcmpl-", "");
    let turn = crate::engines::turn(&api, turn).await;
    assert_eq!(turn["metadata"], json!({"page": "start"}));
    assert!(turn["clientMessageId"].is_string());

    let mut body = ask_stored(&agent, "", "c-1");
    body["store"] = true.into();
    body["messages"] = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Another first message"},
        {"role": "assistant", "content": "Another reply"},
        {"role": "user", "content": "Three?"},
    ]);
    let (_, shown) = answered(completion(&writer, &body), &mut script, "Four.").await;
    assert_eq!(shown, ["One?", "Two."]);
    let id = conversation(&api, &agent, "c-1").await.expect("it exists");
    let expected = ["One?", "Two.", "Three?", "Four."];
    assert_eq!(contents(&api, &id).await, expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_user_has_conversations_of_their_own() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    for user in ["grace", "alan"] {
        let request = completion(&writer, &ask_stored(&agent, "Hello", "c-1"));
        let request = request.header("X-User-Id", user);
        let (_, shown) = answered(request, &mut script, "Hi").await;
        assert!(shown.is_empty(), "{shown:?}");
    }
    let page = api.reader().get("/api/conversations").await.ok();
    let page = page["data"].as_array().expect("a page").iter();
    let mut users: Vec<_> = page.map(|it| it["userId"].as_str().unwrap()).collect();
    users.sort_unstable();
    assert_eq!(users, ["alan", "grace"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_joins_the_turn() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let send = |count: &str| {
        let request = completion(&writer, &ask_stored(&agent, "Hello", "c-1"));
        request.header(RETRY_COUNT, count)
    };
    // While the turn runs, and after its end.
    let (first, second, ()) = tokio::join!(
        ok(send("0")),
        async {
            turns_of_key(&api, &agent, 1).await;
            ok(send("1")).await
        },
        async {
            let call = script.next_call().await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            call.answer("Hi").await;
        }
    );
    assert_eq!(first, second);
    let third = send("2").open().await;
    assert_eq!(
        header(&third, "idempotency-replayed").as_deref(),
        Some("true")
    );
    assert_eq!(third.json::<Value>().await.expect("JSON"), first);
    script.assert_no_more_calls();
    // A new request with the same text is another message, which is the one to join then.
    let (other, _) = answered(send("0"), &mut script, "Hi again").await;
    assert_ne!(other["id"], first["id"]);
    assert_eq!(ok(send("1")).await, other);
    let id = conversation(&api, &agent, "c-1").await.expect("it exists");
    let expected = ["Hello", "Hi", "Hello", "Hi again"];
    assert_eq!(contents(&api, &id).await, expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_requests_at_the_same_time_join_the_turn() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let writer = api.writer();
    let send = |text: &str, count: &str| {
        let request = completion(&writer, &ask_stored(&agent, text, "c-1"));
        ok(request.header(RETRY_COUNT, count))
    };
    // A repeated request may also arrive first.
    let orders = [["0", "1", "2"], ["1", "0", "2"], ["2", "1", "0"]];
    for (round, order) in orders.iter().cycle().take(6).enumerate() {
        let text = format!("Hello {round}");
        let replies = join_all(order.map(|count| send(&text, count))).await;
        for reply in &replies {
            assert_eq!(reply["id"], replies[0]["id"], "{order:?}");
        }
    }
    // The client did not repeat these: they are two messages.
    let equal = join_all(["0", "0"].map(|count| send("Hello", count))).await;
    assert_ne!(equal[0]["id"], equal[1]["id"]);
    let id = conversation(&api, &agent, "c-1").await.expect("it exists");
    assert_eq!(contents(&api, &id).await.len(), 2 * (6 + 2));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_on_another_node_joins_the_turn() {
    let pair = NodePair::start().await;
    let agent = pair.a.api.agent_id().await;
    for round in 0..4 {
        let text = format!("Hello {round}");
        let send = |api: &ApiServer, count: &str| {
            let request = completion(&api.writer(), &ask_stored(&agent, &text, "c-1"));
            ok(request.header(RETRY_COUNT, count))
        };
        let (first, second) = tokio::join!(send(&pair.a.api, "0"), send(&pair.b.api, "1"));
        assert_eq!(first["id"], second["id"], "round {round}");
        // Within this time, both nodes know the message.
        tokio::time::sleep(SOON).await;
    }
    let id = conversation(&pair.a.api, &agent, "c-1").await;
    let contents = contents(&pair.a.api, &id.expect("it exists")).await;
    assert_eq!(contents.len(), 8, "{contents:?}");
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_one_request_id_are_different_messages() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    for reply in ["First", "Second"] {
        let request = completion(&writer, &ask_stored(&agent, "Yes", "c-1"));
        let request = request.header("X-Request-Id", "session");
        let (shown, _) = answered(request, &mut script, reply).await;
        assert_eq!(shown["choices"][0]["message"]["content"], reply);
    }
    let id = conversation(&api, &agent, "c-1").await.expect("it exists");
    assert_eq!(contents(&api, &id).await, ["Yes", "First", "Yes", "Second"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_joins_a_queued_turn() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let send = |text: &str| completion(&writer, &ask_stored(&agent, text, "c-1"));
    let (_, second, repeated, ()) = tokio::join!(
        ok(send("One")),
        async {
            turns_of_key(&api, &agent, 1).await;
            ok(send("Two")).await
        },
        async {
            turns_of_key(&api, &agent, 2).await;
            ok(send("Two").header(RETRY_COUNT, "1")).await
        },
        async {
            let running = script.next_call().await;
            turns_of_key(&api, &agent, 2).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            running.answer("1").await;
            script.next_call().await.answer("2").await;
        }
    );
    assert_eq!(repeated, second);
    script.assert_no_more_calls();
    let id = conversation(&api, &agent, "c-1").await.expect("it exists");
    assert_eq!(contents(&api, &id).await, ["One", "1", "Two", "2"]);
    api.stop().await;
}

/// Waits until the conversation `c-1` has this number of turns.
async fn turns_of_key(api: &ApiServer, agent: &str, wanted: usize) {
    loop {
        if let Some(id) = conversation(api, agent, "c-1").await {
            let path = format!("/api/conversations/{id}/turns");
            let turns = api.reader().get(&path).await.ok();
            if turns["data"].as_array().map_or(0, Vec::len) >= wanted {
                return;
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_after_a_failure_reuses_the_message() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let body = ask_stored(&agent, "Hello", "c-1");
    let failing = error(
        completion(&writer, &body),
        503,
        ProblemCode::EngineUnavailable,
    );
    tokio::join!(failing, async {
        let call = script.next_call().await;
        call.fail(ReplyError::Unavailable("no".into()));
    });
    let repeated = completion(&writer, &body).header(RETRY_COUNT, "1");
    let (_, shown) = answered(repeated, &mut script, "Hi").await;
    assert!(shown.is_empty(), "{shown:?}");
    let id = conversation(&api, &agent, "c-1").await.expect("it exists");
    assert_eq!(contents(&api, &id).await, ["Hello", "Hi"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_client_has_precedence() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let send = |key: &str| {
        let request = completion(&writer, &ask_stored(&agent, "Hello", "c-1"));
        request.header("Idempotency-Key", key)
    };
    let (first, _) = answered(send("k-1"), &mut script, "Hi").await;
    assert_eq!(ok(send("k-1")).await, first);
    let (other, _) = answered(send("k-2"), &mut script, "Hi").await;
    assert_ne!(other["id"], first["id"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_turn_is_a_final_conflict() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let body = ask_stored(&agent, "Hello", "c-1");
    let sending = error(completion(&writer, &body), 409, ProblemCode::TurnCancelled);
    tokio::join!(sending, async {
        let call = script.next_call().await;
        let path = format!("/api/turns/{}/cancel", call.request.turn_id);
        writer.request("POST", &path).send().await.ok();
    });
    let repeated = completion(&writer, &body).header(RETRY_COUNT, "1");
    error(repeated, 409, ProblemCode::TurnCancelled).await;
    script.assert_no_more_calls();
    api.stop().await;
}
