//! Requests to home with a valid signature of the far region.

use api::wiring;
use domain::{ForwardedRequest, ProblemCode, RegionKey, region::body_digest};
use serde_json::json;
use uuid::Uuid;

use super::fixture::{KEY, Regions, home_builder};
use crate::{address_guard::assert_rejected, api_server::id_of, postgres::Database};

/// Signs a request with this body.
pub(super) fn sign(path: &str, body: &str) -> String {
    sign_as("POST", path, body)
}

/// Signs a request with this method and body.
pub(super) fn sign_as(method: &str, path: &str, body: &str) -> String {
    let (clock, ids) = wiring::system();
    let head = ForwardedRequest {
        region: "eu".parse().expect("a name"),
        sent_at: clock.now(),
        id: ids.next_id(),
        client_address: None,
        caller: None,
        body_digest: body_digest(body.as_bytes()),
    };
    let key = RegionKey::parse(KEY).expect("a key");
    head.sign(&key, method, path)
}

/// Sends a request with a signed head, and returns the status of the response.
pub(super) async fn send(regions: &Regions, path: &str, head: &str, body: &str) -> u16 {
    let request = regions.home.anonymous().request("POST", path);
    let request = request.header("X-Region-Request", head);
    let response = request.raw_body(body.to_owned()).open().await;
    response.status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_and_another_body_are_rejected() {
    let regions = Regions::start().await;
    let path = format!("/region/signals?process={}", Uuid::from_u128(1));
    let head = sign(&path, "{}");
    assert_eq!(send(&regions, &path, &head, "{}").await, 204);
    assert_eq!(send(&regions, &path, &head, "{}").await, 401);
    let head = sign(&path, "{}");
    assert_eq!(send(&regions, &path, &head, "[]").await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_heads_are_counted_by_address() {
    let database = Database::make().await;
    let home = home_builder(&database)
        .setting("LIMITS__ADDRESS__PER_MINUTE", "1")
        .setting("LIMITS__ADDRESS__BURST", "2");
    let home = home.start().await;
    let forged = async || {
        let request = home.anonymous().request("POST", "/api/agents");
        request.header("X-Region-Request", "e30.e30").send().await
    };
    for _ in 0..2 {
        forged().await.problem(ProblemCode::InvalidCredentials);
    }
    assert_rejected(&forged().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_far_node_cannot_send_signals_that_change_something() {
    let mut regions = Regions::start().await;
    let home = regions.home.writer();
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = regions.home.agent(draft).await;
    let chat = json!({"agentId": agent["id"], "message": "one"});
    let turn = home.request("POST", "/api/chat").json(&chat);
    let turn = turn.header("Prefer", "respond-async").send().await;
    let call = regions.script.next_call().await;
    let (turn, process) = (id_of(&turn.json()), Uuid::from_u128(1));
    let cancellation = json!({
        "type": "cancellationRequested",
        "tenant": "default",
        "turnId": turn,
        "actor": "key:forged",
    });
    let message = json!({"process": process, "number": 0, "signals": [cancellation]});
    let (path, message) = (
        format!("/region/signals?process={process}"),
        message.to_string(),
    );
    let head = sign(&path, &message);
    assert_eq!(send(&regions, &path, &head, &message).await, 204);
    call.answer("yes.").await;
    let path = format!("/api/turns/{turn}");
    let mut status = home.get(&path).await.ok()["status"].clone();
    while status == "in_progress" {
        status = home.get(&path).await.ok()["status"].clone();
    }
    assert_eq!(status, "completed");
}
