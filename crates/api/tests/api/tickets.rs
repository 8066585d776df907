//! Tickets for sockets: fetched with a credential, and used where no header can be sent.

use domain::{ProblemCode, Scope, TicketText};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    caller::Caller,
    sockets::client::{RejectedUpgrade, Upgrade},
};

const PATH: &str = "/api/ws/tickets";
const SHOP: &str = "https://shop.example";
const OTHER: &str = "https://other.example";
const EVIL: &str = "https://evil.example";

/// A ticket for a page, or for none.
async fn ticket(caller: &Caller, page: Option<&str>) -> String {
    let request = caller.request("POST", PATH);
    let request = match page {
        Some(page) => request.header("Origin", page),
        None => request,
    };
    text(&request.send().await.created())
}

fn text(made: &Value) -> String {
    made["ticket"].as_str().expect("a ticket").to_owned()
}

/// Opens a socket with a query, from a page or from none.
async fn opened(api: &ApiServer, query: &str, page: Option<&str>) -> Result<(), RejectedUpgrade> {
    let upgrade = Upgrade::with_path(api, &format!("/api/ws?{query}"));
    let upgrade = match page {
        Some(page) => upgrade.header("Origin", page),
        None => upgrade,
    };
    upgrade.try_open().await.map(drop)
}

/// Returns whether a ticket opens a socket; otherwise the error must be the documented one.
async fn opens_socket(api: &ApiServer, ticket: &str, page: Option<&str>) -> bool {
    let Err(rejected) = opened(api, &format!("ticket={ticket}"), page).await else {
        return true;
    };
    assert_eq!(rejected.status_and_code(), (401, "invalid_ticket"));
    let challenge = rejected.headers["www-authenticate"].to_str().expect("text");
    assert!(challenge.starts_with("Bearer "), "{challenge}");
    assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    false
}

