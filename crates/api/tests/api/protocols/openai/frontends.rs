//! Requests as Open WebUI and LibreChat send them, by their public sources
//! (`backend/open_webui/routers/openai.py`, `packages/api/src/endpoints`).

use domain::ProblemCode;
use serde_json::{Value, json};

use super::{DataStream, completion, error, header, ok};
use crate::{engines::scripted_agent, response::Request};

/// The headers of Open WebUI. `X-User-Id` is configured in the connection, the others are its own.
fn from_open_webui(request: Request) -> Request {
    [
        ("X-OpenWebUI-User-Name", "Grace%20Hopper"),
        ("X-OpenWebUI-User-Id", "0f7bd2"),
        ("X-OpenWebUI-User-Email", "grace@example.org"),
        ("X-OpenWebUI-User-Role", "user"),
        ("X-OpenWebUI-Chat-Id", "9d1c"),
        ("X-User-Id", "0f7bd2"),
    ]
    .into_iter()
    .fold(request, |request, (name, value)| {
        request.header(name, value)
    })
}

/// As many tools as Open WebUI has itself, and sends unless its model says otherwise.
fn builtin_tools() -> Vec<Value> {
    let tool = |number| {
        let function = json!({"name": format!("tool_{number}"), "parameters": {"type": "object"}});
        json!({"type": "function", "function": function})
    };
    (0..36).map(tool).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn open_webui_lists_chats_and_titles() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    // It verifies a connection and lists its models with the same request, and shows `name`.
    let models = ok(from_open_webui(writer.request("GET", "/v1/models"))).await;
    let expected = (&json!(agent), &json!("Ada"));
    assert_eq!(
        (&models["data"][0]["id"], &models["data"][0]["name"]),
        expected
    );
    assert!(models.get("error").is_none());

    let body = json!({
        "stream": true, "model": agent,
        "messages": [
            {"role": "system", "content": "You are helpful."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hi!"},
            {"role": "user", "content": "What is new?"},
        ],
        "temperature": 0.8, "top_p": 0.9, "max_tokens": 128, "frequency_penalty": 0.1, "seed": 7,
        "stop": ["\n\n"], "logit_bias": {}, "stream_options": {"include_usage": true},
        "tools": builtin_tools(),
    });
    let request = from_open_webui(completion(&writer, &body));
    let (response, ()) = tokio::join!(request.open(), async {
        let call = script.next_call().await;
        assert_eq!(call.request.user_id.as_deref(), Some("0f7bd2"));
        assert_eq!(call.request.history.len(), 3);
        call.answer("Nothing.").await;
    });
    assert_eq!(
        header(&response, "content-type").as_deref(),
        Some("text/event-stream")
    );
    let text = response.text().await.expect("a whole body");
    assert!(
        text.contains(r#""content":"Nothing.""#) && text.ends_with("data: [DONE]\n\n"),
        "{text}"
    );

    let title = json!({
        "model": agent, "stream": false, "max_completion_tokens": 1000,
        "messages": [{"role": "user", "content": "### Task:\nGenerate a concise title."}],
    });
    let request = from_open_webui(completion(&writer, &title));
    let (reply, ()) = tokio::join!(ok(request), async {
        script
            .next_call()
            .await
            .answer(r#"{"title": "News"}"#)
            .await;
    });
    assert_eq!(
        reply["choices"][0]["message"]["content"],
        r#"{"title": "News"}"#
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_of_open_webui_reaches_the_model() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let image = |data: &str| {
        let url = format!("data:image/png;base64,{data}");
        json!({"type": "image_url", "image_url": {"url": url}})
    };
    let body = |data: &str| {
        json!({"model": agent, "messages": [
            {"role": "user", "content": [image("AAAA")]},
            {"role": "assistant", "content": "A cat."},
            {"role": "user", "content": [{"type": "text", "text": "And this?"}, image(data)]},
        ]})
    };
    let request = from_open_webui(completion(&api.writer(), &body("iVBORw0KGgo=")));
    let (reply, ()) = tokio::join!(ok(request), async {
        let call = script.next_call().await;
        let mut contents = call.request.file_contents.values();
        let content = contents.next().expect("a picture");
        assert_eq!(&content[..], b"\x89PNG\r\n\x1a\n");
        assert_eq!(
            call.request.history.len(),
            1,
            "the picture before is left out"
        );
        call.answer("A dog.").await;
    });
    assert_eq!(reply["choices"][0]["message"]["content"], "A dog.");
    let request = from_open_webui(completion(&api.writer(), &body("AAAA")));
    let rejected = error(request, 400, ProblemCode::FileTypeNotAccepted).await;
    assert_eq!(rejected["param"], "messages[2].content[1].image_url.url");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn librechat_lists_chats_and_titles() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    // It reads only the ids, and can add the id of its user to the query.
    let models = ok(writer.request("GET", "/v1/models?user=66f0")).await;
    let ids = models["data"].as_array().expect("a list").iter();
    let ids: Vec<&Value> = ids.map(|model| &model["id"]).collect();
    assert_eq!(ids, [&json!(agent)]);

    // Names can be configured in place of ids.
    let body = json!({
        "model": "Ada", "temperature": 1, "top_p": 1, "presence_penalty": 0,
        "frequency_penalty": 0, "stop": ["User:"], "user": "66f0", "stream": true,
        "stream_options": {"include_usage": true},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        ],
    });
    let (stream, ()) = tokio::join!(DataStream::open(writer.clone(), body), async {
        let call = script.next_call().await;
        assert_eq!(&*call.request.message, "Hello");
        call.answer("Hi!").await;
    });
    let data = stream.remaining().await;
    assert_eq!(data.len(), 4, "{data:?}");

    let title = json!({
        "model": "Ada", "user": "66f0", "stream": false,
        "messages": [{"role": "user", "content": "Provide a concise title."}],
    });
    let (reply, ()) = tokio::join!(ok(completion(&writer, &title)), async {
        script.next_call().await.answer("Greetings").await;
    });
    assert_eq!(reply["choices"][0]["message"]["content"], "Greetings");
    api.stop().await;
}
