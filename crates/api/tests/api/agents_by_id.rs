//! `GET /api/agents?ids=`.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, id_of};

fn ids(page: &Value) -> Vec<String> {
    page["data"]
        .as_array()
        .expect("items")
        .iter()
        .map(id_of)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_read_by_their_ids() {
    let api = ApiServer::start().await;
    let mut made = Vec::new();
    for name in ["Ada", "Bob", "Eve"] {
        made.push(id_of(&api.agent(json!({"name": name})).await));
    }
    let other = api
        .other_tenant()
        .post("/api/agents", json!({"name": "Mallory"}))
        .await;
    let foreign = id_of(&other.created());
    let unknown = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";
    let (ada, eve) = (&made[0], &made[2]);
    let path = format!("/api/agents?ids={ada},{unknown},nonsense,{eve},{foreign},{ada}");
    let page = api.reader().get(&path).await.ok();
    assert_eq!(
        ids(&page),
        [eve.clone(), ada.clone()],
        "newest first, each once"
    );
    assert_eq!(
        (&page["hasMore"], &page["nextCursor"]),
        (&json!(false), &Value::Null)
    );
    let none = api
        .reader()
        .get(&format!("/api/agents?ids={foreign}"))
        .await;
    assert_eq!(none.ok()["data"], json!([]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_by_their_ids_can_be_paged() {
    let api = ApiServer::start().await;
    let mut made = Vec::new();
    for number in 0..30 {
        made.push(id_of(
            &api.agent(json!({"name": format!("Agent {number}")})).await,
        ));
    }
    let path = format!("/api/agents?ids={}", made.join(","));
    let all = api.reader().get(&path).await.ok();
    made.reverse();
    assert_eq!(ids(&all), made, "not cut at the usual 20");
    let first = api.reader().get(&format!("{path}&limit=10")).await;
    let next = first
        .header("link")
        .trim_start_matches('<')
        .split('>')
        .next()
        .unwrap()
        .to_owned();
    let second = api.reader().get(&format!("{next}&limit=30")).await;
    second.problem(ProblemCode::ValidationFailed);
    let second = api.reader().get(&next).await.ok();
    assert_eq!([ids(&first.ok()), ids(&second)].concat(), made[..20]);
    let of_other_list = format!(
        "/api/agents?cursor={}",
        second["nextCursor"].as_str().unwrap()
    );
    api.reader()
        .get(&of_other_list)
        .await
        .problem(ProblemCode::InvalidCursor);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_limited_and_stand_alone() {
    let api = ApiServer::start().await;
    let id = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";
    let hundred = vec![id; 100].join(",");
    let fits = api
        .reader()
        .get(&format!("/api/agents?ids={hundred}"))
        .await;
    assert_eq!(fits.ok()["data"], json!([]));
    for (query, code) in [
        (format!("ids={}", vec!["a"; 101].join(",")), "too_many"),
        (format!("ids={hundred},{id}"), "too_long"),
        ("ids=".to_owned(), "too_short"),
        (format!("ids={id}&name=Ada"), "not_combinable"),
        (format!("ids={id}&capability=time"), "not_combinable"),
    ] {
        let response = api.reader().get(&format!("/api/agents?{query}")).await;
        response.problem(ProblemCode::ValidationFailed);
        let faults = response.faults();
        assert_eq!(faults[0].1, code, "{query}");
    }
    api.stop().await;
}
