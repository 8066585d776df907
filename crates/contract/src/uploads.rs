//! Quotas of uploads: the command that counts them, and their counts.

use domain::{
    IdempotencyEntry, PrincipalId, Timestamp, UploadPolicy, UploadQuota, Uploads,
    upload_quota::end_of_day,
};
use ports::write_store::FileRow;
use writes::{CreateFiles, CreateFilesOutcome, DeleteFileOutcome};

use crate::{
    Store,
    files::{delete, find, row},
    fixture, purging,
    results::ResultExt as _,
};

/// Stores a file within a quota.
pub(crate) async fn create(
    storage: &Store,
    row: FileRow,
    quota: UploadQuota,
    idempotency: Option<IdempotencyEntry>,
) -> CreateFilesOutcome {
    create_all(storage, vec![row], quota, idempotency).await
}

/// Stores files of one creator within a quota.
async fn create_all(
    storage: &Store,
    rows: Vec<FileRow>,
    quota: UploadQuota,
    idempotency: Option<IdempotencyEntry>,
) -> CreateFilesOutcome {
    let create = CreateFiles {
        gone: None,
        tenant: rows[0].tenant.clone(),
        creator: rows[0].creator.clone(),
        at: rows[0].file.created_at,
        rows,
        quota,
        idempotency,
    };
    storage.writes.write(create).await.success()
}

/// The end of the day on which the files of these tests are uploaded.
fn day_end() -> Timestamp {
    end_of_day(fixture::at(1))
}

pub(crate) async fn counted(storage: &Store, principal: &str) -> Uploads {
    let (tenant, principal) = (fixture::tenant(), PrincipalId::new(principal));
    let counted = storage.files.uploads(&tenant, &principal, day_end());
    counted.await.success()
}

/// Uploads count for their principal and day, deleted ones too, and what exceeds a limit is not stored.
pub async fn uploads_are_counted_and_limited(storage: &Store) {
    let tenant = fixture::tenant();
    let quota = |files, bytes| UploadQuota {
        files: Some(files),
        bytes: Some(bytes),
    };
    let create = |number, quota| create(storage, row(&tenant, number, "user:ada"), quota, None);
    for number in [1, 2] {
        assert_eq!(
            create(number, quota(2, 5)).await,
            CreateFilesOutcome::Created
        );
    }
    let both = Uploads { files: 2, bytes: 5 };
    assert_eq!(counted(storage, "user:ada").await, both);
    assert_eq!(delete(storage, 1).await, DeleteFileOutcome::Deleted);
    assert_eq!(counted(storage, "user:ada").await, both);
    let refused = CreateFilesOutcome::OverQuota;
    assert_eq!(create(3, quota(2, 100)).await, refused(UploadPolicy::Files));
    assert_eq!(
        create(3, quota(3, 8)).await,
        refused(UploadPolicy::FileBytes)
    );
    assert_eq!(find(storage, &tenant, 3).await, None);
    assert_eq!(create(3, quota(3, 9)).await, CreateFilesOutcome::Created);
    assert_eq!(
        create(4, UploadQuota::default()).await,
        CreateFilesOutcome::Created
    );
    assert_eq!(
        counted(storage, "user:ada").await,
        Uploads { files: 3, bytes: 9 }
    );
    assert_eq!(counted(storage, "user:bob").await, Uploads::default());
}

/// The files of one command are stored and counted together, or not at all.
pub async fn files_of_one_command_are_stored_together(storage: &Store) {
    let tenant = fixture::tenant();
    let rows = |numbers: [u32; 2]| numbers.map(|it| row(&tenant, it, "user:ada")).to_vec();
    let quota = UploadQuota {
        files: Some(3),
        bytes: None,
    };
    let key = fixture::entry("files");
    let first = create_all(storage, rows([1, 2]), quota, Some(key.clone())).await;
    assert_eq!(first, CreateFilesOutcome::Created);
    let counted_files = || async { counted(storage, "user:ada").await.files };
    assert_eq!(counted_files().await, 2);
    let refused = create_all(storage, rows([3, 4]), quota, None).await;
    assert_eq!(refused, CreateFilesOutcome::OverQuota(UploadPolicy::Files));
    let replayed = create_all(storage, rows([3, 4]), quota, Some(key)).await;
    assert!(matches!(replayed, CreateFilesOutcome::Replayed(_)));
    assert_eq!(counted_files().await, 2);
    for (number, is_stored) in [(1, true), (2, true), (3, false), (4, false)] {
        let found = find(storage, &tenant, number).await;
        assert_eq!(found.is_some(), is_stored, "{number}");
    }
}

/// Of uploads at once, no more than the limit are stored.
pub async fn concurrent_uploads_stay_within_their_limit(storage: &Store) {
    let tenant = fixture::tenant();
    let quota = UploadQuota {
        files: Some(3),
        bytes: None,
    };
    let create = |number| create(storage, row(&tenant, number, "user:ada"), quota, None);
    let outcomes = futures::future::join_all((1..=8).map(create)).await;
    let stored = outcomes
        .iter()
        .filter(|it| **it == CreateFilesOutcome::Created);
    assert_eq!(stored.count(), 3);
    assert_eq!(counted(storage, "user:ada").await.files, 3);
}

/// Counted uploads are purged after their day.
pub async fn counted_uploads_are_purged_after_their_day(storage: &Store) {
    let quota = UploadQuota {
        files: Some(9),
        bytes: None,
    };
    let row = row(&fixture::tenant(), 1, "user:ada");
    create(storage, row, quota, None).await;
    let purge = |at| purging::purge_all(storage, 10, purging::ended_before(at));
    // The unused file.
    assert_eq!(purge(day_end()).await, 1);
    assert_eq!(counted(storage, "user:ada").await.files, 1);
    let after = Timestamp::from_milliseconds(day_end().milliseconds() + 1);
    assert_eq!(purge(after).await, 1);
    assert_eq!(counted(storage, "user:ada").await, Uploads::default());
}
