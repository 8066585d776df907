//! `FileRepository`, and the commands that write, use and delete files.

use domain::{
    Agent, BlobKey, BlobStoreId, ContentDigest, Conversation, File, FileId, FileReference,
    IdempotencyEntry, LinkSecret, MediaType, PrincipalId, StoredFile, TenantId, TurnStatus,
    UploadQuota, Uploads, erasure::ERASED_PRINCIPAL,
};
use ports::{Idempotent, write_store::FileRow};
use uuid::Uuid;
use writes::{
    BeginOutcome, BeginTurn, ConversationTarget, CreateFilesOutcome, DeleteFile, DeleteFileOutcome,
    UnusableFile,
};

use crate::{Store, fixture, forks, lookup, purging, results::ResultExt as _, setup, uploads};

/// The time at which unused files of these tests expire.
pub(crate) const EXPIRY: i64 = 100_000;

fn id(number: u32) -> FileId {
    FileId::new(Uuid::from_u128(u128::from(number)))
}

pub(crate) fn row(tenant: &TenantId, number: u32, creator: &str) -> FileRow {
    let digest = u8::try_from(number % 256).expect("a byte");
    FileRow {
        tenant: tenant.clone(),
        file: File {
            reference: FileReference {
                id: id(number),
                name: format!("Photo {number} 🦊.png"),
                media_type: MediaType::Png,
                bytes: u64::from(number) + 1,
            },
            sha256: ContentDigest([digest; 32]),
            created_at: fixture::at(1),
            expires_at: Some(fixture::at(EXPIRY)),
        },
        blob: BlobKey::new(Uuid::from_u128(1_000 + u128::from(number))),
        creator: PrincipalId::new(creator),
    }
}

async fn create(
    storage: &Store,
    row: FileRow,
    idempotency: Option<IdempotencyEntry>,
) -> Idempotent<()> {
    let quota = UploadQuota::default();
    match uploads::create(storage, row, quota, idempotency).await {
        CreateFilesOutcome::Created => Idempotent::Applied(()),
        CreateFilesOutcome::Replayed(record) => Idempotent::Replayed(record),
        CreateFilesOutcome::OverQuota(policy) => panic!("{policy:?}"),
    }
}

/// Stores a numbered file of the tenant of the tests.
pub(crate) async fn file(storage: &Store, number: u32) -> FileReference {
    let row = row(&fixture::tenant(), number, "user:ada");
    let reference = row.file.reference.clone();
    assert_eq!(create(storage, row, None).await, Idempotent::Applied(()));
    reference
}

pub(crate) async fn find(storage: &Store, tenant: &TenantId, number: u32) -> Option<StoredFile> {
    let found = storage.files.find(tenant, &[id(number)]).await.success();
    found.into_iter().next()
}

/// The numbered file and the conversations that use it.
pub(crate) async fn uses(
    storage: &Store,
    number: u32,
) -> Option<(File, Vec<domain::ConversationId>)> {
    let found = find(storage, &fixture::tenant(), number).await?;
    let mut uses: Vec<_> = found.uses.iter().map(|it| it.conversation_id).collect();
    uses.sort_unstable();
    Some((found.file, uses))
}

pub(crate) async fn delete(storage: &Store, number: u32) -> DeleteFileOutcome {
    let delete = DeleteFile {
        tenant: fixture::tenant(),
        id: id(number),
    };
    storage.writes.write(delete).await.success()
}

/// A turn with files.
fn with_files(
    number: u32,
    agent: &Agent,
    target: ConversationTarget,
    files: &[FileReference],
) -> BeginTurn {
    BeginTurn {
        files: files.to_vec(),
        ..fixture::begin_turn(number, agent, target)
    }
}

/// A conversation whose only turn has the numbered file.
async fn chat_with_file(storage: &Store, number: u32) -> (Agent, Conversation) {
    let (agent, conversation) = setup::chat(storage).await;
    let files = [file(storage, number).await];
    let begin = with_files(1, &agent, fixture::existing(&conversation, 0), &files);
    setup::start_turn(storage, &begin).await;
    setup::complete_turn(storage, &begin, 1).await;
    (agent, conversation)
}

