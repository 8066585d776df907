//! `BlobStore`: the contract of every store of blobs.

use std::{
    ops::Range,
    task::Poll,
    time::{Duration, Instant},
};

use bytes::Bytes;
use domain::{BlobKey, BlobStoreId, Timestamp};
use futures::{StreamExt as _, TryStreamExt as _, future::join_all, poll, stream};
use ports::{BlobError, BlobStore, BlobStream};

/// Expands to one test per promise of a blob store. `$fixture` is the path (from the crate's root) of an
/// async function whose result derefs to an empty `ports::BlobStore`, each time another one. The tests can
/// have an attribute, such as `ignore`.
#[macro_export]
macro_rules! blob_store_contract {
    ($fixture:path) => {
        $crate::blob_store_contract!($fixture, cfg(test));
    };
    ($fixture:path, $attribute:meta) => {
        $crate::blob_store_contract! {
            $fixture, $attribute;
            a_blob_is_read_as_it_was_stored,
            an_empty_blob_is_stored,
            a_blob_of_many_pieces_is_stored_whole,
            many_blobs_are_stored_at_once,
            a_range_ends_with_the_blob,
            an_unknown_blob_is_not_found,
            a_content_that_breaks_off_leaves_nothing,
            a_dropped_upload_leaves_nothing,
            a_deletion_can_be_repeated,
            blobs_are_listed_by_the_time_of_their_storage,
            an_id_is_kept,
            callers_at_once_get_the_same_id,
            a_store_with_blobs_but_no_id_gets_none,
            another_store_has_another_id_and_other_blobs,
        }
    };
    ($fixture:path, $attribute:meta; $($promise:ident,)*) => {
        mod blob_store {
            $(
                #[$attribute]
                #[tokio::test(flavor = "multi_thread")]
                async fn $promise() {
                    let (store, other) = ($fixture().await, $fixture().await);
                    $crate::blob_store::$promise(&*store, &*other).await;
                }
            )*
        }
    };
}

type Store = dyn BlobStore;

const MIB: u64 = 1024 * 1024;
const TIMEOUT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);
const ALWAYS: Timestamp = Timestamp::from_milliseconds(i64::MAX);

fn key(number: u8) -> BlobKey {
    BlobKey::from_random([number; 16])
}

fn store_id(number: u8) -> BlobStoreId {
    BlobStoreId::from_random([number; 16])
}

/// The bytes of a blob, which are other ones at each position and in each blob.
fn bytes(number: u8, range: Range<u64>) -> Bytes {
    range
        .map(|at| at.wrapping_mul(31).wrapping_add(at / 251).to_le_bytes()[0] ^ number)
        .collect()
}

/// A content of this length in pieces of this size.
fn content(number: u8, length: u64, piece: u64) -> BlobStream {
    let starts = (0..length.div_ceil(piece)).map(move |index| index * piece);
    let pieces = starts.map(move |start| Ok(bytes(number, start..length.min(start + piece))));
    stream::iter(pieces).boxed()
}

async fn put(store: &Store, number: u8, length: u64) {
    let stored = store
        .put(key(number), content(number, length, 60_000))
        .await;
    stored.expect("a blob is stored");
}

async fn read(store: &Store, number: u8, range: Range<u64>) -> Result<Vec<u8>, BlobError> {
    let content = store.read(key(number), range).await?;
    let pieces: Vec<Bytes> = content.try_collect().await?;
    Ok(pieces.concat())
}

/// Checks a blob without the whole of it in one message.
async fn assert_stored(store: &Store, number: u8, length: u64) {
    let found = read(store, number, 0..length + 1)
        .await
        .expect("a blob is read");
    assert_eq!(found.len() as u64, length);
    assert!(found == bytes(number, 0..length), "the content differs");
}

async fn listed(store: &Store, before: Timestamp) -> Vec<BlobKey> {
    let mut keys: Vec<_> = store
        .list(before)
        .try_collect()
        .await
        .expect("keys are listed");
    keys.sort_unstable();
    keys
}

async fn assert_not_found(store: &Store, number: u8) {
    for range in [0..1, 0..0] {
        let found = read(store, number, range).await;
        assert!(matches!(found, Err(BlobError::NotFound)), "{found:?}");
    }
}

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

/// A stored blob MUST have the same content in every range.
pub async fn a_blob_is_read_as_it_was_stored(store: &Store, _: &Store) {
    put(store, 1, 200_000).await;
    for range in [
        0..200_000,
        0..1,
        1..2,
        65_530..65_540,
        70_000..170_000,
        199_999..200_000,
    ] {
        let found = read(store, 1, range.clone()).await.unwrap();
        assert!(found == bytes(1, range.clone()), "{range:?}");
    }
}

/// A content without bytes, also of empty pieces, is a blob.
pub async fn an_empty_blob_is_stored(store: &Store, _: &Store) {
    put(store, 1, 0).await;
    let pieces = [Ok(Bytes::new()), Ok(Bytes::new())];
    store
        .put(key(2), stream::iter(pieces).boxed())
        .await
        .unwrap();
    for number in [1, 2] {
        assert_eq!(read(store, number, 0..0).await.unwrap(), b"");
        assert_eq!(read(store, number, 0..10).await.unwrap(), b"");
    }
    assert_eq!(listed(store, ALWAYS).await, [key(1), key(2)]);
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
    let found = read(store, 1, across_parts.clone()).await.unwrap();
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
    futures::future::select(join_all(endless), Box::pin(all_others)).await;
    for number in 1..=8 {
        assert_stored(store, number, 6 * MIB).await;
    }
}

