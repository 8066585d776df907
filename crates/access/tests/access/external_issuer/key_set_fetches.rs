//! Slow and concurrent fetches of key sets.

use std::{pin::pin, task::Poll, time::Duration};

use access::tokens::KeysUnavailable;
use futures::{future::join_all, poll};
use ports::UrlTrust;
use tokio::time::Instant;

use super::key_set_fixture::{KeySetFixture, key, token};

#[tokio::test]
async fn one_fetch_serves_all_waiters() {
    let fixture = KeySetFixture::new(UrlTrust::Operator);
    let key = key("a");
    fixture.publish(&[&key]);
    fixture.documents.set_paused(true);
    let text = token(&key);
    let mut all = pin!(join_all((0..64).map(|_| fixture.verify(&text))));
    assert!(poll!(all.as_mut()).is_pending());
    fixture.documents.set_paused(false);
    assert_eq!(all.await, vec![Ok(true); 64]);
    assert_eq!(fixture.fetches(), 1);
}

#[tokio::test]
async fn a_slow_fetch_remains_the_only_one() {
    let fixture = KeySetFixture::new(UrlTrust::Operator);
    let key = key("a");
    fixture.publish(&[&key]);
    fixture.documents.set_paused(true);
    let text = token(&key);
    let mut first = pin!(fixture.verify(&text));
    assert!(poll!(first.as_mut()).is_pending());
    fixture.advance(30);
    let mut second = pin!(fixture.verify(&text));
    assert!(poll!(second.as_mut()).is_pending());
    fixture.documents.set_paused(false);
    assert_eq!((first.await, second.await), (Ok(true), Ok(true)));
    assert_eq!(fixture.fetches(), 1);
}

#[tokio::test]
async fn a_fetch_continues_when_its_caller_is_dropped() {
    let fixture = KeySetFixture::new(UrlTrust::Operator);
    let key = key("a");
    fixture.publish(&[&key]);
    fixture.documents.set_paused(true);
    let text = token(&key);
    {
        let mut abandoned = pin!(fixture.verify(&text));
        assert!(poll!(abandoned.as_mut()).is_pending());
    }
    fixture.documents.set_paused(false);
    assert_eq!(fixture.verify(&text).await, Ok(true));
    assert_eq!(fixture.fetches(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refresh_without_a_response_delays_one_caller_by_a_second() {
    let (old, new) = (key("a"), key("b"));
    let fixture = KeySetFixture::fetched(&[&old]).await;
    fixture.publish(&[&new]);
    fixture.documents.set_paused(true);
    fixture.advance(600);
    let begun = Instant::now();
    assert_eq!(fixture.verify(&token(&old)).await, Ok(true));
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    for _ in 0..10 {
        fixture.advance(10);
        assert_eq!(fixture.verify(&token(&old)).await, Ok(true));
    }
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    assert_eq!(fixture.fetches(), 2);
    // The verification with an unknown key waits for the fetch that is under way.
    let text = token(&new);
    let mut waiting = pin!(fixture.verify(&text));
    assert!(poll!(waiting.as_mut()).is_pending());
    fixture.documents.set_paused(false);
    assert_eq!(waiting.await, Ok(true));
    assert_eq!(fixture.fetches(), 2);
    assert_eq!(fixture.verify(&token(&old)).await, Ok(false));
}

#[tokio::test(start_paused = true)]
async fn a_fetch_without_a_response_delays_no_caller_beyond_two_seconds() {
    let (known, unknown) = (key("a"), key("b"));
    let fixture = KeySetFixture::new(UrlTrust::Operator);
    fixture.documents.set_paused(true);
    let two_seconds = Duration::from_secs(2);
    let begun = Instant::now();
    assert_eq!(fixture.verify(&token(&known)).await, Err(KeysUnavailable));
    assert_eq!(begun.elapsed(), two_seconds);
    assert_eq!(fixture.verify(&token(&known)).await, Err(KeysUnavailable));
    assert_eq!(begun.elapsed(), two_seconds * 2);
    // The fetch has continued all the time.
    fixture.publish(&[&known]);
    fixture.documents.set_paused(false);
    assert_eq!(fixture.verify(&token(&known)).await, Ok(true));
    assert_eq!(fixture.fetches(), 1);
    fixture.documents.set_paused(true);
    fixture.advance(30);
    let begun = Instant::now();
    assert_eq!(fixture.verify(&token(&unknown)).await, Ok(false));
    assert_eq!(begun.elapsed(), two_seconds);
    assert_eq!(fixture.verify(&token(&known)).await, Ok(true));
    assert_eq!(begun.elapsed(), two_seconds);
    assert_eq!(fixture.fetches(), 2);
}

#[tokio::test]
async fn sixteen_key_sets_of_tenants_and_any_number_of_operators_are_fetched_at_once() {
    let key = key("a");
    let text = token(&key);
    for (trust, most) in [(UrlTrust::Tenant, 16), (UrlTrust::Operator, 17)] {
        let fixture = KeySetFixture::several::<17>(trust);
        let documents = &fixture[0].documents;
        fixture[0].publish(&[&key]);
        documents.set_paused(true);
        let mut first = pin!(join_all(fixture[..16].iter().map(|one| one.verify(&text))));
        assert!(poll!(first.as_mut()).is_pending());
        let mut last = pin!(fixture[16].verify(&text));
        let rejected = poll!(last.as_mut());
        let is_rejected = matches!(rejected, Poll::Ready(Err(KeysUnavailable)));
        assert_eq!(
            (is_rejected, rejected.is_pending()),
            (most == 16, most == 17)
        );
        documents.set_paused(false);
        assert_eq!(first.await, vec![Ok(true); 16]);
        // The refusal did not count as an attempt, so the next fetch starts at once.
        assert_eq!(fixture[16].verify(&text).await, Ok(true));
        assert_eq!(documents.requests().len(), 17);
    }
}

#[tokio::test]
async fn keys_in_memory_remain_valid_while_no_key_set_of_a_tenant_can_be_fetched() {
    let (known, unknown) = (key("a"), key("b"));
    let fixture = KeySetFixture::several::<17>(UrlTrust::Tenant);
    fixture[0].publish(&[&known, &unknown]);
    let text = token(&known);
    assert_eq!(fixture[16].verify(&text).await, Ok(true));
    fixture[0].advance(600);
    fixture[0].documents.set_paused(true);
    let mut others = pin!(join_all(fixture[..16].iter().map(|one| one.verify(&text))));
    assert!(poll!(others.as_mut()).is_pending());
    assert_eq!(fixture[16].verify(&text).await, Ok(true));
    let other = token(&key("c"));
    assert_eq!(fixture[16].verify(&other).await, Err(KeysUnavailable));
    fixture[0].documents.set_paused(false);
    others.await;
}
