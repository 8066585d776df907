//! `BlobStore`: uploads of large contents, and ones that break off.

use std::{
    future::pending,
    task::Poll,
    time::{Duration, Instant},
};

use futures::{
    StreamExt as _,
    future::{join_all, select},
    poll, stream,
};
use ports::BlobError;

use crate::blob_store::{
    ALWAYS, MIB, PAUSE, RESPONDS, Store, TIMEOUT, assert_not_found, assert_stored, bytes, content,
    key, listed, put, read,
};

/// Waits until nothing is left of uploads: stores may clean up later.
async fn assert_nothing_is_left(store: &Store, number: u8) {
    assert_not_found(store, number).await;
    let since = Instant::now();
    while !listed(store, ALWAYS).await.is_empty() {
        assert!(since.elapsed() < TIMEOUT, "an upload is still listed");
        tokio::time::sleep(PAUSE).await;
    }
    assert_not_found(store, number).await;
}

/// Pieces of any size MUST be joined in their order, also in a blob that is stored in parts.
pub async fn a_blob_of_many_pieces_is_stored_whole(store: &Store, _: &Store) {
    for (number, length, piece) in [
        (1, 20 * MIB, 65_536),
        (2, 20 * MIB, 7 * MIB),
        (3, 5 * MIB, 5 * MIB),
        (4, 5 * MIB + 1, 9_999),
        (5, 10 * MIB, 1_000_003),
        (6, 3_000, 1),
    ] {
        let stored = store.put(key(number), content(number, length, piece)).await;
        stored.expect("a blob is stored");
        assert_stored(store, number, length).await;
    }
    let across_parts = 5 * MIB - 10..5 * MIB + 10;
    let found = read(store, 1, 20 * MIB, across_parts.clone())
        .await
        .expect(RESPONDS);
    assert_eq!(found, bytes(1, across_parts));
}

/// Uploads MUST NOT wait for each other's ends.
pub async fn many_blobs_are_stored_at_once(store: &Store, _: &Store) {
    // The first ones never end.
    let endless = (100..108).map(|number| {
        let never_ends = content(number, 6 * MIB, 60_000).chain(stream::pending());
        store.put(key(number), never_ends.boxed())
    });
    let all_others = join_all((1..=8).map(|number| put(store, number, 6 * MIB)));
    select(join_all(endless), Box::pin(all_others)).await;
    for number in 1..=8 {
        assert_stored(store, number, 6 * MIB).await;
    }
}

/// The error of a content MUST be returned, and nothing be stored.
pub async fn a_content_that_breaks_off_leaves_nothing(store: &Store, _: &Store) {
    for (number, length) in [(1, 0), (2, 10), (3, 12 * MIB)] {
        let broken = stream::iter([Err(BlobError::Interrupted("the client left".into()))]);
        let broken = content(number, length, 60_000).chain(broken);
        let stored = store.put(key(number), broken.boxed()).await;
        let Err(BlobError::Interrupted(cause)) = stored else {
            panic!("{stored:?}");
        };
        assert_eq!(cause.to_string(), "the client left");
        assert_nothing_is_left(store, number).await;
    }
}

/// A future that is dropped before its content has ended MUST store nothing.
pub async fn a_dropped_upload_leaves_nothing(store: &Store, _: &Store) {
    for (number, length) in [(1, 0), (2, 10), (3, 12 * MIB)] {
        let (sent, mut is_sent) = tokio::sync::oneshot::channel();
        let all_is_sent = stream::once(async move {
            // The other end waits until the upload is dropped.
            let _ = sent.send(());
            pending().await
        });
        let endless = content(number, length, 60_000).chain(all_is_sent);
        let mut upload = store.put(key(number), endless.boxed());
        let since = Instant::now();
        while is_sent.try_recv().is_err() {
            assert_eq!(poll!(&mut upload).map(|it| it.is_ok()), Poll::Pending);
            assert!(since.elapsed() < TIMEOUT, "the content is not read");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(upload);
        assert_nothing_is_left(store, number).await;
    }
}
