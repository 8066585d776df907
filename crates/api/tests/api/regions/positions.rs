//! Positions of the event log that reads require.

use domain::ProblemCode;
use serde_json::json;

use super::fixture::Regions;

#[actix_web::test]
async fn a_read_that_requires_a_position_of_the_replica_is_local() {
    let regions = Regions::start().await;
    let created = regions
        .home
        .writer()
        .post("/api/agents", json!({"name": "Ada"}))
        .await;
    let position = created.header("x-consistency").to_owned();
    let path = created.header("location").to_owned();
    let read = regions.far.writer().request("GET", &path);
    let read = read.header("X-Consistency", &position).send().await;
    assert_eq!(read.header("x-served-by"), "replica");
    read.ok();
}

#[actix_web::test]
async fn a_cached_agent_is_read_again_before_a_read_that_requires_its_change() {
    let regions = Regions::start().await;
    let (home, far) = (regions.home.writer(), regions.far.reader());
    let created = home.post("/api/agents", json!({"name": "0"})).await;
    let path = created.header("location").to_owned();
    for number in 1..=50 {
        far.get(&path).await.ok();
        let name = number.to_string();
        let changed = home.patch(&path, json!({"name": name})).await;
        let position = changed.header("x-consistency").to_owned();
        let read = far.request("GET", &path);
        let read = read.header("X-Consistency", &position).send().await;
        assert_eq!(read.ok()["name"], name);
    }
}

#[actix_web::test]
async fn a_read_that_requires_a_later_position_is_answered_at_home() {
    let regions = Regions::start().await;
    let agent = regions.home.agent_id().await;
    let path = format!("/api/agents/{agent}");
    let read = |value: &str| {
        let read = regions.far.reader().request("GET", &path);
        read.header("X-Consistency", value).send()
    };
    let later = read("1000").await;
    assert_eq!(later.header("x-served-by"), "home");
    later.ok();
    read("-1").await.problem(ProblemCode::InvalidHeader);
    let events = regions.far.reader().get("/api/events?since=1000").await;
    events.problem(ProblemCode::CursorExpired);
}

#[actix_web::test]
async fn home_confirms_what_the_replica_does_not_know() {
    let regions = Regions::start().await;
    let unused = "/api/agents/019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";
    let response = regions.far.reader().get(unused).await;
    assert_eq!(response.header("x-served-by"), "home");
    response.problem(ProblemCode::AgentNotFound);
}
