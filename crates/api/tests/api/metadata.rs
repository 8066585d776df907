//! `/.well-known/…`: discovery metadata for clients.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    raw,
};

const SERVER: &str = "/.well-known/oauth-authorization-server";
const RESOURCE: &str = "/.well-known/oauth-protected-resource";

fn scopes() -> Vec<&'static str> {
    Scope::ALL.iter().map(|scope| scope.as_str()).collect()
}

fn authorization_server_at(url: &str) -> Value {
    let methods = json!([
        "client_secret_basic",
        "client_secret_post",
        "private_key_jwt"
    ]);
    let algorithms = json!(["ES256", "ES384", "RS256", "PS256", "EdDSA"]);
    json!({
        "issuer": url,
        "token_endpoint": format!("{url}/oauth2/token"),
        "revocation_endpoint": format!("{url}/oauth2/revoke"),
        "introspection_endpoint": format!("{url}/oauth2/introspect"),
        "jwks_uri": format!("{url}/.well-known/jwks.json"),
        "scopes_supported": scopes(),
        "response_types_supported": [],
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": methods,
        "token_endpoint_auth_signing_alg_values_supported": algorithms,
        "revocation_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_signing_alg_values_supported": algorithms,
        "introspection_endpoint_auth_methods_supported": methods,
        "introspection_endpoint_auth_signing_alg_values_supported": algorithms,
        "service_documentation": format!("{url}/docs/"),
    })
}

fn protected_resource_at(url: &str, issuers: &[&str]) -> Value {
    json!({
        "resource": url,
        "authorization_servers": issuers,
        "jwks_uri": format!("{url}/.well-known/jwks.json"),
        "scopes_supported": scopes(),
        "bearer_methods_supported": ["header"],
        "resource_name": "Agent Service",
        "resource_documentation": format!("{url}/docs/"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_contains_urls_under_the_public_url() {
    let issuer = "https://id.example.org/realms/main";
    let url = "https://agents.example.org";
    let api = ApiServerBuilder::default()
        .setting("SERVER__PUBLIC_URL", url)
        .setting("AUTH__ISSUERS__MAIN__ISSUER", issuer)
        .setting("AUTH__ISSUERS__MAIN__AUDIENCES", url)
        .start()
        .await;
    let anonymous = api.anonymous();
    assert_eq!(
        anonymous.get(SERVER).await.ok(),
        authorization_server_at(url)
    );
    assert_eq!(
        anonymous.get(RESOURCE).await.ok(),
        protected_resource_at(url, &[url, issuer])
    );
    // For any `Host` header.
    let request =
        format!("GET {SERVER} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    let response = raw::answer(api.address, request).await;
    assert_eq!(response.ok(), authorization_server_at(url));
    for path in [SERVER, RESOURCE] {
        let at_path = format!("{path}/v");
        anonymous
            .get(&at_path)
            .await
            .problem(ProblemCode::RouteNotFound);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_of_a_public_url_with_a_path_has_two_locations() {
    let url = "https://example.org/tools/agents";
    let builder = ApiServerBuilder::default().setting("SERVER__PUBLIC_URL", url);
    let api = builder.start().await;
    let anonymous = api.anonymous();
    for (path, expected) in [
        (SERVER, authorization_server_at(url)),
        (RESOURCE, protected_resource_at(url, &[url])),
    ] {
        assert_eq!(anonymous.get(path).await.ok(), expected);
        // RFC 8414 and RFC 9728 put the well-known part before the path.
        let at_path = format!("{path}/tools/agents");
        assert_eq!(anonymous.get(&at_path).await.ok(), expected);
        for other in ["", "tools", "tools/agents/more", "other"] {
            let response = anonymous.get(&format!("{path}/{other}")).await;
            response.problem(ProblemCode::RouteNotFound);
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_set_contains_complete_public_keys_only() {
    let api = ApiServer::start().await;
    let response = api.anonymous().get("/.well-known/jwks.json").await;
    assert_eq!(response.header("cache-control"), "public, max-age=300");
    let set = response.ok();
    let keys = set["keys"].as_array().expect("keys");
    assert_eq!(
        (set.as_object().map(serde_json::Map::len), keys.len()),
        (Some(1), 1)
    );
    let key = keys[0].as_object().expect("a key");
    let members: Vec<&str> = key.keys().map(String::as_str).collect();
    assert_eq!(members, ["alg", "crv", "kid", "kty", "use", "x", "y"]);
    for (member, expected) in [
        ("kty", "EC"),
        ("crv", "P-256"),
        ("alg", "ES256"),
        ("use", "sig"),
    ] {
        assert_eq!(key[member], expected);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unauthenticated_response_links_to_the_token_issuer() {
    let api = ApiServer::start().await;
    let http = reqwest::Client::new();
    let read = async |url: &str| -> Value {
        let response = http.get(url).send().await.expect("an answer");
        response.json().await.expect("JSON")
    };
    let unknown = api.caller(Some("nonsense"));
    for response in [
        api.anonymous().get("/api/agents").await,
        unknown.get("/api/agents").await,
    ] {
        assert_eq!(response.status, 401);
        let challenge = response.header("www-authenticate");
        let (_, rest) = challenge
            .split_once("resource_metadata=\"")
            .expect("where to look");
        let (address, _) = rest.split_once('"').expect("its end");
        let resource = read(address).await;
        let server = resource["authorization_servers"][0].as_str();
        let server = read(&format!("{}{SERVER}", server.expect("a server"))).await;
        let url = format!("http://{}", api.address);
        assert_eq!(
            (&resource["resource"], &server["issuer"]),
            (&json!(url), &json!(url))
        );
        let token_endpoint = server["token_endpoint"].as_str().expect("an endpoint");
        let response = http.post(token_endpoint).send().await.expect("an answer");
        assert_eq!(response.status(), 400);
    }
    api.stop().await;
}
