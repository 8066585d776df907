//! `BlobStore`: the contract of every store of blobs.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use bytes::Bytes;
use domain::{BlobKey, BlobStoreId, Timestamp};
use futures::{StreamExt as _, TryStreamExt as _, future::join_all, stream};
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
            $fixture, $attribute, blob_store;
            a_blob_is_read_as_it_was_stored,
            an_empty_blob_is_stored,
            a_blob_of_another_size_is_not_read,
            an_unknown_blob_is_not_found,
            a_deletion_can_be_repeated,
            blobs_are_listed_by_the_time_of_their_storage,
            an_id_is_kept,
            callers_at_once_get_the_same_id,
            a_store_with_blobs_but_no_id_gets_none,
            another_store_has_another_id_and_other_blobs,
        }
        $crate::blob_store_contract! {
            $fixture, $attribute, blob_uploads;
            a_blob_of_many_pieces_is_stored_whole,
            many_blobs_are_stored_at_once,
            a_content_that_breaks_off_leaves_nothing,
            a_dropped_upload_leaves_nothing,
        }
    };
    ($fixture:path, $attribute:meta, $module:ident; $($promise:ident,)*) => {
        mod $module {
            $(
                #[$attribute]
                #[tokio::test(flavor = "multi_thread")]
                async fn $promise() {
                    let (store, other) = ($fixture().await, $fixture().await);
                    $crate::$module::$promise(&*store, &*other).await;
                }
            )*
        }
    };
}

pub(crate) type Store = dyn BlobStore;

pub(crate) const RESPONDS: &str = "the store responds";

pub(crate) const MIB: u64 = 1024 * 1024;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const PAUSE: Duration = Duration::from_millis(20);
pub(crate) const ALWAYS: Timestamp = Timestamp::from_milliseconds(i64::MAX);

pub(crate) fn key(number: u8) -> BlobKey {
    BlobKey::from_random([number; 16])
}

fn store_id(number: u8) -> BlobStoreId {
    BlobStoreId::from_random([number; 16])
}

/// The bytes of a blob, which are other ones at each position and in each blob.
pub(crate) fn bytes(number: u8, range: Range<u64>) -> Bytes {
    range
        .map(|at| at.wrapping_mul(31).wrapping_add(at / 251).to_le_bytes()[0] ^ number)
        .collect()
}

/// A content of this length in pieces of this size.
pub(crate) fn content(number: u8, length: u64, piece: u64) -> BlobStream {
    let starts = (0..length.div_ceil(piece)).map(move |index| index * piece);
    let pieces = starts.map(move |start| Ok(bytes(number, start..length.min(start + piece))));
    stream::iter(pieces).boxed()
}

pub(crate) async fn put(store: &Store, number: u8, length: u64) {
    let stored = store
        .put(key(number), content(number, length, 60_000))
        .await;
    stored.expect("a blob is stored");
}

pub(crate) async fn read(
    store: &Store,
    number: u8,
    size: u64,
    range: Range<u64>,
) -> Result<Vec<u8>, BlobError> {
    let content = store.read(key(number), size, range).await?;
    let pieces: Vec<Bytes> = content.try_collect().await?;
    Ok(pieces.concat())
}

/// Checks a blob without the whole of it in one message.
pub(crate) async fn assert_stored(store: &Store, number: u8, length: u64) {
    let found = read(store, number, length, 0..length)
        .await
        .expect("a blob is read");
    assert!(found == bytes(number, 0..length), "the content differs");
}

pub(crate) async fn listed(store: &Store, before: Timestamp) -> Vec<BlobKey> {
    let mut keys: Vec<_> = store
        .list(before)
        .try_collect()
        .await
        .expect("keys are listed");
    keys.sort_unstable();
    keys
}

pub(crate) async fn assert_not_found(store: &Store, number: u8) {
    for range in [0..1, 0..0] {
        let found = read(store, number, 1, range).await;
        assert!(matches!(found, Err(BlobError::NotFound)), "{found:?}");
    }
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
        let found = read(store, 1, 200_000, range.clone())
            .await
            .expect(RESPONDS);
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
        .expect(RESPONDS);
    for number in [1, 2] {
        assert_eq!(read(store, number, 0, 0..0).await.expect(RESPONDS), b"");
    }
    assert_eq!(listed(store, ALWAYS).await, [key(1), key(2)]);
}

/// A blob that has become shorter or longer is [`BlobError::NotFound`], as a whole and in part.
pub async fn a_blob_of_another_size_is_not_read(store: &Store, _: &Store) {
    put(store, 1, 100).await;
    for size in [0, 99, 101, 1_000] {
        for range in [0..0, 0..1, 50..60, 0..size, size..size] {
            let found = read(store, 1, size, range.clone()).await;
            let is_lost = matches!(found, Err(BlobError::NotFound));
            assert!(is_lost, "{range:?} of {size}: {found:?}");
        }
    }
    let part = read(store, 1, 100, 50..60).await.expect(RESPONDS);
    assert_eq!(part, bytes(1, 50..60));
    assert_eq!(read(store, 1, 100, 50..50).await.expect(RESPONDS), b"");
}

/// A blob that was never stored is [`BlobError::NotFound`].
pub async fn an_unknown_blob_is_not_found(store: &Store, _: &Store) {
    assert_not_found(store, 1).await;
    assert_eq!(listed(store, ALWAYS).await, []);
    put(store, 1, 1).await;
    assert_not_found(store, 2).await;
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
    assert_eq!(store.id().await.expect(RESPONDS), None);
    assert_eq!(store.claim(store_id(1)).await.expect(RESPONDS), store_id(1));
    assert_eq!(store.id().await.expect(RESPONDS), Some(store_id(1)));
    assert_eq!(store.claim(store_id(2)).await.expect(RESPONDS), store_id(1));
    put(store, 1, 10).await;
    assert_eq!(store.claim(store_id(3)).await.expect(RESPONDS), store_id(1));
    assert_eq!(store.id().await.expect(RESPONDS), Some(store_id(1)));
    assert_eq!(listed(store, ALWAYS).await, [key(1)]);
}

/// Of several callers at once, all MUST get the id of one.
pub async fn callers_at_once_get_the_same_id(store: &Store, _: &Store) {
    let claims = (1..=8).map(|number| store.claim(store_id(number)));
    let claimed = join_all(claims).await;
    let ids: Vec<_> = claimed.into_iter().map(|it| it.expect(RESPONDS)).collect();
    let kept = store.id().await.expect(RESPONDS);
    assert!(ids.iter().all(|id| Some(*id) == kept), "{ids:?}, {kept:?}");
    assert!((1..=8).map(store_id).any(|id| Some(id) == kept));
}

/// A store with blobs MUST NOT get an id.
pub async fn a_store_with_blobs_but_no_id_gets_none(store: &Store, _: &Store) {
    put(store, 1, 10).await;
    let claimed = store.claim(store_id(1)).await;
    assert!(matches!(claimed, Err(BlobError::IdMissing)), "{claimed:?}");
    assert_eq!(store.id().await.expect(RESPONDS), None);
}

/// Stores with different addresses have nothing in common.
pub async fn another_store_has_another_id_and_other_blobs(store: &Store, other: &Store) {
    put(store, 1, 10).await;
    assert_not_found(other, 1).await;
    assert_eq!(listed(other, ALWAYS).await, []);
    assert_eq!(other.claim(store_id(1)).await.expect(RESPONDS), store_id(1));
    assert_eq!(store.id().await.expect(RESPONDS), None);
    other.delete(key(1)).await.expect(RESPONDS);
    assert_stored(store, 1, 10).await;
}
