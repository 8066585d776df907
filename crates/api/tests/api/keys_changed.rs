//! `PATCH` of keys and clients: what can change, and who may change it.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    keys::{fault, faults},
};

const KEYS: &str = "/api/keys";
const CLIENTS: &str = "/api/oauth-clients";

/// A key or client, and its path.
pub(crate) async fn create(caller: &Caller, collection: &str, scopes: &[&str]) -> (Value, String) {
    let draft = json!({"name": "ci", "scopes": scopes});
    let made = caller.post(collection, draft).await.created();
    let path = format!("{collection}/{}", id_of(&made));
    (made, path)
}

/// Two agents of the writer.
async fn two_agents(api: &ApiServer) -> [String; 2] {
    [api.agent_id().await, api.agent_id().await]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_member_is_set_and_restored() {
    let api = ApiServer::start().await;
    let [agent, _] = two_agents(&api).await;
    for collection in [KEYS, CLIENTS] {
        let (_, path) = create(&api.writer(), collection, &["chat:write"]).await;
        let mut expected = api.writer().get(&path).await.ok();
        let mut set = vec![
            ("name", json!("Zoë's 🦊")),
            ("agentIds", json!([agent])),
            ("expiresAt", json!("2999-01-31T00:00:00.000Z")),
            ("limits", json!({"chatBurst": 3, "streams": 0})),
        ];
        let mut restored = vec![
            ("agentIds", Value::Null),
            ("expiresAt", Value::Null),
            ("limits", json!({})),
        ];
        if collection == KEYS {
            set.push(("allowedOrigins", json!(["https://shop.example"])));
            restored.push(("allowedOrigins", json!([])));
        }
        for (member, value) in set {
            let patched = api.writer().patch(&path, json!({member: value})).await;
            expected[member] = value;
            assert_eq!(patched.ok(), expected, "{member}");
            assert_eq!(api.writer().get(&path).await.ok(), expected, "{member}");
        }
        let change = json!({"limits": {"chatBurst": null, "requestsBurst": 7}});
        expected["limits"] = json!({"requestsBurst": 7, "streams": 0});
        assert_eq!(api.writer().patch(&path, change).await.ok(), expected);
        for (member, value) in restored {
            let patched = api.writer().patch(&path, json!({member: null})).await;
            let members = expected.as_object_mut().expect("an object");
            if member == "agentIds" {
                members.remove(member);
            } else {
                members.insert(member.to_owned(), value);
            }
            assert_eq!(patched.ok(), expected, "{member}");
        }
        assert_eq!(api.writer().get(&path).await.ok(), expected);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_without_effect_succeeds() {
    let api = ApiServer::start().await;
    for collection in [KEYS, CLIENTS] {
        let (_, path) = create(&api.writer(), collection, &["chat:write"]).await;
        let before = api.writer().get(&path).await.ok();
        for change in [json!({}), json!({"name": "ci"}), json!({"limits": {}})] {
            assert_eq!(api.writer().patch(&path, change).await.ok(), before);
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_patches_change_nothing() {
    let api = ApiServer::start().await;
    let [agent, _] = two_agents(&api).await;
    for collection in [KEYS, CLIENTS] {
        let (_, path) = create(&api.writer(), collection, &["agents:write"]).await;
        let before = api.writer().get(&path).await.ok();
        for (patch, pointer, code) in [
            (
                json!({"scopes": ["chat:write"]}),
                "/scopes",
                "unknown_member",
            ),
            (json!({"id": "000000000000"}), "/id", "unknown_member"),
            (
                json!({"jwksUri": "https://a.example"}),
                "/jwksUri",
                "unknown_member",
            ),
            (
                json!({"limits": {"colour": 1}}),
                "/limits/colour",
                "unknown_member",
            ),
            (
                json!({"limits": {"chatBurst": 0}}),
                "/limits/chatBurst",
                "too_small",
            ),
            (json!({"name": null}), "/name", "wrong_type"),
            (json!({"name": ""}), "/name", "too_short"),
            (json!({"expiresAt": "soon"}), "/expiresAt", "bad_format"),
            (
                json!({"expiresAt": "2020-01-01T00:00:00Z"}),
                "/expiresAt",
                "too_small",
            ),
            (json!({"agentIds": []}), "/agentIds", "too_short"),
            (json!({"agentIds": [agent]}), "/agentIds", "not_combinable"),
        ] {
            let refused = api.writer().patch(&path, patch.clone()).await;
            assert_eq!(faults(&refused), [fault(pointer, code)], "{patch}");
        }
        assert_eq!(api.writer().get(&path).await.ok(), before);
    }
    let (_, client) = create(&api.writer(), CLIENTS, &["chat:write"]).await;
    let origins = json!({"allowedOrigins": ["https://shop.example"]});
    let refused = api.writer().patch(&client, origins).await;
    assert_eq!(
        faults(&refused),
        [fault("/allowedOrigins", "unknown_member")]
    );
    let (_, key) = create(&api.writer(), KEYS, &["chat:write"]).await;
    let origins = json!({"allowedOrigins": ["https://shop.example/path"]});
    let refused = api.writer().patch(&key, origins).await;
    assert_eq!(faults(&refused), [fault("/allowedOrigins/0", "bad_format")]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_changes_only_credentials_with_no_more_scopes() {
    let api = ApiServer::start().await;
    let manager = api.caller_with_scopes(&[Scope::KeysAdmin]).await;
    for collection in [KEYS, CLIENTS] {
        let (_, path) = create(&api.writer(), collection, &["agents:read"]).await;
        let refused = manager.patch(&path, json!({"name": "mine"})).await;
        let problem = refused.problem(ProblemCode::InsufficientScope);
        assert_eq!(problem["detail"], "The credential needs agents:read.");
        let (_, own) = create(&manager, collection, &["keys:admin"]).await;
        manager.patch(&own, json!({"name": "mine"})).await.ok();
        let refused = api.reader().patch(&path, json!({})).await;
        refused.problem(ProblemCode::InsufficientScope);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_and_foreign_credentials_are_not_found() {
    let api = ApiServer::start().await;
    for (collection, code) in [
        (KEYS, ProblemCode::KeyNotFound),
        (CLIENTS, ProblemCode::ClientNotFound),
    ] {
        let (_, path) = create(&api.writer(), collection, &["chat:write"]).await;
        let rename = || json!({"name": "new"});
        let foreign = api.other_tenant().patch(&path, rename()).await;
        foreign.problem(code);
        let unknown = format!("{collection}/000000000000");
        api.writer().patch(&unknown, rename()).await.problem(code);
        assert_eq!(api.writer().delete(&path).await.status, 204);
        let revoked = api.writer().get(&path).await.ok();
        for change in [rename(), json!({})] {
            api.writer().patch(&path, change).await.problem(code);
        }
        assert_eq!(api.writer().get(&path).await.ok(), revoked);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_extends_a_credential_beyond_their_own_agents() {
    let api = ApiServer::start().await;
    let [open, internal] = two_agents(&api).await;
    let scopes = ["keys:admin", "chat:write"];
    let draft = json!({"name": "shop", "scopes": scopes, "agentIds": [open]});
    let made = api.writer().post(KEYS, draft).await.created();
    let confined = api.caller(made["secret"].as_str());
    let itself = format!("{KEYS}/{}", id_of(&made));
    for (collection, code) in [
        (KEYS, ProblemCode::KeyNotFound),
        (CLIENTS, ProblemCode::ClientNotFound),
    ] {
        let (_, child) = create(&confined, collection, &["chat:write"]).await;
        for path in [&child, &itself] {
            let wider = json!({"agentIds": [open, internal]});
            let refused = confined.patch(path, wider).await;
            assert_eq!(faults(&refused), [fault("/agentIds/1", "unknown_value")]);
            let all = confined.patch(path, json!({"agentIds": null})).await;
            assert_eq!(all.ok()["agentIds"], json!([open]), "all of the caller's");
        }
        // A wider caller may extend it, which the confined one sees no more then.
        let wider = json!({"agentIds": [open, internal]});
        api.writer().patch(&child, wider).await.ok();
        let hidden = confined.patch(&child, json!({"name": "x"})).await;
        hidden.problem(code);
        let all = api.writer().patch(&child, json!({"agentIds": null})).await;
        assert_eq!(all.ok()["agentIds"], Value::Null);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_patches_do_not_undo_each_other() {
    let api = ApiServer::start().await;
    for collection in [KEYS, CLIENTS] {
        let (_, path) = create(&api.writer(), collection, &["chat:write"]).await;
        let patches = [
            json!({"name": "new"}),
            json!({"expiresAt": "2999-01-31T00:00:00.000Z"}),
            json!({"limits": {"chatBurst": 3}}),
            json!({"limits": {"streams": 4}}),
        ];
        let sent = patches.map(|patch| {
            let request = api.writer().request("PATCH", &path);
            request.json(&patch).begin()
        });
        for response in sent {
            response.await.expect("a response").ok();
        }
        let found = api.writer().get(&path).await.ok();
        assert_eq!(found["name"], "new");
        assert_eq!(found["expiresAt"], "2999-01-31T00:00:00.000Z");
        assert_eq!(found["limits"], json!({"chatBurst": 3, "streams": 4}));
    }
    api.stop().await;
}
