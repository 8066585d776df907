//! The conversation in requests.

use std::{collections::HashMap, sync::Arc};

use contract::reply_engine::request;
use domain::{FileReference, HistoryMessage, LlmSettings, MediaType, ModelStep, PastCalls, Role};
use ports::{ModelChunk, ModelRequest};
use serde_json::{Value, json};

use super::fixture;
use crate::{
    fixture::collect_reply,
    tools::{after, request_with},
    upstream::{Response, call_block, message, redacted_block, text_block, thinking_block},
};

fn greeting() -> Response {
    message("end_turn", &[text_block(0, &["Hi"])])
}

/// Returns the body of a request.
async fn body_of(request: ModelRequest) -> Value {
    let (upstream, engine) = fixture([greeting()]).await;
    collect_reply(&engine, request).await;
    upstream.bodies().remove(0)
}

/// Removes the marks of a body, and returns where they were.
fn take_marks(body: &mut Value) -> Vec<String> {
    fn take(value: &mut Value, path: &str, marks: &mut Vec<String>) {
        if value.get("cache_control").is_some() {
            let mark = value
                .as_object_mut()
                .and_then(|it| it.remove("cache_control"));
            assert_eq!(mark, Some(json!({"type": "ephemeral"})));
            marks.push(path.to_owned());
        }
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    take(item, &format!("{path}/{index}"), marks);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    take(member, &format!("{path}/{name}"), marks);
                }
            }
            _ => {}
        }
    }
    let mut marks = Vec::new();
    take(body, "", &mut marks);
    marks
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn history(messages: &[(Role, &str)]) -> Arc<Vec<HistoryMessage>> {
    let messages = (1..).zip(messages);
    let messages = messages.map(|(seq, (role, text))| HistoryMessage::new(seq, *role, *text));
    Arc::new(messages.collect())
}

#[tokio::test]
async fn the_system_message_is_apart_and_what_users_share_is_marked() {
    let mut request = request_with(&["time"]);
    request.context = Some("Order A-77.".into());
    request.history = history(&[
        (Role::Agent, "Welcome!"),
        (Role::User, "Hello"),
        (Role::Agent, "Hi! \n"),
    ]);
    request.message = "What time is it?".into();
    let mut body = body_of(request).await;
    let expected = ["/messages/2/content/0", "/system/0", "/tools/0"];
    assert_eq!(take_marks(&mut body), expected);
    let system = body["system"].as_array().expect("blocks");
    assert_eq!(system.len(), 2);
    let shared = system[0]["text"].as_str().expect("a text");
    assert!(
        shared.starts_with("You are ") && !shared.contains("A-77"),
        "{shared}"
    );
    let own = system[1]["text"].as_str().expect("a text");
    assert!(
        own.starts_with("# Context\n") && own.ends_with("Order A-77."),
        "{own}"
    );
    let messages = json!([
        {"role": "user", "content": [text("Hello")]},
        {"role": "assistant", "content": [text("Hi!")]},
        {"role": "user", "content": [text("What time is it?")]},
    ]);
    assert_eq!(body["messages"], messages);
}

#[tokio::test]
async fn without_a_system_role_its_text_begins_the_first_message() {
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).config.llm = Some(LlmSettings {
        system_role: Some(false),
        ..LlmSettings::default()
    });
    let body = body_of(request).await;
    assert!(body.get("system").is_none());
    let first = body["messages"][0]["content"][0]["text"].as_str();
    assert!(first.is_some_and(|it| it.starts_with("You are ")), "{body}");
}

#[tokio::test]
async fn reasoning_goes_back_in_its_place_with_the_calls() {
    let blocks = [
        thinking_block(0, &["The user ", "asks."], "c2ln"),
        text_block(1, &["Let me ", "see. "]),
        redacted_block(2, "ZW5j"),
        call_block(3, "toolu_1", "time", &["{\"zone\": ", "\"UTC\"}"]),
        thinking_block(4, &[], "c2lnMg=="),
        call_block(5, "toolu_2", "time", &["{}"]),
    ];
    let (upstream, engine) = fixture([message("tool_use", &blocks), greeting()]).await;
    let request = request_with(&["time"]);
    let reply = collect_reply(&engine, request.clone()).await;
    collect_reply(&engine, after(request, &reply)).await;
    let [first, second] = &mut upstream.bodies()[..] else {
        panic!("two requests")
    };
    let marks = ["/messages/0/content/0", "/system/0", "/tools/0"];
    assert_eq!(take_marks(first), marks);
    let marks = [
        "/messages/0/content/0",
        "/messages/2/content/1",
        "/system/0",
        "/tools/0",
    ];
    assert_eq!(take_marks(second), marks);
    let call = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "time", "input": input});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": r#"{"data":"noon","status":"ok"}"#});
    let expected = json!([
        first["messages"][0],
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "The user asks.", "signature": "c2ln"},
            text("Let me see."),
            {"type": "redacted_thinking", "data": "ZW5j"},
            call("toolu_1", json!({"zone": "UTC"})),
            {"type": "thinking", "thinking": "", "signature": "c2lnMg=="},
            call("toolu_2", json!({})),
        ]},
        {"role": "user", "content": [result("toolu_1"), result("toolu_2")]},
    ]);
    assert_eq!(second["messages"], expected);
}

