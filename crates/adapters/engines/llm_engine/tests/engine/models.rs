//! The list of models.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    time::Duration,
};

use futures::future::join_all;
use llm_engine::LlmReplyEngine;
use ports::ReplyEngine as _;
use rstest::rstest;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    fixture::{KEY, collect_reply, engine_with, fixture, options, request_within},
    upstream::{Response, Step, Upstream, status, whole},
};

fn list(names: &[&str]) -> Response {
    let models = names
        .iter()
        .map(|name| json!({"id": name, "object": "model"}));
    let models: Vec<_> = models.collect();
    whole(200, "", &json!({"object": "list", "data": models}))
}

#[tokio::test]
async fn models_that_an_agent_can_choose_are_listed() {
    let long = "a".repeat(257);
    let (upstream, engine) = fixture([list(&["b", "a", "b", "", "c\nd", &long])]).await;
    let models = engine.models().await;
    assert_eq!(models, Some(vec!["a".to_owned(), "b".to_owned()]));
    let received = upstream.requests().remove(0);
    assert_eq!(received.line, "GET /v1/models");
    let bearer = format!("Bearer {KEY}");
    assert_eq!(received.header("authorization"), Some(bearer.as_str()));
}

#[rstest]
#[case::without_an_object(json!([{"id": "a"}]))]
#[case::with_names_that_are_missing(json!({"data": [{"id": null}, {"id": 5}, {}, null, {"id": "a"}]}))]
#[case::with_null_members(json!({"object": null, "data": [{"id": "a", "object": null, "owned_by": null}]}))]
#[tokio::test]
async fn the_usable_names_of_a_list_are_used(#[case] body: serde_json::Value) {
    let (_upstream, engine) = fixture([whole(200, "", &body)]).await;
    assert_eq!(engine.models().await, Some(vec!["a".to_owned()]));
}

#[tokio::test]
async fn the_list_says_which_files_a_model_takes() {
    let model = |id: &str, modalities: serde_json::Value| json!({"id": id, "architecture": {"input_modalities": modalities}});
    let body = json!({"data": [
        model("all", json!(["text", "image", "file", "audio", "video"])),
        model("none", json!(["text"])),
        model("odd", json!("image")),
        {"id": "silent"},
    ]});
    let (upstream, engine) = fixture([whole(200, "", &body)]).await;
    let inputs = async |model: &str| {
        let llm = domain::LlmSettings {
            model: Some(model.to_owned()),
            ..domain::LlmSettings::default()
        };
        let config = domain::AgentConfig {
            llm: Some(llm),
            ..domain::AgentConfig::default()
        };
        let kinds = engine.inputs(&config).await;
        [kinds.image, kinds.pdf, kinds.audio]
    };
    assert_eq!(inputs("all").await, [true; 3]);
    for model in ["none", "odd", "silent", "unknown"] {
        assert_eq!(inputs(model).await, [false; 3], "{model}");
    }
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_setting_decides_without_a_list_which_files_models_take() {
    let upstream = Upstream::start([]).await;
    let image = domain::FileKinds {
        image: true,
        ..domain::FileKinds::default()
    };
    let mut options = options(upstream.base_url());
    options.inputs = Some(image);
    let engine = LlmReplyEngine::new(options).expect("an engine");
    assert_eq!(engine.inputs(&domain::AgentConfig::default()).await, image);
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn concurrent_callers_share_one_request() {
    let (upstream, engine) = fixture([list(&["a"])]).await;
    let lists = join_all((0..32).map(|_| engine.models())).await;
    assert!(
        lists
            .iter()
            .all(|models| *models == Some(vec!["a".to_owned()]))
    );
    assert_eq!(upstream.requests().len(), 1);
}

/// Advances the time of the runtime.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn the_old_list_is_returned_while_the_new_one_is_fetched() {
    let new = [vec![Step::Gate], list(&["new"])].concat();
    let (upstream, engine) = fixture([list(&["old"]), new]).await;
    let old = Some(vec!["old".to_owned()]);
    assert_eq!(engine.models().await, old);
    pass(4 * MINUTE).await;
    assert_eq!(engine.models().await, old);
    assert_eq!(upstream.requests().len(), 1);
    pass(MINUTE).await;
    let again = Instant::now();
    assert_eq!(engine.models().await, old);
    assert!(
        again.elapsed() < Duration::from_secs(1),
        "the call does not wait for the fetch"
    );
    upstream.wait_for_requests(2).await;
    upstream.open_gate();
    while engine.models().await == old {
        tokio::task::yield_now().await;
    }
    assert_eq!(engine.models().await, Some(vec!["new".to_owned()]));
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn a_failed_fetch_is_repeated_after_a_while() {
    let (upstream, engine) = fixture([status(503), list(&["a"]), status(503)]).await;
    assert_eq!(engine.models().await, None);
    let known = Some(vec!["a".to_owned()]);
    pass(MINUTE / 2).await;
    while engine.models().await != known {
        tokio::task::yield_now().await;
    }
    pass(5 * MINUTE).await;
    assert_eq!(engine.models().await, known);
    upstream.wait_for_requests(3).await;
    assert_eq!(engine.models().await, known, "the old list is kept");
}

#[rstest]
#[case::no_list(status(404))]
#[case::not_now(status(503))]
#[case::nonsense(whole(200, "", &json!({"data": "none"})))]
#[case::null(whole(200, "", &json!({"data": null})))]
#[case::without_end(vec![crate::upstream::head("application/json"), Step::Repeat(b"4\r\n    \r\n".repeat(1000))])]
#[tokio::test]
async fn a_server_without_a_list_has_none(#[case] response: Response) {
    let (upstream, engine) = fixture([response]).await;
    assert_eq!(engine.models().await, None);
    assert_eq!(engine.models().await, None);
    assert_eq!(
        upstream.requests().len(),
        1,
        "the list is not requested again at once"
    );
}

#[tokio::test]
async fn a_server_that_hangs_delays_only_the_first_caller() {
    let upstream = Upstream::start([vec![Step::Hang]]).await;
    let limit = Duration::from_millis(500);
    let engine = engine_with(&upstream, |timeouts| timeouts.models = limit);
    let began = Instant::now();
    assert_eq!(engine.models().await, None::<Vec<String>>);
    assert!(began.elapsed() >= limit);
    upstream.wait_until_abandoned().await;
    let again = Instant::now();
    assert_eq!(engine.models().await, None::<Vec<String>>);
    assert!(again.elapsed() < limit, "{:?}", again.elapsed());
}

#[tokio::test]
async fn a_server_is_reachable_unless_its_last_request_got_no_connection() {
    let (_upstream, engine) = fixture([status(500), list(&["a"])]).await;
    assert!(engine.is_reachable(), "nothing is known yet");
    engine.models().await;
    assert!(engine.is_reachable(), "it has answered");

    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    drop(listener);
    let engine = LlmReplyEngine::new(options(format!("http://{address}/v1"))).expect("an engine");
    engine.models().await;
    assert!(!engine.is_reachable());
    // From now on it answers each request with an error.
    let listener = TcpListener::bind(address).expect("the port is still free");
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _length = client.read(&mut [0; 8192]);
            let _sent = client.write_all(b"HTTP/1.1 500 \r\ncontent-length: 0\r\n\r\n");
        }
    });
    collect_reply(&engine, request_within(Duration::from_secs(5))).await;
    assert!(engine.is_reachable());
}
