//! Tickets for sockets: fetched with a credential, and taken where none can be sent.

use domain::{ProblemCode, Scope, TicketText};
use serde_json::{Value, json};

use crate::{
    caller::Caller,
    harness::{Api, Plan},
    sockets::client::{Refused, Upgrade},
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
    text(&request.send().await.made())
}

fn text(made: &Value) -> String {
    made["ticket"].as_str().expect("a ticket").to_owned()
}

/// Opens a socket with a query, from a page or from none.
async fn opened(api: &Api, query: &str, page: Option<&str>) -> Result<(), Refused> {
    let upgrade = Upgrade::at(api, &format!("/api/ws?{query}"));
    let upgrade = match page {
        Some(page) => upgrade.header("Origin", page),
        None => upgrade,
    };
    upgrade.try_open().await.map(drop)
}

/// Whether a ticket lets in; who is not let in is told why.
async fn lets_in(api: &Api, ticket: &str, page: Option<&str>) -> bool {
    let Err(refused) = opened(api, &format!("ticket={ticket}"), page).await else {
        return true;
    };
    assert_eq!(refused.shown(), (401, "invalid_ticket"));
    let challenge = refused.headers["www-authenticate"].to_str().expect("text");
    assert!(challenge.starts_with("Bearer "), "{challenge}");
    assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    false
}