/// A range beyond the end ends there, and one that begins there is empty.
pub async fn a_range_ends_with_the_blob(store: &Store, _: &Store) {
    put(store, 1, 100).await;
    for (range, expected) in [
        (90..200, 90..100),
        (0..u64::MAX, 0..100),
        (100..200, 0..0),
        (101..102, 0..0),
        (50..50, 0..0),
    ] {
        let found = read(store, 1, range.clone()).await.unwrap();
        assert_eq!(found, bytes(1, expected), "{range:?}");
    }
}

/// A blob that was never stored is [`BlobError::NotFound`].
pub async fn an_unknown_blob_is_not_found(store: &Store, _: &Store) {
    assert_not_found(store, 1).await;
    assert_eq!(listed(store, ALWAYS).await, []);
    put(store, 1, 1).await;
    assert_not_found(store, 2).await;
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
            std::future::pending().await
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

/// A deletion MUST succeed for a blob that does not exist, and keep all others.
pub async fn a_deletion_can_be_repeated(store: &Store, _: &Store) {
    put(store, 1, 10).await;
    put(store, 2, 10).await;
    for _ in 0..2 {
        store.delete(key(1)).await.expect("a blob is deleted");
        assert_not_found(store, 1).await;
    }
    store
        .delete(key(3))
        .await
        .expect("there is nothing to delete");
    assert_eq!(listed(store, ALWAYS).await, [key(2)]);
    assert_stored(store, 2, 10).await;
}

/// Exactly the blobs from before a time are listed.
pub async fn blobs_are_listed_by_the_time_of_their_storage(store: &Store, _: &Store) {
    let never = Timestamp::from_milliseconds(0);
    put(store, 1, 10).await;
    store
        .claim(store_id(1))
        .await
        .expect_err("the store has a blob");
    assert_eq!(listed(store, never).await, []);
    assert_eq!(listed(store, ALWAYS).await, [key(1)]);
    let after_first = time_after_storage(store, 1).await;
    let since = Instant::now();
    loop {
        put(store, 2, 10).await;
        if listed(store, after_first).await == [key(1)] {
            break;
        }
        // Some stores have the times of seconds.
        store.delete(key(2)).await.expect("a blob is deleted");
        assert!(since.elapsed() < TIMEOUT, "times do not pass");
        tokio::time::sleep(PAUSE).await;
    }
    assert_eq!(listed(store, ALWAYS).await, [key(1), key(2)]);
}

/// Finds the first time from which on a blob is listed.
async fn time_after_storage(store: &Store, number: u8) -> Timestamp {
    let (mut before, mut after) = (0, 1_i64 << 43);
    while after - before > 1 {
        let middle = i64::midpoint(before, after);
        let keys = listed(store, Timestamp::from_milliseconds(middle)).await;
        if keys.contains(&key(number)) {
            after = middle;
        } else {
            before = middle;
        }
    }
    Timestamp::from_milliseconds(after)
}

/// An empty store has no id. It gets one once.
pub async fn an_id_is_kept(store: &Store, _: &Store) {
    assert_eq!(store.id().await.unwrap(), None);
    assert_eq!(store.claim(store_id(1)).await.unwrap(), store_id(1));
    assert_eq!(store.id().await.unwrap(), Some(store_id(1)));
    assert_eq!(store.claim(store_id(2)).await.unwrap(), store_id(1));
    put(store, 1, 10).await;
    assert_eq!(store.claim(store_id(3)).await.unwrap(), store_id(1));
    assert_eq!(store.id().await.unwrap(), Some(store_id(1)));
    assert_eq!(listed(store, ALWAYS).await, [key(1)]);
}

/// Of several callers at once, all MUST get the id of one.
pub async fn callers_at_once_get_the_same_id(store: &Store, _: &Store) {
    let claims = (1..=8).map(|number| store.claim(store_id(number)));
    let claimed = join_all(claims).await;
    let ids: Vec<_> = claimed.into_iter().map(Result::unwrap).collect();
    let kept = store.id().await.unwrap();
    assert!(ids.iter().all(|id| Some(*id) == kept), "{ids:?}, {kept:?}");
    assert!((1..=8).map(store_id).any(|id| Some(id) == kept));
}

/// A store with blobs MUST NOT get an id.
pub async fn a_store_with_blobs_but_no_id_gets_none(store: &Store, _: &Store) {
    put(store, 1, 10).await;
    let claimed = store.claim(store_id(1)).await;
    assert!(matches!(claimed, Err(BlobError::IdMissing)), "{claimed:?}");
    assert_eq!(store.id().await.unwrap(), None);
}

/// Stores with different addresses have nothing in common.
pub async fn another_store_has_another_id_and_other_blobs(store: &Store, other: &Store) {
    put(store, 1, 10).await;
    assert_not_found(other, 1).await;
    assert_eq!(listed(other, ALWAYS).await, []);
    assert_eq!(other.claim(store_id(1)).await.unwrap(), store_id(1));
    assert_eq!(store.id().await.unwrap(), None);
    other.delete(key(1)).await.unwrap();
    assert_stored(store, 1, 10).await;
}
