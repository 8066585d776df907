//! Filters of `GET /api/conversations`.

use domain::ProblemCode;
use serde_json::json;

use crate::api_server::{ApiServer, id_of};

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_filtered_by_time_metadata_and_rating() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for (user, day, shop) in [("ada", 1, "7"), ("bob", 2, "7"), ("eve", 3, "8")] {
        let at = format!("2024-05-0{day}T10:00:00Z");
        let body = json!({
            "agentId": agent, "userId": user, "metadata": {"shop": shop, "a.b": "c & d"},
            "messages": [{"role": "agent", "content": "Hello", "createdAt": at}],
        });
        let made = api.conversation(body).await;
        if day < 3 {
            let path = format!("/api/conversations/{}/messages", id_of(&made));
            let message = api.reader().get(&path).await.ok()["data"][0]["id"].clone();
            let path = format!("{path}/{}/feedback", message.as_str().unwrap());
            let rating = ["up", "down"][day - 1];
            let rating = json!({"rating": rating, "userId": user});
            assert_eq!(api.writer().put(&path, rating).await.status, 200);
        }
    }
    let users = async |query: &str| {
        let path = format!("/api/conversations?{query}");
        let page = api.reader().get(&path).await.ok();
        let listed = page["data"].as_array().unwrap().iter();
        listed
            .map(|it| it["userId"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(users("from=2024-05-02T10:00:00Z").await, ["eve", "bob"]);
    assert_eq!(users("to=2024-05-02T10:00:00Z").await, ["ada"]);
    assert_eq!(users("metadata.shop=7").await, ["bob", "ada"]);
    assert_eq!(users("metadata.shop=7&rating=up").await, ["ada"]);
    assert_eq!(users("metadata.a.b=c%20%26%20d&userId=eve").await, ["eve"]);
    assert_eq!(users("rating=down&agentId=7").await, Vec::<String>::new());
    assert_eq!(users("metadata.shop=9").await, Vec::<String>::new());
    let first = "/api/conversations?metadata.shop=7&limit=1";
    let first = api.reader().get(first).await.ok();
    let cursor = first["nextCursor"].as_str().unwrap();
    let next = format!("metadata.shop=7&limit=1&cursor={cursor}");
    assert_eq!(users(&next).await, ["ada"]);
    let other = format!("/api/conversations?metadata.shop=8&limit=1&cursor={cursor}");
    let other = api.reader().get(&other).await;
    other.problem(ProblemCode::InvalidCursor);
    for (query, parameter) in [
        ("rating=bad", "rating"),
        ("from=yesterday", "from"),
        ("metadata.=x", "metadata."),
        ("key=k&rating=up&agentId=7", "key"),
    ] {
        let path = format!("/api/conversations?{query}");
        let faults = api.reader().get(&path).await.faults();
        assert_eq!(faults[0].0, parameter, "{query}");
    }
    api.stop().await;
}
