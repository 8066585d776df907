//! `/api/keys`: the validation of new keys.

use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    keys::{create_key, fault, faults},
};

/// The errors of a draft.
async fn draft_errors(api: &ApiServer, draft: Value) -> Vec<(String, String)> {
    faults(&api.writer().post("/api/keys", draft).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn all_errors_of_a_key_are_reported_at_once() {
    let api = ApiServer::start().await;
    let draft = json!({
        "name": "",
        "scopes": ["agents:read", "agents:own", "agents:read"],
        "expiresAt": "tomorrow",
        "allowedOrigins": ["https://a.example/", "https://b.example", "https://b.example"],
        "limits": {"requestsPerMinute": 0, "streams": -1, "chats": 1},
        "secret": "agk_mine",
    });
    assert_eq!(
        draft_errors(&api, draft).await,
        [
            fault("/allowedOrigins/0", "bad_format"),
            fault("/allowedOrigins/2", "duplicate_item"),
            fault("/expiresAt", "bad_format"),
            fault("/limits/chats", "unknown_member"),
            fault("/limits/requestsPerMinute", "too_small"),
            fault("/limits/streams", "too_small"),
            fault("/name", "too_short"),
            fault("/scopes/1", "unknown_value"),
            fault("/scopes/2", "duplicate_item"),
            fault("/secret", "unknown_member"),
        ]
    );
    // Errors beyond the schema are reported after schema errors.
    let draft = json!({
        "name": "ci", "scopes": ["agents:read"], "expiresAt": "2020-01-31T00:00:00Z",
        "allowedOrigins": ["https://shop.example:443"],
    });
    assert_eq!(
        draft_errors(&api, draft).await,
        [
            fault("/expiresAt", "too_small"),
            fault("/allowedOrigins/0", "bad_format"),
        ]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_an_expiry_after_the_year_9999() {
    let api = ApiServer::start().await;
    let mut draft = json!({"name": "ci", "scopes": ["agents:read"]});
    draft["expiresAt"] = "9999-12-31T23:59:59-00:01".into();
    assert_eq!(
        draft_errors(&api, draft.clone()).await,
        [fault("/expiresAt", "bad_format")]
    );
    draft["expiresAt"] = "9999-12-31T23:59:59.999Z".into();
    let key = create_key(&api.writer(), draft).await;
    assert_eq!(key["expiresAt"], "9999-12-31T23:59:59.999Z");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_needs_a_name_scopes_and_a_bounded_number_of_origins() {
    let api = ApiServer::start().await;
    let origins: Vec<String> = (0..33).map(|it| format!("https://a{it}.example")).collect();
    let name = "x".repeat(129);
    let draft = json!({"name": name, "scopes": [], "allowedOrigins": origins});
    assert_eq!(
        draft_errors(&api, draft).await,
        [
            fault("/allowedOrigins", "too_many"),
            fault("/name", "too_long"),
            fault("/scopes", "too_short"),
        ]
    );
    assert_eq!(
        draft_errors(&api, json!({})).await,
        [fault("/name", "required"), fault("/scopes", "required")]
    );
    let only_the_first = api.writer().get("/api/keys").await.ok();
    assert_eq!(only_the_first["hasMore"], false);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_must_have_the_spelling_of_browsers() {
    let api = ApiServer::start().await;
    for origin in [
        "*",
        "NULL",
        "https://Shop.example",
        "ftp://a.example",
        "https://*.example",
        "tauri://localhost/",
    ] {
        let draft = json!({"name": "ci", "scopes": ["agents:read"], "allowedOrigins": [origin]});
        assert_eq!(
            draft_errors(&api, draft).await,
            [fault("/allowedOrigins/0", "bad_format")],
            "{origin}"
        );
    }
    for origin in ["null", "tauri://localhost", "https://*.shop.example"] {
        let draft = json!({"name": "ci", "scopes": ["agents:read"], "allowedOrigins": [origin]});
        let made = api.writer().post("/api/keys", draft).await;
        assert_eq!(made.created()["allowedOrigins"], json!([origin]));
    }
    api.stop().await;
}
