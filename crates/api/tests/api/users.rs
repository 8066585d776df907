//! `/api/users`: what is stored about users.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    user_tokens::{BACKEND, backend, user},
};

const ADA: &str = "/api/users?userId=ada%20%E2%9C%93";

#[tokio::test(flavor = "multi_thread")]
async fn users_are_stored_changed_and_listed() {
    let api = ApiServer::start().await;
    let admin = api.writer();
    let content = json!({"name": "Ada", "context": "On plan Pro.", "metadata": {"crm": "7"}});
    let made = admin.put(ADA, content.clone()).await.created();
    let mut expected = content;
    expected["userId"] = "ada ✓".into();
    for member in ["createdAt", "updatedAt"] {
        expected[member] = made[member].clone();
    }
    assert_eq!(made, expected);
    let again = json!({"name": "Ada", "context": "On plan Pro.", "metadata": {"crm": "7"}});
    assert_eq!(admin.put(ADA, again).await.ok(), expected);
    let changed = json!({"name": null, "metadata": {"crm": null, "colour": "teal"}});
    let changed = admin.patch(ADA, changed).await.ok();
    assert_eq!(changed["name"], Value::Null);
    assert_eq!(changed["metadata"], json!({"colour": "teal"}));
    assert_eq!(changed["context"], "On plan Pro.");
    let eve = admin
        .put("/api/users?userId=eve", json!({}))
        .await
        .created();
    assert_eq!(
        (&eve["context"], &eve["metadata"]),
        (&json!(""), &json!({}))
    );
    let page = admin.get("/api/users?limit=1").await.ok();
    assert_eq!(
        (&page["data"], &page["hasMore"]),
        (&json!([eve]), &json!(true))
    );
    let cursor = page["nextCursor"].as_str().expect("a second page");
    let page = admin.get(&format!("/api/users?cursor={cursor}")).await.ok();
    assert_eq!(
        (&page["data"], &page["hasMore"]),
        (&json!([changed]), &json!(false))
    );
    assert_eq!(admin.get(ADA).await.ok()["data"], json!([changed]));
    let nobody = admin.get("/api/users?userId=bob").await.ok();
    assert_eq!(nobody["data"], json!([]));
    admin
        .get("/api/users?cursor=AAAA")
        .await
        .problem(ProblemCode::InvalidCursor);
    let log = admin
        .get("/api/events?since=0&types=user.updated")
        .await
        .ok();
    let events = log["data"].as_array().expect("events").iter();
    let ids: Vec<_> = events.map(|event| &event["data"]["userId"]).collect();
    assert_eq!(ids, ["ada ✓", "ada ✓", "eve"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_users_are_rejected() {
    let api = ApiServer::start().await;
    let admin = api.writer();
    admin
        .patch(ADA, json!({"name": "x"}))
        .await
        .problem(ProblemCode::UserNotFound);
    for (path, code) in [
        ("/api/users".to_owned(), "required"),
        ("/api/users?userId=".to_owned(), "too_short"),
        ("/api/users?userId=a%00b".to_owned(), "bad_character"),
        (format!("/api/users?userId={}", "x".repeat(321)), "too_long"),
        ("/api/users?userId=a&userID=b".to_owned(), "unknown_member"),
    ] {
        let faults = admin.put(&path, json!({})).await.faults();
        assert_eq!(faults[0].1, code, "{path}");
    }
    for (content, pointer) in [
        (json!({"name": "a\nb"}), "/name"),
        (json!({"name": "x".repeat(129)}), "/name"),
        (json!({"context": "x".repeat(8_001)}), "/context"),
        (json!({"metadata": {"": "x"}}), "/metadata"),
        (json!({"userId": "eve"}), "/userId"),
    ] {
        let faults = admin.put(ADA, content.clone()).await.faults();
        assert!(faults[0].0.starts_with(pointer), "{content}: {faults:?}");
    }
    assert_eq!(admin.get("/api/users").await.ok()["data"], json!([]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_admins_of_users_see_them() {
    let api = ApiServer::start().await;
    let content = json!({"name": "Ada", "context": "secret"});
    api.writer()
        .put("/api/users?userId=ada", content)
        .await
        .created();
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let without: Vec<_> = Scope::ALL
        .iter()
        .copied()
        .filter(|scope| *scope != Scope::UsersAdmin)
        .collect();
    let key = api.caller_with_scopes(&without).await;
    for caller in [&ada, &key] {
        caller
            .get("/api/users")
            .await
            .problem(ProblemCode::InsufficientScope);
        let change = caller.patch("/api/users?userId=ada", json!({})).await;
        change.problem(ProblemCode::InsufficientScope);
        let log = caller.get("/api/events?since=0").await;
        assert!(!log.text().contains("user.updated"), "{}", log.text());
    }
    let other = api.other_tenant();
    assert_eq!(other.get("/api/users").await.ok()["data"], json!([]));
    let confined =
        json!({"name": "x", "scopes": ["users:admin"], "agentIds": [api.agent_id().await]});
    let faults = api.writer().post("/api/keys", confined).await.faults();
    assert_eq!(faults[0].1, "not_combinable");
    api.stop().await;
}
