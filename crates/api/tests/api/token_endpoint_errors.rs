//! `/oauth2/…`: every error is an OAuth error, in every layer.

use std::sync::Arc;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    oauth::{Client, GRANT, basic, endpoint},
    raw,
    response::ApiResponse,
    storage_probe::{InjectedFault, StorageProbe},
};

fn received(status: u16, error: &str) -> (u16, String) {
    (status, error.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mistake_has_its_error_code() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    for (parameters, status, error) in [
        (vec![], 400, "invalid_request"),
        (vec![("grant_type", "")], 400, "invalid_request"),
        (
            vec![("grant_type", "password")],
            400,
            "unsupported_grant_type",
        ),
        (vec![GRANT, ("scope", "agents:write")], 400, "invalid_scope"),
        (vec![GRANT, ("scope", "nonsense")], 400, "invalid_scope"),
        (
            vec![GRANT, ("resource", "https://other.example")],
            400,
            "invalid_target",
        ),
        (vec![GRANT, GRANT], 400, "invalid_request"),
        (vec![GRANT, ("a", "1"), ("a", "2")], 400, "invalid_request"),
        (vec![GRANT, ("client_secret", "x")], 400, "invalid_request"),
        (
            vec![GRANT, ("client_assertion", "x")],
            400,
            "invalid_request",
        ),
        (
            vec![GRANT, ("client_id", "another")],
            400,
            "invalid_request",
        ),
    ] {
        let response = client.ask(&api, "/oauth2/token", &parameters).await;
        assert_eq!(
            response.oauth_error(),
            received(status, error),
            "{parameters:?}: {}",
            response.text()
        );
    }
    let own = [GRANT, ("scope", ""), ("client_id", client.id.as_str())];
    client.ask(&api, "/oauth2/token", &own).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_client_authentication_has_the_same_error_at_every_endpoint() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let other = Client::make(&api, &["agents:read"]).await;
    let key = api.writer().key().to_owned();
    let mut texts = std::collections::BTreeSet::new();
    for path in ["/oauth2/token", "/oauth2/revoke", "/oauth2/introspect"] {
        let form = [GRANT, ("token", "x")];
        for shown in [
            basic(&client.id, &other.secret),
            basic(&client.id, ""),
            basic("", &client.secret),
            basic("000000000000", &client.secret),
            basic(&client.id, "100%"),
            "Basic".to_owned(),
            "Basic !".to_owned(),
            format!("Bearer {key}"),
        ] {
            let request = endpoint(&api, path).header("Authorization", &shown);
            let response = request.form(&form).send().await;
            assert_eq!(
                response.oauth_error(),
                received(401, "invalid_client"),
                "{shown}"
            );
            let challenge = response.header("www-authenticate");
            assert_eq!(challenge, "Basic realm=\"agent-service\"");
            texts.insert(response.text().to_owned());
        }
        let response = endpoint(&api, path).form(&form).send().await;
        assert_eq!(response.oauth_error(), received(401, "invalid_client"));
        texts.insert(response.text().to_owned());
        let twice = endpoint(&api, path).header("Authorization", &client.basic());
        let twice = twice.header("Authorization", &client.basic());
        let response = twice.form(&form).send().await;
        assert_eq!(response.oauth_error(), received(400, "invalid_request"));
    }
    assert_eq!(texts.len(), 1, "{texts:?}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_forms_are_accepted() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let body = "grant_type=client_credentials";
    let form = "application/x-www-form-urlencoded";
    for (media_type, body, is_good) in [
        (form, body, true),
        (
            "Application/X-WWW-Form-URLEncoded; charset=UTF-8",
            body,
            true,
        ),
        ("application/json", body, false),
        (
            "application/json",
            r#"{"grant_type":"client_credentials"}"#,
            false,
        ),
        ("text/plain", body, false),
        ("multipart/form-data; boundary=x", body, false),
        (form, "grant_type=client_credentials&a=%", false),
        (form, "grant_type=client_credentials&%ff=1", false),
        (form, "", false),
    ] {
        let request = endpoint(&api, "/oauth2/token").header("Authorization", &client.basic());
        let request = request.header("Content-Type", media_type);
        let response = request.raw_body(body).send().await;
        if is_good {
            response.ok();
        } else {
            let expected = received(400, "invalid_request");
            assert_eq!(response.oauth_error(), expected, "{media_type} {body}");
        }
    }
    let request = endpoint(&api, "/oauth2/token").header("Authorization", &client.basic());
    let response = request.raw_body(body).send().await;
    assert_eq!(
        response.oauth_error(),
        received(400, "invalid_request"),
        "of no type"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_middleware_are_oauth_errors_too() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let anonymous = api.anonymous();
    for path in ["/oauth2/token", "/oauth2/revoke", "/oauth2/introspect"] {
        for method in ["GET", "PUT", "PATCH", "DELETE"] {
            let response = anonymous.request(method, path).send().await;
            assert_eq!(response.oauth_error(), received(405, "invalid_request"));
            assert_eq!(response.header("allow"), "POST, OPTIONS");
        }
        let response = anonymous.request("OPTIONS", path).send().await;
        assert_eq!((response.status, response.body.len()), (204, 0));
        let request = endpoint(&api, path).header("Content-Encoding", "gzip");
        let response = request.form(&[GRANT]).send().await;
        assert_eq!(response.oauth_error(), received(415, "invalid_request"));
        let long = "x".repeat(300_000);
        let response = endpoint(&api, path).form(&[("token", &long)]).send().await;
        assert_eq!(response.oauth_error(), received(413, "invalid_request"));
        let target = format!("{path}?{}", "x".repeat(9_000));
        let response = endpoint(&api, &target).form(&[GRANT]).send().await;
        assert_eq!(response.oauth_error(), received(414, "invalid_request"));
    }
    let response = client.ask(&api, "/oauth2/authorize", &[GRANT]).await;
    assert_eq!(response.oauth_error(), received(404, "invalid_request"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_arrive_times_out() {
    let builder = ApiServerBuilder::default().setting("LIMITS__BODY_SECONDS", "1");
    let api = builder.start().await;
    let request = "POST /oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc";
    let response = raw::answer(api.address, request).await;
    assert_eq!(response.oauth_error(), received(408, "invalid_request"));
    api.stop().await;
}

/// The response to a client while calls of this name hit a fault.
async fn answer_during(
    probe: &StorageProbe,
    api: &ApiServer,
    call: &'static str,
    what: InjectedFault,
) -> ApiResponse {
    let client = Client::make(api, &["agents:read"]).await;
    let token = client.token(api).await;
    probe.inject(call, what);
    let path = match call {
        "tokens.revoke" => "/oauth2/revoke",
        _ => "/oauth2/introspect",
    };
    let response = client.ask(api, path, &[("token", &token)]).await;
    probe.clear_faults();
    response
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_store_is_not_a_client_error() {
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let api = ApiServerBuilder::default()
        .wrap_storage(move |storage| wrapped.wrap_storage(storage))
        .start()
        .await;
    for call in ["credentials.find", "tokens.is_revoked", "tokens.revoke"] {
        for (fault, status, error) in [
            (InjectedFault::Unavailable, 503, "temporarily_unavailable"),
            (InjectedFault::Corrupt, 500, "server_error"),
            (InjectedFault::Panic, 500, "server_error"),
        ] {
            let response = answer_during(&probe, &api, call, fault).await;
            assert_eq!(response.oauth_error(), received(status, error), "{call}");
            assert!(!response.text().contains("10.0.0.7"), "{}", response.text());
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_credentials_are_ignored_at_oauth_endpoints() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let request = endpoint(&api, "/oauth2/token").header("X-API-Key", "nonsense");
    request.form(&client.form(&[GRANT])).send().await.ok();
    for path in [
        "/.well-known/jwks.json",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource",
    ] {
        let request = api.anonymous().request("GET", path);
        request
            .header("Authorization", "nonsense")
            .send()
            .await
            .ok();
    }
    api.stop().await;
}

#[cfg(feature = "address-guard")]
#[tokio::test(flavor = "multi_thread")]
async fn too_frequent_requests_receive_retry_after() {
    let builder = ApiServerBuilder::default().setting("LIMITS__ADDRESS__PER_MINUTE", "1");
    let api = builder.setting("LIMITS__ADDRESS__BURST", "1").start().await;
    let first = endpoint(&api, "/oauth2/token").form(&[GRANT]).send().await;
    assert_eq!(first.oauth_error(), received(401, "invalid_client"));
    let second = endpoint(&api, "/oauth2/token").form(&[GRANT]).send().await;
    assert_eq!(
        second.oauth_error(),
        received(429, "temporarily_unavailable")
    );
    api.stop().await;
}
