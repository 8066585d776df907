//! A far node whose home cannot be reached.

use std::time::{Duration, Instant};

use domain::ProblemCode;
use serde_json::json;

use super::{
    delayed_log::Replayed,
    fixture::{Regions, far_builder, home_builder},
};

#[actix_web::test]
async fn reads_go_on_and_writes_are_rejected_within_a_second() {
    let regions = Regions::start().await;
    let agent = regions.home.agent_id().await;
    let path = format!("/api/agents/{agent}");
    let far = regions.far.writer();
    far.get(&path).await.ok();
    regions.home.stop().await;
    let began = Instant::now();
    let rejected = far.post("/api/agents", json!({"name": "Ada"})).await;
    assert!(
        began.elapsed() < Duration::from_millis(1_500),
        "{:?}",
        began.elapsed()
    );
    rejected.problem(ProblemCode::HomeUnavailable);
    let read = far.get(&path).await;
    assert_eq!(read.header("x-served-by"), "replica");
    read.ok();
}

#[actix_web::test]
async fn a_home_that_returns_needs_no_restart_of_the_far_node() {
    let regions = Regions::start().await;
    let (far, address) = (regions.far.writer(), regions.home.address);
    regions.home.stop().await;
    let rejected = far.post("/api/agents", json!({"name": "Ada"})).await;
    rejected.problem(ProblemCode::HomeUnavailable);
    let again =
        home_builder(&regions.database).setting("SERVER__PORT", &address.port().to_string());
    let home = again.join(&regions.far).await;
    let began = Instant::now();
    loop {
        let response = far.post("/api/agents", json!({"name": "Ada"})).await;
        if response.status == 201 {
            break;
        }
        response.problem(ProblemCode::HomeUnavailable);
        assert!(began.elapsed() < Duration::from_secs(5), "no connection");
    }
    home.stop().await;
}

#[actix_web::test]
async fn a_far_node_with_another_key_is_not_ready() {
    let regions = Regions::start().await;
    let url = format!("http://{}", regions.home.address);
    let other = far_builder(&regions.database, &url);
    let other = other.setting("REGION__KEY", "another-key-that-the-home-region-lacks");
    let other = other.join(&regions.home).await;
    let rejected = other
        .writer()
        .post("/api/agents", json!({"name": "Ada"}))
        .await;
    // The caller's credential is valid.
    rejected.problem(ProblemCode::HomeUnavailable);
}

/// The replica may be of any age, and its credentials revoked.
#[actix_web::test]
async fn a_far_node_that_starts_without_home_accepts_no_credential() {
    let regions = Regions::start().await;
    let url = format!("http://{}", regions.home.address);
    regions.home.stop().await;
    let restarted = far_builder(&regions.database, &url);
    let restarted = restarted.join(&regions.far).await;
    let rejected = restarted.writer().get("/api/agents").await;
    rejected.problem(ProblemCode::HomeUnavailable);
    let readiness = restarted.anonymous().get("/readyz").await;
    readiness.problem(ProblemCode::HomeUnavailable);
}

#[actix_web::test]
async fn a_home_that_accepts_connections_and_is_silent_is_unreachable() {
    let regions = Regions::start().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let other = far_builder(&regions.database, &url)
        .join(&regions.home)
        .await;
    let far = other.writer();
    for _ in 0..3 {
        let began = Instant::now();
        let rejected = far.post("/api/agents", json!({"name": "Ada"})).await;
        let took = began.elapsed();
        assert!(took < Duration::from_millis(1_500), "{took:?}");
        rejected.problem(ProblemCode::HomeUnavailable);
    }
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_only_the_node_remembers_does_not_prevent_reads() {
    let replayed = Replayed::everything();
    let wrapped = replayed.clone();
    let regions =
        Regions::start_with(|far| far.wrap_storage(move |storage| wrapped.wrap_storage(storage)))
            .await;
    replayed.stop_at(0);
    let far = regions.far.writer();
    let created = far.post("/api/agents", json!({"name": "Ada"})).await;
    let position = created.header("x-consistency").to_owned();
    let path = created.header("location").to_owned();
    regions.home.stop().await;
    let read = far.get(&path).await;
    assert_eq!(read.header("x-served-by"), "replica");
    read.ok();
    let required = far.request("GET", &path);
    let required = required.header("X-Consistency", &position).send().await;
    required.problem(ProblemCode::HomeUnavailable);
}
