//! `Idempotency-Key` with rotations, and with clients without a secret.

use domain::ProblemCode;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    idempotency::{
        assert_repeats, assert_used_for, key_set, manager, post, request_with_key, signing_client,
    },
};

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_takes_effect_once_and_shows_its_secret_once() {
    let api = ApiServer::start().await;
    for kind in ["/api/keys", "/api/oauth-clients"] {
        let id = id_of(&api.writer().post(kind, manager()).await.created());
        let path = format!("{kind}/{id}/rotate");
        let rotated = post(&api, &path, &json!({"overlapSeconds": 60})).await.ok();
        let again = post(&api, &path, &json!({"overlapSeconds": 60})).await;
        assert_used_for(&id, &again);
        let secret = rotated["secret"].as_str().expect("a secret");
        assert!(!again.text().contains(secret), "{}", again.text());
        let read = api.writer().get(&format!("{kind}/{id}")).await.ok();
        assert_eq!(read["last4"], rotated["last4"]);
        for (path, other) in [
            (path.clone(), json!({"overlapSeconds": 61})),
            (path.clone(), json!({})),
            (
                format!("{kind}/000000000000/rotate"),
                json!({"overlapSeconds": 60}),
            ),
        ] {
            let response = post(&api, &path, &other).await;
            response.problem(ProblemCode::IdempotencyKeyReused);
        }
        // The same holds for deleted resources.
        assert_eq!(
            api.writer().delete(&format!("{kind}/{id}")).await.status,
            204
        );
        let again = post(&api, &path, &json!({"overlapSeconds": 60})).await;
        assert_used_for(&id, &again);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_without_body_equals_one_without_overlap() {
    let api = ApiServer::start().await;
    let id = id_of(&api.writer().post("/api/keys", manager()).await.created());
    let path = format!("/api/keys/{id}/rotate");
    request_with_key(&api, &path).send().await.ok();
    for same in [json!({}), json!({"overlapSeconds": 0})] {
        assert_used_for(&id, &post(&api, &path, &same).await);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_creation_of_a_client_without_secret_is_replayed() {
    let api = ApiServer::start().await;
    let kind = "/api/oauth-clients";
    let first = post(&api, kind, &signing_client()).await;
    let path = first.header("location").to_owned();
    let id = id_of(&first.created());
    assert_eq!(path, format!("{kind}/{id}"));
    assert_repeats(&first, &post(&api, kind, &signing_client()).await);
    let rotate = format!("{path}/rotate");
    let rotation = json!({"jwks": key_set("C")});
    let rotated = post(&api, &rotate, &rotation).await;
    assert_eq!(rotated.ok()["jwks"], key_set("C"));
    assert_repeats(&rotated, &post(&api, &rotate, &rotation).await);
    let other = post(&api, &rotate, &json!({"jwks": key_set("D")})).await;
    other.problem(ProblemCode::IdempotencyKeyReused);

    let change = json!({"name": "New", "limits": {"streams": 1}});
    api.writer().patch(&path, change).await.ok();
    let newer = json!({"jwks": key_set("D")});
    api.writer().post(&rotate, newer).await.ok();
    assert_eq!(api.writer().delete(&path).await.status, 204);
    let api = api.restart(ApiServerBuilder::default()).await;
    assert_repeats(&first, &post(&api, kind, &signing_client()).await);
    assert_repeats(&rotated, &post(&api, &rotate, &rotation).await);
    let read = api.writer().get(&path).await.ok();
    assert_eq!(read["jwks"], key_set("D"), "nothing was changed");
    api.stop().await;
}