/// A request after a turn with these steps, which were also made for its message before.
fn after_a_turn_with(steps: Vec<Arc<ModelStep>>) -> ModelRequest {
    let calls = PastCalls {
        steps: steps.clone(),
        ..PastCalls::default()
    };
    let history = vec![
        HistoryMessage::new(1, Role::User, "Time?"),
        HistoryMessage {
            calls: Some(Arc::new(calls)),
            ..HistoryMessage::new(2, Role::Agent, "It is noon.")
        },
    ];
    ModelRequest {
        history: Arc::new(history),
        message: "And now?".into(),
        earlier_steps: steps,
        ..request_with(&["time"])
    }
}

#[tokio::test]
async fn calls_of_earlier_turns_have_short_ids_and_no_reasoning() {
    let blocks = [
        thinking_block(0, &["Hm."], "c2ln"),
        call_block(1, "toolu_1", "time", &["no JSON"]),
    ];
    let (upstream, engine) = fixture([message("tool_use", &blocks), greeting()]).await;
    let first = request_with(&["time"]);
    let reply = collect_reply(&engine, first.clone()).await;
    let steps = after(first, &reply).steps;
    collect_reply(&engine, after_a_turn_with(steps)).await;
    let mut body = upstream.bodies().remove(1);
    let marks = take_marks(&mut body);
    assert_eq!(
        marks,
        [
            "/messages/4/content/0",
            "/messages/6/content/0",
            "/system/0",
            "/tools/0"
        ]
    );
    let messages = body["messages"].as_array().expect("messages");
    let roles: Vec<_> = messages
        .iter()
        .map(|it| it["role"].as_str().expect("a role"))
        .collect();
    let expected = "user assistant user assistant user assistant user";
    assert_eq!(roles.join(" "), expected);
    for at in [1, 5] {
        let [call] = &messages[at]["content"].as_array().expect("blocks")[..] else {
            panic!("one block: {body}")
        };
        assert_eq!(
            (&call["type"], &call["input"]),
            (&json!("tool_use"), &json!({}))
        );
        let id = call["id"].as_str().expect("an id");
        assert!(
            id.len() == 9 && id.bytes().all(|it| it.is_ascii_alphanumeric()),
            "{id}"
        );
        assert_eq!(messages[at + 1]["content"][0]["tool_use_id"], id);
    }
}

#[tokio::test]
async fn files_are_blocks_before_the_text() {
    let file = |number: u8, name: &str, media_type: MediaType| FileReference {
        id: format!("00000000-0000-7000-8000-0000000000{number:02x}")
            .parse()
            .expect("an id"),
        name: name.to_owned(),
        media_type,
        bytes: 4,
    };
    let files = vec![
        file(1, "parcel.png", MediaType::Png),
        file(2, "bill.pdf", MediaType::Pdf),
        file(3, "notes.txt", MediaType::Plain),
        file(4, "voice.wav", MediaType::Wav),
    ];
    let contents = files.iter().map(|it| (it.id, b"data".as_slice().into()));
    let mut request = request(0);
    request.file_contents = Arc::new(contents.collect::<HashMap<_, _>>());
    request.files = files;
    request.message = "".into();
    let (upstream, engine) = fixture([crate::upstream::status(404), greeting()]).await;
    collect_reply(&engine, request).await;
    let mut body = upstream.bodies().remove(1);
    take_marks(&mut body);
    let source =
        |media_type: &str| json!({"type": "base64", "media_type": media_type, "data": "ZGF0YQ=="});
    let named = "[file: notes.txt]\ndata\n\n[file: voice.wav, id ";
    let content = body["messages"][0]["content"].as_array().expect("blocks");
    let expected = json!([
        {"type": "image", "source": source("image/png")},
        {"type": "document", "title": "bill.pdf", "source": source("application/pdf")},
    ]);
    assert_eq!(json!(content[..2]), expected);
    let text = content[2]["text"].as_str().expect("a text");
    assert!(text.starts_with(named), "{text}");
    assert_eq!(content.len(), 3);
}

#[tokio::test]
async fn each_turn_continues_the_prompt_of_the_one_before() {
    let mut request = request_with(&["time"]);
    let mut messages = Vec::new();
    let mut before: Option<Value> = None;
    for number in 1..=10 {
        let asked = format!("Question {number}");
        request.message = asked.as_str().into();
        request.history = Arc::new(messages.clone());
        let mut body = body_of(request.clone()).await;
        let mark = format!("/messages/{}/content/0", 2 * number - 2);
        assert_eq!(take_marks(&mut body), [&*mark, "/system/0", "/tools/0"]);
        if let Some(before) = before {
            assert_eq!(
                (&before["system"], &before["tools"]),
                (&body["system"], &body["tools"])
            );
            let sent = before["messages"].as_array().expect("messages");
            assert_eq!(
                json!(body["messages"].as_array().expect("messages")[..sent.len()]),
                json!(sent)
            );
        }
        before = Some(body);
        let seq = 2 * i64::from(number);
        messages.push(HistoryMessage::new(seq - 1, Role::User, asked));
        messages.push(HistoryMessage::new(
            seq,
            Role::Agent,
            format!("Answer {number} \n"),
        ));
    }
}

#[tokio::test]
async fn the_state_of_a_reply_without_calls_is_not_kept() {
    let blocks = [thinking_block(0, &["Hm."], "c2ln"), text_block(1, &["Hi"])];
    let (_upstream, engine) = fixture([message("end_turn", &blocks)]).await;
    let reply = collect_reply(&engine, request(0)).await;
    let Some(ModelChunk::End { state, .. }) = reply.chunks.last() else {
        panic!("{reply:?}")
    };
    assert_eq!(*state, None);
}
