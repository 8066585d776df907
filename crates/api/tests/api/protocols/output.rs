//! Replies by a schema to the clients of other products.

use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    engines::scripted_agent,
    response::Request,
    told_engine::{schema, told, told_agent},
};

fn post(api: &ApiServer, path: &str, body: &Value) -> Request {
    api.writer().request("POST", path).json(body)
}

#[tokio::test(flavor = "multi_thread")]
async fn openai_clients_send_a_response_format() {
    let (api, _, agent) = told_agent(json!({})).await;
    let body = |replies: &[(&str, &str)], format: Value| {
        json!({
            "model": agent, "response_format": format,
            "messages": [{"role": "user", "content": told(replies)}],
        })
    };
    let by_schema =
        json!({"type": "json_schema", "json_schema": {"name": "a", "schema": schema()}});
    let valid = [("{\"a\": 1}", "stop")];
    for (replies, format, content) in [
        (&valid[..], by_schema.clone(), Some("{\"a\": 1}")),
        (
            &[("{", "stop"), ("{\"a\": 2}", "stop")],
            by_schema.clone(),
            Some("{\"a\": 2}"),
        ),
        (
            &[("{}", "stop")],
            json!({"type": "json_object"}),
            Some("{}"),
        ),
        (
            &[("[]", "stop"), ("1", "stop")],
            json!({"type": "json_object"}),
            None,
        ),
        (&[("{\"a\": 1}", "length")], by_schema.clone(), None),
    ] {
        let response = post(&api, "/v1/chat/completions", &body(replies, format))
            .open()
            .await;
        let status = response.status().as_u16();
        let completion: Value = response.json().await.unwrap();
        match content {
            Some(content) => {
                assert_eq!(completion["choices"][0]["message"]["content"], content);
            }
            None => {
                assert_eq!(
                    (status, &completion["error"]["code"]),
                    (502, &json!("invalid_output"))
                );
            }
        }
    }
    let invalid = json!({"type": "json_schema", "json_schema": {"schema": {"type": "text"}}});
    let rejected = post(&api, "/v1/chat/completions", &body(&valid, invalid))
        .open()
        .await;
    let rejected: Value = rejected.json().await.unwrap();
    assert_eq!(
        rejected["error"]["param"], "response_format.json_schema.schema",
        "{rejected}"
    );
    api.stop().await;
}

/// The events of a run.
async fn events(run: Request) -> Vec<Value> {
    let text = run.open().await.text().await.expect("a body");
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|it| serde_json::from_str(it).expect("JSON"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ag_ui_clients_forward_a_schema_and_receive_the_result() {
    let (api, _, agent) = told_agent(json!({})).await;
    let run = |id: &str, replies: &[(&str, &str)], schema: Value| {
        let body = json!({
            "threadId": id, "runId": id, "protocolVersion": "1.0",
            "messages": [{"id": id, "role": "user", "content": told(replies)}],
            "forwardedProps": {"responseSchema": schema},
        });
        post(&api, &format!("/ag-ui/agents/{agent}/run"), &body)
    };
    let events = events(run("r1", &[("{\"a\": 1}", "stop")], schema())).await;
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["result"]),
        (&json!("RUN_FINISHED"), &json!({"a": 1}))
    );
    let events = self::events(run("r2", &[("null", "stop")], json!({}))).await;
    assert_eq!(events.last().unwrap().get("result"), Some(&Value::Null));
    let events = self::events(run("r3", &[("{", "length")], schema())).await;
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["code"]),
        (&json!("RUN_ERROR"), &json!("invalid_output"))
    );
    let is_text = |event: &Value| event["type"] == "TEXT_MESSAGE_CONTENT";
    assert!(!events.iter().any(is_text));
    let rejected = run("r4", &[], json!(1)).open().await;
    assert_eq!(rejected.status(), 422);
    api.stop().await;
}

fn object(api: &ApiServer, agent: &str, body: &Value) -> Request {
    post(api, &format!("/ai-sdk/agents/{agent}/object"), body)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_streamed_while_the_model_writes_it() {
    let (api, mut script, agent) = scripted_agent(json!({"responseSchema": schema()})).await;
    let body = json!({"message": "Hi", "id": "c1"});
    let sending = object(&api, &agent, &body).open();
    let (mut response, call) = tokio::join!(sending, async {
        let call = script.next_call().await;
        call.send_text("{\"a\"").await;
        call
    });
    assert_eq!(response.status(), 200);
    let media_type = response.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(media_type, "text/plain; charset=utf-8");
    assert_eq!(response.chunk().await.unwrap().unwrap(), "{\"a\"");
    call.answer(": 1}").await;
    assert_eq!(response.text().await.unwrap(), ": 1}");
    let found = format!("/api/conversations?agentId={agent}&key=c1");
    let found = api.reader().get(&found).await.ok();
    assert_eq!(found["data"].as_array().unwrap().len(), 1);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_breaks_off_where_it_is_not_valid() {
    let (api, _, agent) = told_agent(json!({})).await;
    let ask = |replies: &[(&str, &str)]| {
        let body = json!({"message": told(replies), "responseSchema": schema()});
        object(&api, &agent, &body)
    };
    let whole = ask(&[("{\"a\": 1}", "stop")]).open().await;
    assert_eq!(whole.text().await.unwrap(), "{\"a\": 1}");
    // The response is cut, or an error if nothing of it was sent.
    for replies in [
        &[("{\"a\": 1}", "length")][..],
        &[("{\"b\": 1}", "stop"), ("{\"a\": 1}", "stop")],
    ] {
        let response = ask(replies).open().await;
        let is_whole =
            response.status() == 200 && response.text().await.is_ok_and(|it| it != "{\"a\": 1}");
        assert!(!is_whole, "{replies:?}");
    }
    let without = object(&api, &agent, &json!({"message": "Hi"})).open().await;
    assert_eq!(without.status(), 422);
    let text = without.text().await.unwrap();
    assert!(text.contains("/responseSchema: required"), "{text}");
    api.stop().await;
}
