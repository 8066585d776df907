//! Issue and redemption of tickets.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use access::{
    AccessError, AuthContext, Authenticator, CredentialEnd, IssuedCredential, IssuedTicket,
    PresentedCredential, TicketError, Tickets, operator,
};
use async_trait::async_trait;
use domain::{
    CallerClaims, CredentialKind, CredentialSource, FaultCode, LimitOverrides, Principal, Scope,
    SecretDigest, Timestamp,
};
use ports::{Clock as _, RepositoryError, TicketRepository};

use crate::{
    credential_fixture::{CredentialFixture, set, tenant, user},
    credential_status::wait_for_end,
    fixture::{Fixture, START},
    node::Node,
};
use Scope::{AgentsRead, AgentsWrite, ChatWrite, ConversationsAll, EventsRead};

const SECOND: Duration = Duration::from_secs(1);
const SHOP: Option<&str> = Some("https://shop.example");

/// The ticket service of one process.
fn tickets(fixture: &Fixture, authenticator: &Arc<Authenticator>) -> Tickets {
    Tickets::new(
        Arc::clone(&fixture.storage.tickets),
        Arc::clone(authenticator),
        fixture.ids.clone(),
    )
}

/// A key, and the context that it authenticates.
async fn caller(
    fixture: &CredentialFixture,
    scopes: &[Scope],
) -> (IssuedCredential, Arc<AuthContext>) {
    let key = fixture.key(scopes).await;
    let secret = key.secret.as_ref().expect("a secret");
    let presented = PresentedCredential::new(secret.reveal());
    let auth_context = fixture.local.authenticate(&presented).await;
    (key, auth_context.expect("a good key"))
}

/// Issues a ticket with all scopes of the caller that is not bound to a page.
async fn ticket(tickets: &Tickets, caller: &AuthContext) -> IssuedTicket {
    let issued = tickets.issue(caller, None, None).await;
    issued.expect("the caller may")
}

async fn is_good(tickets: &Tickets, text: &str, page: Option<&str>) -> bool {
    match tickets.redeem(text, page).await {
        Ok(_) => true,
        Err(AccessError::InvalidTicket) => false,
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_ticket_can_be_redeemed_once_on_any_node() {
    let fixture = CredentialFixture::new().await;
    let (_, caller) = caller(&fixture, &[AgentsRead, EventsRead]).await;
    let here = tickets(&fixture.base, &fixture.local);
    let elsewhere = tickets(&fixture.base, &fixture.remote);
    for _ in 0..2 {
        let issued = ticket(&here, &caller).await;
        assert_eq!(issued.expires_in, 30);
        let auth_context = elsewhere.redeem(issued.text.reveal(), None).await;
        assert_eq!(auth_context.unwrap(), caller);
        for tickets in [&here, &elsewhere] {
            assert!(!is_good(tickets, issued.text.reveal(), None).await);
        }
    }
}

#[tokio::test]
async fn a_ticket_grants_the_requested_scopes() {
    let fixture = CredentialFixture::new().await;
    let tickets = tickets(&fixture.base, &fixture.local);
    let (_, caller) = caller(&fixture, &[AgentsRead, ChatWrite, EventsRead]).await;
    for scopes in [&[EventsRead][..], &[ChatWrite, EventsRead]] {
        let issued = tickets.issue(&caller, Some(set(scopes)), None).await;
        let auth_context = tickets.redeem(issued.unwrap().text.reveal(), None).await;
        let expected = Principal {
            scopes: set(scopes),
            ..caller.principal.clone()
        };
        assert_eq!(auth_context.unwrap().principal, expected);
    }
}

#[tokio::test]
async fn a_ticket_cannot_exceed_the_scopes_of_its_caller() {
    let fixture = CredentialFixture::new().await;
    let tickets = tickets(&fixture.base, &fixture.local);
    let (_, caller) = caller(&fixture, &[AgentsRead, EventsRead]).await;
    let scopes = Some(set(&[AgentsWrite, ConversationsAll, EventsRead]));
    let rejected = tickets.issue(&caller, scopes, None).await;
    let Err(TicketError::MissingScopes(missing)) = rejected else {
        panic!("{rejected:?}");
    };
    assert_eq!(missing, set(&[AgentsWrite, ConversationsAll]));
}

#[tokio::test]
async fn a_ticket_needs_a_usable_scope() {
    let fixture = CredentialFixture::new().await;
    let tickets = tickets(&fixture.base, &fixture.local);
    let (_, caller) = caller(&fixture, &[AgentsRead, EventsRead]).await;
    for scopes in [&[AgentsRead][..], &[], &[AgentsWrite]] {
        let rejected = tickets.issue(&caller, Some(set(scopes)), None).await;
        let Err(TicketError::Invalid(faults)) = rejected else {
            panic!("{rejected:?}");
        };
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].pointer, "/scopes");
        assert_eq!(faults[0].code, FaultCode::Required);
    }
}

