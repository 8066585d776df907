//! Creation, rotation and distribution of signing keys.

use std::{sync::Arc, time::Duration};

use access::signing_keys::PreviousKeys;
use domain::SigningKey;
use futures::future::join_all;

use crate::{
    fixture::{Fixture, ManualClock},
    node::{MAXIMUM_AGE, Node},
};

const SECOND: Duration = Duration::from_secs(1);
const OVERLAP: Duration = Duration::from_hours(25);

async fn stored(fixture: &Fixture) -> Vec<SigningKey> {
    let keys = fixture.storage.signing_keys.list().await;
    keys.expect("a store")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_eight_processes_that_start_at_once_creates_the_first_key() {
    let fixture = Fixture::new().await;
    let nodes: Vec<Node> = (0..8).map(|_| Node::new(&fixture, None)).collect();
    let started = join_all(nodes.iter().map(|node| node.keys.prepare())).await;
    started
        .into_iter()
        .collect::<Result<Vec<()>, _>>()
        .expect("all start");
    let stored = stored(&fixture).await;
    let [only] = &stored[..] else {
        panic!("{stored:?}");
    };
    for node in &nodes {
        assert_eq!(node.published(), [&*only.kid]);
    }
    assert_eq!(
        Node::start(&fixture).await.published(),
        [&*only.kid],
        "a later start keeps it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_replaced_exactly_at_its_maximum_age() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let first = node.published();
    fixture.clock.forward(MAXIMUM_AGE.saturating_sub(SECOND));
    node.keys.rotate_if_due().await.unwrap();
    assert_eq!(node.published(), first);
    fixture.clock.forward(SECOND);
    node.keys.rotate_if_due().await.unwrap();
    let both = node.published();
    assert_eq!((both.len(), &both[1]), (2, &first[0]));
    node.keys.rotate_if_due().await.unwrap();
    assert_eq!(node.published(), both);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_eight_processes_that_find_a_key_too_old_replaces_it() {
    let fixture = Fixture::new().await;
    let nodes = join_all((0..8).map(|_| Node::start(&fixture))).await;
    fixture.clock.forward(MAXIMUM_AGE);
    let rotated = join_all(nodes.iter().map(|node| node.keys.rotate_if_due())).await;
    rotated
        .into_iter()
        .collect::<Result<Vec<()>, _>>()
        .expect("no attempt fails");
    assert_eq!(stored(&fixture).await.len(), 2);
    // The other processes replaced nothing. They read the new key as they read any other change.
    for node in &nodes {
        node.keys.reload().await.expect("the store is there");
    }
    let published = nodes[0].published();
    assert!(nodes.iter().all(|node| node.published() == published));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_key_is_valid_until_its_tokens_have_expired() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let old = node.published();
    let token = node.token(&secret).await;
    let new = node.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    assert_eq!(node.published(), [new.clone(), old[0].clone()]);
    assert!(node.accepts(&token).await);
    fixture.clock.forward(OVERLAP.saturating_sub(SECOND));
    assert_eq!(node.published().len(), 2);
    fixture.clock.forward(SECOND);
    assert_eq!(node.published(), [new]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_rotation_does_not_extend_the_life_of_the_first_key() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let first = node.published().remove(0);
    node.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    fixture.clock.forward(OVERLAP / 2);
    node.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    assert_eq!(node.published().len(), 3);
    fixture.clock.forward(OVERLAP / 2);
    let published = node.published();
    assert_eq!(published.len(), 2);
    assert!(!published.contains(&first));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_dropped_key_is_rejected() {
    let fixture = Fixture::new().await;
    let (here, there) = (Node::start(&fixture).await, Node::start(&fixture).await);
    let (_, secret) = fixture.client(|_| {}).await;
    let token = here.token(&secret).await;
    assert!(there.accepts(&token).await);
    let before = fixture.storage.credentials.access_version().await.unwrap();
    let new = here.keys.rotate(PreviousKeys::Drop).await.unwrap();
    assert!(!here.accepts(&token).await);
    // The new access version makes the other process reload.
    assert!(fixture.storage.credentials.access_version().await.unwrap() > before);
    there.tokens.reload().await.unwrap();
    assert!(!there.accepts(&token).await);
    assert_eq!(there.published(), [new]);
    assert!(there.accepts(&here.token(&secret).await).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_key_signs_even_if_it_was_created_by_a_slow_clock() {
    let fixture = Fixture::new().await;
    let late = ManualClock::new();
    fixture.clock.forward(OVERLAP);
    let first = Node::start(&fixture).await.published();
    let repository = Arc::clone(&fixture.storage.signing_keys);
    let node = Node::over(&fixture, None, repository, late);
    node.keys.prepare().await.unwrap();
    let new = node.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    assert_eq!(node.published(), [new, first[0].clone()]);
}
