//! Quotas of uploads.

use domain::ProblemCode;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    response::ApiResponse,
    user_tokens::{BACKEND, backend, user},
};

async fn upload(caller: &Caller, text: &str) -> ApiResponse {
    upload_with_key(caller, text, None).await
}

async fn upload_with_key(caller: &Caller, text: &str, key: Option<&str>) -> ApiResponse {
    let request = caller.request("POST", "/api/files");
    let request = request
        .raw_body(text.to_owned())
        .header("Content-Type", "text/plain");
    let request = match key {
        Some(key) => request.header("Idempotency-Key", key),
        None => request,
    };
    request.send().await
}

fn violated(refused: &ApiResponse) -> String {
    let problem = refused.problem(ProblemCode::RateLimited);
    problem["violatedPolicies"][0]
        .as_str()
        .expect("a policy")
        .to_owned()
}

async fn limited() -> ApiServer {
    ApiServerBuilder::default()
        .setting("LIMITS__FILES__PER_DAY", "3")
        .setting("LIMITS__FILES__BYTES_PER_DAY", "100")
        .start()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_uploads_a_number_of_files_a_day() {
    let api = limited().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let (ada, bob) = (
        user(&api, &backend, "ada").await,
        user(&api, &backend, "bob").await,
    );
    let first = upload_with_key(&ada, "1", Some("k-1")).await;
    let policies = first.header("ratelimit-policy");
    assert!(
        policies.ends_with(r#", "files";q=3;w=86400, "file_bytes";q=100;w=86400"#),
        "{policies}"
    );
    let state = first.header("ratelimit");
    assert!(
        state.contains(r#""files";r=2;t="#) && state.contains(r#""file_bytes";r=99;t="#),
        "{state}"
    );
    let first = id_of(&first.created());
    upload(&ada, "2").await.created();
    // Refused uploads do not count, deleted ones do.
    upload(&ada, "<html>")
        .await
        .problem(ProblemCode::FileTypeNotAccepted);
    ada.delete(&format!("/api/files/{first}")).await;
    upload(&ada, "3").await.created();
    let refused = upload(&ada, "4").await;
    assert_eq!(violated(&refused), "files");
    let wait: u32 = refused.header("retry-after").parse().expect("seconds");
    assert!((1..=86_400).contains(&wait), "{wait}");
    assert!(refused.header("ratelimit").contains(r#""files";r=0;t="#));
    assert_eq!(
        violated(&upload_with_key(&ada, "4", Some("k-4")).await),
        "files"
    );
    // Its file is deleted, so it would be stored anew.
    let repeated = upload_with_key(&ada, "1", Some("k-1")).await;
    assert_eq!(violated(&repeated), "files");
    upload(&bob, "1").await.created();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_uploads_a_number_of_bytes_a_day() {
    let api = limited().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    upload(&ada, &"a".repeat(60)).await.created();
    assert_eq!(violated(&upload(&ada, &"a".repeat(41)).await), "file_bytes");
    upload(&ada, &"a".repeat(40)).await.created();
    assert_eq!(violated(&upload(&ada, "a").await), "file_bytes");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_have_only_limits_of_their_own() {
    let api = limited().await;
    for number in 0..4 {
        let stored = upload(&api.writer(), &number.to_string()).await;
        assert!(!stored.header("ratelimit").contains("files"));
        stored.created();
    }
    let limits = api.writer().get("/api/limits").await.ok();
    assert!(limits["rates"]["filesPerDay"].is_null(), "{limits}");
    let draft = json!({
        "name": "small", "scopes": ["chat:write"], "limits": {"filesPerDay": 1, "fileBytesPerDay": 50},
    });
    let key = api.writer().post("/api/keys", draft).await.created();
    let small = api.caller(key["secret"].as_str());
    let limits = small.get("/api/limits").await.ok();
    assert_eq!(limits["rates"]["filesPerDay"], 1);
    assert_eq!(limits["rates"]["fileBytesPerDay"], 50);
    upload(&small, "1").await.created();
    assert_eq!(violated(&upload(&small, "2").await), "files");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_of_a_key_count_for_the_key_whichever_user_it_names() {
    let api = limited().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let for_ada = async |caller: &Caller, text: &str| {
        let request = caller
            .request("POST", "/api/files")
            .raw_body(text.to_owned());
        let request = request.header("Content-Type", "text/plain");
        request.header("X-User-Id", "ada").send().await
    };
    for text in ["1", "2", "3", "4"] {
        for_ada(&backend, text).await.created();
    }
    let ada = user(&api, &backend, "ada").await;
    let first = upload(&ada, "1").await;
    assert!(first.header("ratelimit").contains(r#""files";r=2;t="#));
    let limited = api.caller_with_key(|key| key.limits.files_per_day = Some(1));
    let limited = limited.await;
    for_ada(&limited, "1").await.created();
    assert_eq!(violated(&for_ada(&limited, "2").await), "files");
    assert_eq!(violated(&upload(&limited, "2").await), "files");
    api.stop().await;
}