/// A service that lets pages of the shop and of another origin open sockets.
async fn with_pages() -> Api {
    let origins = "https://shop.example,https://other.example";
    let plan = Plan::default().setting("SERVER__ALLOWED_ORIGINS", origins);
    plan.start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_told_once_with_its_time_and_lets_in_once() {
    let api = Api::start().await;
    let answer = api.reader().request("POST", PATH).send().await;
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(!answer.has("location") && !answer.has("etag"), "{answer:?}");
    let made = answer.made();
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
    assert!(lets_in(&api, &ticket, None).await);
    assert!(!lets_in(&api, &ticket, None).await);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_idempotency_key_gets_another_ticket() {
    let api = Api::start().await;
    let mut tickets = Vec::new();
    for _ in 0..2 {
        let request = api.reader().request("POST", PATH);
        let answer = request.header("Idempotency-Key", "k").send().await;
        assert!(!answer.has("idempotency-replayed"), "{answer:?}");
        tickets.push(text(&answer.made()));
    }
    assert_ne!(tickets[0], tickets[1]);
    for ticket in &tickets {
        assert!(lets_in(&api, ticket, None).await);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_asked_for_with_scopes_of_the_caller_that_open_a_socket() {
    let api = Api::start().await;
    let caller = api.holder_of(&[Scope::AgentsRead, Scope::EventsRead]).await;
    for good in [
        json!({}),
        json!({"scopes": ["events:read"]}),
        json!({"scopes": ["events:read", "agents:read"]}),
    ] {
        caller.post(PATH, good).await.made();
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
        let answer = caller.post(PATH, bad.clone()).await;
        answer.problem(ProblemCode::ValidationFailed);
        let expected = (fault.0.to_owned(), fault.1.to_owned());
        assert_eq!(answer.faults(), [expected], "{bad}");
    }
    let scopes = json!({"scopes": ["events:read", "agents:write"]});
    let answer = caller.post(PATH, scopes).await;
    answer.problem(ProblemCode::InsufficientScope);
    let challenge = answer.header("www-authenticate");
    assert!(challenge.ends_with("scope=\"agents:write\""), "{challenge}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_lets_in_on_the_page_that_fetched_it_alone() {
    let api = with_pages().await;
    let ticket = ticket(&api.reader(), Some(SHOP)).await;
    for page in [None, Some(OTHER)] {
        assert!(!lets_in(&api, &ticket, page).await, "{page:?}");
    }
    // Those who may not use it have left it as it was.
    assert!(lets_in(&api, &ticket, Some(SHOP)).await);
    assert!(!lets_in(&api, &ticket, Some(SHOP)).await);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_opens_no_socket_leaves_the_ticket() {
    let api = with_pages().await;
    let ticket = ticket(&api.reader(), None).await;
    let query = format!("ticket={ticket}");
    let path = format!("/api/ws?{query}");
    let upgrade = || Upgrade::at(&api, &path);
    let refused = upgrade().header("Sec-WebSocket-Protocol", "foreign");
    assert_eq!(
        refused.refused().await.shown(),
        (400, "invalid_subprotocol")
    );
    let refused = opened(&api, &query, Some(EVIL)).await.unwrap_err();
    assert_eq!(refused.shown(), (403, "origin_not_allowed"));
    let refused = opened(&api, &format!("{query}&more=1"), None).await;
    assert_eq!(refused.unwrap_err().shown(), (422, "validation_failed"));
    let mistyped = api.anonymous().request("GET", &path);
    let mistyped = mistyped
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "short");
    mistyped.send().await.problem(ProblemCode::InvalidHeader);
    let plain = api.anonymous().get(&path).await;
    plain.problem(ProblemCode::UpgradeRequired);
    assert!(lets_in(&api, &ticket, None).await, "it was not used up");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_may_open_no_socket_gets_no_ticket() {
    let api = with_pages().await;
    let asked = async |page: &str| {
        let request = api.reader().request("POST", PATH);
        request.header("Origin", page).send().await
    };
    asked(EVIL).await.problem(ProblemCode::OriginNotAllowed);
    asked(SHOP).await.made();
    asked(&format!("http://{}", api.address)).await.made();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ticket_of_a_key_of_some_pages_is_for_these() {
    let api = with_pages().await;
    let origins = vec![SHOP.to_owned()];
    let caller = api.holder_with(|key| key.allowed_origins = origins).await;
    let on = async |page| {
        let ticket = ticket(&caller, None).await;
        opened(&api, &format!("ticket={ticket}"), page).await
    };
    let refused = on(Some(OTHER)).await.unwrap_err();
    assert_eq!(refused.shown(), (403, "origin_not_allowed"));
    for page in [Some(SHOP), None] {
        assert!(on(page).await.is_ok(), "{page:?}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_takes_its_tickets_with_it() {
    let api = Api::start().await;
    let caller = api.holder_of(&[Scope::EventsRead]).await;
    let (first, second) = (ticket(&caller, None).await, ticket(&caller, None).await);
    assert!(lets_in(&api, &first, None).await);
    let id = &caller.key()[4..16];
    let revoked = api.writer().delete(&format!("/api/keys/{id}")).await;
    assert_eq!(revoked.status, 204);
    assert!(!lets_in(&api, &second, None).await);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_beside_another_credential_is_ambiguous() {
    let api = Api::start().await;
    let good = ticket(&api.reader(), None).await;
    let ours = Upgrade::at(&api, &format!("/api/ws?ticket={good}")).by(&api.reader());
    assert_eq!(ours.refused().await.shown(), (400, "ambiguous_credentials"));
    let twice = opened(&api, &format!("ticket={good}&ticket=x"), None).await;
    assert_eq!(twice.unwrap_err().shown(), (400, "ambiguous_credentials"));
    assert!(lets_in(&api, &good, None).await, "it was not used up");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_ticket_is_refused() {
    let api = Api::start().await;
    let key = api.reader().key().to_owned();
    for nothing in ["", "x", "agt_", &key, &"7".repeat(4_096)] {
        assert!(!lets_in(&api, nothing, None).await, "{nothing}");
    }
    for no_text in ["%00", "%FF"] {
        let refused = opened(&api, &format!("ticket={no_text}"), None).await;
        assert_eq!(refused.unwrap_err().shown(), (422, "validation_failed"));
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_lets_in_nowhere_else() {
    let api = Api::start().await;
    let ticket = ticket(&api.reader(), None).await;
    for path in ["/api/agents", "/api/events", "/api/ws/tickets", "/metrics"] {
        let answer = api
            .anonymous()
            .get(&format!("{path}?ticket={ticket}"))
            .await;
        assert!(!answer.has("ratelimit"), "{path}: {answer:?}");
    }
    let bearer = api.caller(Some(&ticket)).get("/api/agents").await;
    bearer.problem(ProblemCode::InvalidCredentials);
    assert!(lets_in(&api, &ticket, None).await, "it was not used up");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_knows_a_ticket_by_its_digest_alone() {
    let api = Api::start().await;
    let ticket = ticket(&api.reader(), None).await;
    let digest = TicketText::parse(&ticket).expect("a ticket").digest();
    let stored = api.storage.tickets.redeem(&digest).await.unwrap();
    let stored = serde_json::to_string(&stored.expect("the ticket")).expect("JSON");
    assert!(!stored.contains(&ticket[4..]), "{stored}");
    assert!(!lets_in(&api, &ticket, None).await);
    api.stop().await;
}