async fn refusal(storage: &Store, begin: BeginTurn) -> UnusableFile {
    match storage.writes.write(begin).await.success() {
        BeginOutcome::FileUnusable(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

/// A stored file is found as it was written, in its tenant only.
pub async fn a_stored_file_is_found_unchanged(storage: &Store) {
    let (tenant, other) = (fixture::tenant(), setup::second_tenant(storage).await);
    assert!(!storage.files.has_any().await.success());
    let written = row(&tenant, 1, "user:ada");
    create(storage, written.clone(), None).await;
    let found = find(storage, &tenant, 1).await.expect("it is stored");
    let expected = StoredFile {
        file: written.file,
        blob: written.blob,
        creator: written.creator,
        uses: Vec::new(),
    };
    assert_eq!(found, expected);
    assert_eq!(find(storage, &other, 1).await, None);
    assert!(storage.files.has_any().await.success());
    assert_eq!(find(storage, &tenant, 2).await, None);
    let of_both = storage.files.find(&tenant, &[id(2), id(1)]).await;
    assert_eq!(of_both.success(), std::slice::from_ref(&found));
    let known = [found.blob, BlobKey::new(Uuid::from_u128(5))];
    let known = storage.files.known_blobs(&known).await.success();
    assert_eq!(known, [found.blob]);
}

/// The first blob store that is recorded stays.
pub async fn the_first_recorded_blob_store_stays(storage: &Store) {
    let store = |number| BlobStoreId::new(Uuid::from_u128(number));
    for number in [1, 2] {
        let recorded = storage.files.record_blob_store(store(number)).await;
        assert_eq!(recorded.success(), store(1));
    }
}

/// The first secret of links that is recorded for a blob store stays.
pub async fn the_first_recorded_secret_of_links_stays(storage: &Store) {
    let files = &storage.files;
    let secret = |byte| LinkSecret::new([byte; 32]);
    files.record_link_secret(&secret(1)).await.success();
    assert_eq!(files.link_secret().await.success(), None);
    let store = BlobStoreId::new(Uuid::from_u128(1));
    files.record_blob_store(store).await.success();
    for byte in [2, 3] {
        files.record_link_secret(&secret(byte)).await.success();
        assert_eq!(files.link_secret().await.success(), Some(secret(2)));
    }
}

/// A used key creates no second file.
pub async fn a_used_key_creates_no_second_file(storage: &Store) {
    let tenant = fixture::tenant();
    let entry = Some(fixture::entry("key-1"));
    let first = create(storage, row(&tenant, 1, "user:ada"), entry.clone()).await;
    assert_eq!(first, Idempotent::Applied(()));
    let second = create(storage, row(&tenant, 2, "user:ada"), entry).await;
    assert!(matches!(second, Idempotent::Replayed(_)), "{second:?}");
    assert_eq!(find(storage, &tenant, 2).await, None);
}

/// A turn uses its files: they have no end, and its message has them.
pub async fn a_turn_uses_its_files(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let files = [file(storage, 1).await, file(storage, 2).await];
    let begin = with_files(1, &agent, fixture::existing(&conversation, 0), &files);
    setup::start_turn(storage, &begin).await;
    let turn = lookup::turn(storage, begin.turn_id).await;
    assert_eq!(turn.expect("it runs").files, files);
    setup::complete_turn(storage, &begin, 1).await;
    let messages = lookup::messages(storage, conversation.id).await;
    assert_eq!(
        (&*messages[0].files, messages[1].files.len()),
        (&files[..], 0)
    );
    for number in [1, 2] {
        let (file, uses) = uses(storage, number).await.expect("it is stored");
        assert_eq!((file.expires_at, uses), (None, vec![conversation.id]));
        assert_eq!(delete(storage, number).await, DeleteFileOutcome::InUse);
    }
    let found = find(storage, &fixture::tenant(), 1).await;
    let found = &found.expect("it is stored").uses[0];
    assert_eq!(
        (found.agent_id, &found.user_id),
        (agent.id, &conversation.user_id)
    );
}

/// The first turn of a conversation, and one that is complete when it is stored, use their files.
pub async fn new_conversations_and_complete_turns_use_files(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let new = fixture::conversation(1, agent.id);
    let target = ConversationTarget::New(new.clone());
    let mut turn = fixture::completed_turn(1, &agent, target);
    turn.begin.files = vec![file(storage, 1).await];
    setup::record_turn(storage, turn).await;
    let again = fixture::existing(&new, 1);
    let mut turn = fixture::completed_turn(2, &agent, again);
    turn.begin.files = vec![
        find(storage, &fixture::tenant(), 1)
            .await
            .expect("used")
            .file
            .reference,
    ];
    setup::record_turn(storage, turn).await;
    let (_, uses) = uses(storage, 1).await.expect("it is stored");
    assert_eq!(uses, [new.id]);
    let messages = lookup::messages(storage, new.id).await;
    let counts: Vec<_> = messages.iter().map(|it| it.files.len()).collect();
    assert_eq!(counts, [1, 0, 1, 0]);
}

/// A queued turn uses its files at once, and has them when it starts.
pub async fn a_queued_turn_uses_its_files(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let files = [file(storage, 1).await];
    let queued = with_files(2, &agent, fixture::existing(&conversation, 1), &files);
    setup::queue_turn(storage, &queued).await;
    let (file, _) = uses(storage, 1).await.expect("it is stored");
    assert_eq!(file.expires_at, None);
    setup::complete_turn(storage, &running, 1).await;
    let started = lookup::turn(storage, queued.turn_id)
        .await
        .expect("it is stored");
    assert_eq!(
        (started.status, &*started.files),
        (TurnStatus::InProgress, &files[..])
    );
    let messages = lookup::messages(storage, conversation.id).await;
    assert_eq!(messages.last().map(|it| &*it.files), Some(&files[..]));
}

/// A file that does not exist, has expired or is used elsewhere begins no turn.
pub async fn unusable_files_begin_no_turn(storage: &Store) {
    let (agent, conversation) = chat_with_file(storage, 1).await;
    let elsewhere = setup::conversation(storage, 2, &agent).await;
    let tenant = fixture::tenant();
    let unknown = row(&tenant, 9, "user:ada").file.reference;
    let used = row(&tenant, 1, "user:ada").file.reference;
    let expired = file(storage, 3).await;
    let target = || fixture::existing(&elsewhere, 0);
    let begin = with_files(2, &agent, target(), std::slice::from_ref(&unknown));
    assert_eq!(
        refusal(storage, begin).await,
        UnusableFile::NotFound(unknown.id)
    );
    let begin = with_files(2, &agent, target(), std::slice::from_ref(&used));
    assert_eq!(refusal(storage, begin).await, UnusableFile::InUse(used.id));
    let mut begin = with_files(2, &agent, target(), std::slice::from_ref(&expired));
    begin.stamp = fixture::stamp(EXPIRY);
    assert_eq!(
        refusal(storage, begin).await,
        UnusableFile::NotFound(expired.id)
    );
    let again = with_files(2, &agent, fixture::existing(&conversation, 1), &[used]);
    setup::start_turn(storage, &again).await;
    assert_eq!(lookup::messages(storage, elsewhere.id).await, []);
}

/// The content of a deleted file is listed until the blob store has deleted it.
pub async fn the_content_of_a_deleted_file_is_listed(storage: &Store) {
    file(storage, 1).await;
    for _ in 0..2 {
        assert_eq!(delete(storage, 1).await, DeleteFileOutcome::Deleted);
    }
    assert_eq!(find(storage, &fixture::tenant(), 1).await, None);
    let blob = row(&fixture::tenant(), 1, "").blob;
    let listed = || async { storage.files.deleted_blobs(10).await.success() };
    assert_eq!(listed().await, [blob]);
    storage.files.forget_blobs(&[blob]).await.success();
    assert_eq!(listed().await, []);
}

/// A file is purged with the last conversation that uses it. Forks use the files of copied messages.
pub async fn a_file_is_purged_with_its_last_conversation(storage: &Store) {
    let (_, original) = chat_with_file(storage, 1).await;
    let messages = lookup::messages(storage, original.id).await;
    let (fork, committed) = forks::fork(storage, 2, &original, &messages, 1).await;
    committed.success();
    let (_, used_in) = uses(storage, 1).await.expect("it is stored");
    assert_eq!(used_in, [original.id, fork.id]);
    let purge = || purging::purge_all(storage, 10, purging::ended_before(fixture::at(EXPIRY / 2)));
    let deleted = || purging::purge_all(storage, 10, purging::deleted_before(fixture::at(EXPIRY)));
    setup::delete_conversation(storage, &original).await;
    let (_, used_in) = uses(storage, 1).await.expect("the fork uses it");
    assert_eq!(used_in, [fork.id]);
    assert!(deleted().await > 0);
    purge().await;
    let (file, _) = uses(storage, 1).await.expect("the fork uses it");
    assert_eq!(file.expires_at, None);
    setup::delete_conversation(storage, &fork).await;
    assert!(deleted().await > 0);
    purge().await;
    assert_eq!(find(storage, &fixture::tenant(), 1).await, None);
    assert_eq!(storage.files.deleted_blobs(10).await.success().len(), 1);
}

/// Files that no message has used in time are purged.
pub async fn unused_files_are_purged(storage: &Store) {
    chat_with_file(storage, 1).await;
    file(storage, 2).await;
    let purge = |at| purging::purge_all(storage, 10, purging::ended_before(fixture::at(at)));
    assert_eq!(purge(EXPIRY).await, 0);
    assert_eq!(purge(EXPIRY + 1).await, 1);
    assert_eq!(find(storage, &fixture::tenant(), 2).await, None);
    assert!(find(storage, &fixture::tenant(), 1).await.is_some());
}

/// An erasure deletes the unused files of a user, and removes the user from files that others use.
pub async fn an_erasure_deletes_unused_files(storage: &Store) {
    chat_with_file(storage, 1).await;
    file(storage, 2).await;
    create(storage, row(&fixture::tenant(), 3, "user:bob"), None).await;
    let limited = UploadQuota {
        files: Some(9),
        bytes: None,
    };
    for (number, creator) in [(4, "user:ada"), (5, "user:bob")] {
        let row = row(&fixture::tenant(), number, creator);
        uploads::create(storage, row, limited, None).await;
    }
    let end = fixture::at(EXPIRY);
    let erasures = &storage.erasures;
    erasures
        .anonymize(&fixture::tenant(), "ada", end)
        .await
        .success();
    purging::purge_all(storage, 10, purging::ended_before(fixture::at(0))).await;
    let creator = |number| async move {
        let found = find(storage, &fixture::tenant(), number).await;
        found.map(|found| found.creator.as_str().to_owned())
    };
    assert_eq!(creator(1).await.as_deref(), Some(ERASED_PRINCIPAL));
    assert_eq!(creator(2).await, None);
    assert_eq!(creator(3).await.as_deref(), Some("user:bob"));
    assert_eq!(
        uploads::counted(storage, "user:ada").await,
        Uploads::default()
    );
    assert_eq!(uploads::counted(storage, "user:bob").await.files, 1);
}
