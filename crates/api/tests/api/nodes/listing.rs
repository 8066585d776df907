//! `GET /api/nodes`.

use std::time::Instant;

use domain::{ProblemCode, Scope};
use serde_json::Value;

use super::pair::{NodePair, SOON, word};
use crate::{api_server::ApiServer, caller::Caller};

async fn listed(caller: &Caller) -> Vec<Value> {
    let listing = caller.get("/api/nodes").await.ok();
    listing["data"].as_array().expect("a list").clone()
}

/// The id of the responding node.
fn responding(nodes: &[Value]) -> String {
    let mut responding = nodes.iter().filter(|node| node["responding"] == true);
    let id = word(&responding.next().expect("one responds")["id"]);
    assert_eq!(responding.count(), 0);
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn every_node_lists_all_live_nodes() {
    let mut pair = NodePair::start().await;
    let conversation = pair.conversation().await;
    let chat = pair.a.chat(&pair.command(&conversation, "Hello")).begin();
    let call = pair.a.script.next_call().await;
    let (of_a, of_b) = (
        listed(&pair.a.api.writer()).await,
        listed(&pair.b.api.writer()).await,
    );
    assert_eq!((of_a.len(), of_b.len()), (2, 2));
    assert_ne!(responding(&of_a), responding(&of_b));
    for node in &of_a {
        assert_eq!(node["version"], env!("CARGO_PKG_VERSION"));
        assert!(word(&node["startedAt"]) < word(&node["leaseExpiresAt"]));
        let age = node["renewedMillisecondsAgo"].as_u64().expect("a number");
        assert!(age < 10_000, "{age}");
        let runs = u64::from(node["responding"] == true);
        assert_eq!(node["runningTurns"], runs);
    }
    call.answer("Hi.").await;
    chat.await.expect("an answer").ok();

    let NodePair { a, b, .. } = pair;
    let left = responding(&of_a);
    a.api.stop().await;
    let start = Instant::now();
    while listed(&b.api.writer())
        .await
        .iter()
        .any(|node| node["id"] == left)
    {
        assert!(start.elapsed() < SOON, "the stopped node is still listed");
    }
    b.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_process_lists_itself() {
    let api = ApiServer::start().await;
    let nodes = listed(&api.writer()).await;
    assert_eq!(nodes.len(), 1);
    assert_eq!(responding(&nodes), word(&nodes[0]["id"]));
    let reader = api.caller_with_scopes(&[Scope::AgentsRead]).await;
    let rejected = reader.get("/api/nodes").await;
    rejected.problem(ProblemCode::InsufficientScope);
    api.stop().await;
}