/// A repository that records the lifetimes of tickets.
#[derive(Default)]
struct Lives(Mutex<Vec<Duration>>);

#[async_trait]
impl TicketRepository for Lives {
    async fn insert(
        &self,
        _: &SecretDigest,
        _: &CallerClaims,
        life: Duration,
    ) -> Result<(), RepositoryError> {
        self.0.lock().expect("no panic").push(life);
        Ok(())
    }

    async fn find(&self, _: &SecretDigest) -> Result<Option<CallerClaims>, RepositoryError> {
        Ok(None)
    }

    async fn redeem(&self, _: &SecretDigest) -> Result<Option<CallerClaims>, RepositoryError> {
        Ok(None)
    }
}

#[tokio::test]
async fn a_ticket_is_valid_for_thirty_seconds() {
    let fixture = CredentialFixture::new().await;
    let (_, caller) = caller(&fixture, &[EventsRead]).await;
    let lives = Arc::new(Lives::default());
    let tickets = Tickets::new(
        lives.clone(),
        Arc::clone(&fixture.local),
        fixture.base.ids.clone(),
    );
    assert_eq!(ticket(&tickets, &caller).await.expires_in, 30);
    assert_eq!(*lives.0.lock().unwrap(), [30 * SECOND]);
}

#[tokio::test]
async fn a_wrong_clock_of_this_process_ends_no_ticket() {
    let fixture = CredentialFixture::new().await;
    let tickets = tickets(&fixture.base, &fixture.local);
    let (_, caller) = caller(&fixture, &[EventsRead]).await;
    let issued = ticket(&tickets, &caller).await;
    fixture.base.clock.forward(Duration::from_hours(1));
    assert!(is_good(&tickets, issued.text.reveal(), None).await);
}

#[tokio::test]
async fn an_invalid_ticket_is_rejected() {
    let fixture = CredentialFixture::new().await;
    let tickets = tickets(&fixture.base, &fixture.local);
    let (key, caller) = caller(&fixture, &[EventsRead]).await;
    let issued = ticket(&tickets, &caller).await;
    let text = issued.text.reveal();
    for nothing in [
        "",
        "agt_",
        &format!("agt_{}", "0".repeat(43)),
        &text[..46],
        &format!("{text}0"),
        &text.to_uppercase(),
        key.secret.as_ref().unwrap().reveal(),
    ] {
        assert!(!is_good(&tickets, nothing, None).await, "{nothing}");
    }
    assert!(is_good(&tickets, text, None).await);
}

#[tokio::test]
async fn a_ticket_is_bound_to_the_page_that_requested_it() {
    let fixture = CredentialFixture::new().await;
    let tickets = tickets(&fixture.base, &fixture.local);
    let (_, caller) = caller(&fixture, &[EventsRead]).await;
    for page in [
        None,
        Some("https://evil.example"),
        Some("https://shop.example:8443"),
        Some("http://shop.example"),
        Some(""),
    ] {
        let issued = tickets.issue(&caller, None, SHOP).await.unwrap();
        let text = issued.text.reveal();
        assert!(!is_good(&tickets, text, page).await, "{page:?}");
        assert!(is_good(&tickets, text, SHOP).await, "{page:?} used it up");
    }
}