/// A service with two allowed origins.
async fn with_pages() -> ApiServer {
    let origins = "https://shop.example,https://other.example";
    let builder = ApiServerBuilder::default().setting("SERVER__ALLOWED_ORIGINS", origins);
    builder.start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_shown_once_and_works_once() {
    let api = ApiServer::start().await;
    let response = api.reader().request("POST", PATH).send().await;
    assert_eq!(response.header("cache-control"), "no-store");
    assert!(
        !response.has("location") && !response.has("etag"),
        "{response:?}"
    );
    let made = response.created();
    assert_eq!(made["expiresIn"], 30);
    assert_eq!(
        made.as_object().map(serde_json::Map::len),
        Some(2),
        "{made}"
    );
    let ticket = text(&made);
    let digits = ticket.strip_prefix("agt_").expect("the prefix of tickets");
    assert_eq!(digits.len(), 43);
    assert!(digits.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert!(opens_socket(&api, &ticket, None).await);
    assert!(!opens_socket(&api, &ticket, None).await);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_idempotency_key_gets_another_ticket() {
    let api = ApiServer::start().await;
    let mut tickets = Vec::new();
    for _ in 0..2 {
        let request = api.reader().request("POST", PATH);
        let response = request.header("Idempotency-Key", "k").send().await;
        assert!(!response.has("idempotency-replayed"), "{response:?}");
        tickets.push(text(&response.created()));
    }
    assert_ne!(tickets[0], tickets[1]);
    for ticket in &tickets {
        assert!(opens_socket(&api, ticket, None).await);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scopes_of_a_ticket_are_a_subset_that_can_open_a_socket() {
    let api = ApiServer::start().await;
    let caller = api
        .caller_with_scopes(&[Scope::AgentsRead, Scope::EventsRead])
        .await;
    for good in [
        json!({}),
        json!({"scopes": ["events:read"]}),
        json!({"scopes": ["events:read", "agents:read"]}),
    ] {
        caller.post(PATH, good).await.created();
    }
    for (bad, fault) in [
        (json!({"scopes": ["agents:read"]}), ("/scopes", "required")),
        (json!({"scopes": []}), ("/scopes", "too_short")),
        (json!({"scopes": null}), ("/scopes", "wrong_type")),
        (json!({"scopes": "events:read"}), ("/scopes", "wrong_type")),
        (json!({"scopes": ["all"]}), ("/scopes/0", "unknown_value")),
        (
            json!({"scope": "events:read"}),
            ("/scope", "unknown_member"),
        ),
    ] {
        let response = caller.post(PATH, bad.clone()).await;
        response.problem(ProblemCode::ValidationFailed);
        let expected = (fault.0.to_owned(), fault.1.to_owned());
        assert_eq!(response.faults(), [expected], "{bad}");
    }
    let scopes = json!({"scopes": ["events:read", "agents:write"]});
    let response = caller.post(PATH, scopes).await;
    response.problem(ProblemCode::InsufficientScope);
    let challenge = response.header("www-authenticate");
    assert!(challenge.ends_with("scope=\"agents:write\""), "{challenge}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_works_only_on_the_page_that_fetched_it() {
    let api = with_pages().await;
    let ticket = ticket(&api.reader(), Some(SHOP)).await;
    for page in [None, Some(OTHER)] {
        assert!(!opens_socket(&api, &ticket, page).await, "{page:?}");
    }
    // Rejected uses have not used it up.
    assert!(opens_socket(&api, &ticket, Some(SHOP)).await);
    assert!(!opens_socket(&api, &ticket, Some(SHOP)).await);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_handshake_does_not_use_up_the_ticket() {
    let api = with_pages().await;
    let ticket = ticket(&api.reader(), None).await;
    let query = format!("ticket={ticket}");
    let path = format!("/api/ws?{query}");
    let upgrade = || Upgrade::with_path(&api, &path);
    let rejected = upgrade().header("Sec-WebSocket-Protocol", "foreign");
    assert_eq!(
        rejected.expect_rejection().await.status_and_code(),
        (400, "invalid_subprotocol")
    );
    let rejected = opened(&api, &query, Some(EVIL)).await.unwrap_err();
    assert_eq!(rejected.status_and_code(), (403, "origin_not_allowed"));
    let rejected = opened(&api, &format!("{query}&more=1"), None).await;
    assert_eq!(
        rejected.unwrap_err().status_and_code(),
        (422, "validation_failed")
    );
    let mistyped = api.anonymous().request("GET", &path);
    let mistyped = mistyped
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "short");
    mistyped.send().await.problem(ProblemCode::InvalidHeader);
    let plain = api.anonymous().get(&path).await;
    plain.problem(ProblemCode::UpgradeRequired);
    assert!(
        opens_socket(&api, &ticket, None).await,
        "it was not used up"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_may_not_open_sockets_gets_no_ticket() {
    let api = with_pages().await;
    let request_ticket = async |page: &str| {
        let request = api.reader().request("POST", PATH);
        request.header("Origin", page).send().await
    };
    request_ticket(EVIL)
        .await
        .problem(ProblemCode::OriginNotAllowed);
    request_ticket(SHOP).await.created();
    request_ticket(&format!("http://{}", api.address))
        .await
        .created();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_has_the_origins_of_its_key() {
    let api = with_pages().await;
    let origins = vec![SHOP.to_owned()];
    let caller = api
        .caller_with_key(|key| key.allowed_origins = origins)
        .await;
    let on = async |page| {
        let ticket = ticket(&caller, None).await;
        opened(&api, &format!("ticket={ticket}"), page).await
    };
    let rejected = on(Some(OTHER)).await.unwrap_err();
    assert_eq!(rejected.status_and_code(), (403, "origin_not_allowed"));
    for page in [Some(SHOP), None] {
        assert!(on(page).await.is_ok(), "{page:?}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_invalidates_its_tickets() {
    let api = ApiServer::start().await;
    let caller = api.caller_with_scopes(&[Scope::EventsRead]).await;
    let (first, second) = (ticket(&caller, None).await, ticket(&caller, None).await);
    assert!(opens_socket(&api, &first, None).await);
    let id = &caller.key()[4..16];
    let revoked = api.writer().delete(&format!("/api/keys/{id}")).await;
    assert_eq!(revoked.status, 204);
    assert!(!opens_socket(&api, &second, None).await);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_beside_another_credential_is_ambiguous() {
    let api = ApiServer::start().await;
    let good = ticket(&api.reader(), None).await;
    let ours =
        Upgrade::with_path(&api, &format!("/api/ws?ticket={good}")).with_caller(&api.reader());
    assert_eq!(
        ours.expect_rejection().await.status_and_code(),
        (400, "ambiguous_credentials")
    );
    let duplicate = opened(&api, &format!("ticket={good}&ticket=x"), None).await;
    assert_eq!(
        duplicate.unwrap_err().status_and_code(),
        (400, "ambiguous_credentials")
    );
    assert!(opens_socket(&api, &good, None).await, "it was not used up");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_tickets_are_rejected() {
    let api = ApiServer::start().await;
    let key = api.reader().key().to_owned();
    for nothing in ["", "x", "agt_", &key, &"7".repeat(4_096)] {
        assert!(!opens_socket(&api, nothing, None).await, "{nothing}");
    }
    for no_text in ["%00", "%FF"] {
        let rejected = opened(&api, &format!("ticket={no_text}"), None).await;
        assert_eq!(
            rejected.unwrap_err().status_and_code(),
            (422, "validation_failed")
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_works_only_for_sockets() {
    let api = ApiServer::start().await;
    let ticket = ticket(&api.reader(), None).await;
    for path in ["/api/agents", "/api/events", "/api/ws/tickets", "/metrics"] {
        let response = api
            .anonymous()
            .get(&format!("{path}?ticket={ticket}"))
            .await;
        assert!(!response.has("ratelimit"), "{path}: {response:?}");
    }
    let bearer = api.caller(Some(&ticket)).get("/api/agents").await;
    bearer.problem(ProblemCode::InvalidCredentials);
    assert!(
        opens_socket(&api, &ticket, None).await,
        "it was not used up"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_contains_only_the_digest_of_a_ticket() {
    let api = ApiServer::start().await;
    let ticket = ticket(&api.reader(), None).await;
    let digest = TicketText::parse(&ticket).expect("a ticket").digest();
    let stored = api.storage.tickets.redeem(&digest).await.unwrap();
    let stored = serde_json::to_string(&stored.expect("the ticket")).expect("JSON");
    assert!(!stored.contains(&ticket[4..]), "{stored}");
    assert!(!opens_socket(&api, &ticket, None).await);
    api.stop().await;
}