#[tokio::test]
async fn a_ticket_that_is_bound_to_no_page_is_valid_on_any() {
    let fixture = CredentialFixture::new().await;
    let tickets = tickets(&fixture.base, &fixture.local);
    let (_, caller) = caller(&fixture, &[EventsRead]).await;
    for page in [None, SHOP] {
        let issued = ticket(&tickets, &caller).await;
        assert!(is_good(&tickets, issued.text.reveal(), page).await);
    }
}

#[tokio::test]
async fn a_ticket_is_valid_only_while_its_credential_is_valid() {
    let fixture = CredentialFixture::new().await;
    let tickets = tickets(&fixture.base, &fixture.local);
    let (key, caller) = caller(&fixture, &[EventsRead]).await;
    let [first, second, third] = [
        ticket(&tickets, &caller).await,
        ticket(&tickets, &caller).await,
        ticket(&tickets, &caller).await,
    ];
    let new = fixture.rotate(&key, Some(5)).await.unwrap();
    let auth_context = tickets.redeem(first.text.reveal(), None).await.unwrap();
    assert_eq!(auth_context.ends_at, Some(START + 5 * SECOND));
    let mut watch = fixture.local.watch_credential(auth_context);
    fixture.base.clock.forward(5 * SECOND);
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Expired);
    assert!(!is_good(&tickets, second.text.reveal(), None).await);

    let presented = PresentedCredential::new(new.reveal());
    let caller = fixture.local.authenticate(&presented).await.unwrap();
    let fourth = ticket(&tickets, &caller).await;
    let fifth = ticket(&tickets, &caller).await;
    let auth_context = tickets.redeem(fourth.text.reveal(), None).await.unwrap();
    let mut watch = fixture.local.watch_credential(auth_context);
    let (operator, id) = (operator(tenant()), &key.credential.id);
    let revoked = fixture.service.revoke(&operator, CredentialKind::Key, id);
    revoked.await.unwrap();
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
    for late in [third, fifth] {
        assert!(!is_good(&tickets, late.text.reveal(), None).await);
    }
}

#[tokio::test]
async fn the_ticket_of_a_token_is_valid_until_the_leeway_of_the_token_ends() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    node.authenticator.refresh().await.unwrap();
    let tickets = tickets(&fixture, &node.authenticator);
    let scopes = set(&[EventsRead]);
    let (_, secret) = fixture.client(|client| client.scopes = scopes).await;
    let token = node.token(&secret).await;
    let presented = PresentedCredential::new(&token);
    let caller = node.authenticator.authenticate(&presented).await.unwrap();
    for (at, expected) in [(600_000, true), (629_999, true), (630_000, false)] {
        let now = fixture.clock.now();
        let at = START + Duration::from_millis(at);
        fixture.clock.forward(at.since(now).saturating_sub(SECOND));
        let issued = ticket(&tickets, &caller).await;
        fixture.clock.forward(at.since(fixture.clock.now()));
        let is_good = is_good(&tickets, issued.text.reveal(), None).await;
        assert_eq!(is_good, expected, "at {at}");
    }
}

#[tokio::test]
async fn the_ticket_of_a_user_authenticates_that_user() {
    let fixture = CredentialFixture::new().await;
    let tickets = tickets(&fixture.base, &fixture.local);
    let ends_at: Timestamp = START + 600 * SECOND;
    let ada = AuthContext {
        principal: user(&[ConversationsAll, EventsRead]),
        credential: None,
        source: Arc::new(CredentialSource::ExternalToken),
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        ends_at: Some(ends_at),
    };
    let issued = ticket(&tickets, &ada).await;
    let auth_context = tickets.redeem(issued.text.reveal(), None).await.unwrap();
    assert_eq!(*auth_context, ada);
    let scopes = Some(set(&[EventsRead]));
    let issued = tickets.issue(&ada, scopes, None).await.unwrap();
    let auth_context = tickets.redeem(issued.text.reveal(), None).await.unwrap();
    assert_eq!(auth_context.principal.confined_to(), Some("main~ada"));
}
