use sqlx::sqlite::SqliteConnectOptions;
use tempfile::TempDir;

use super::*;
use crate::error::from_sqlx;

/// A writer on a file with one table of blobs, whose rows can refer to each other.
async fn writer() -> (TempDir, Writer) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test.db");
    std::fs::write(&path, "").unwrap();
    let options = SqliteConnectOptions::new().filename(path);
    let writer = Writer::start(
        &options,
        None,
        &TaskTracker::new(),
        WriterThread::start().unwrap(),
    )
    .unwrap();
    run(
        &writer,
        "create table things (id integer primary key, other integer references things (id), \
         content blob) strict",
    )
    .await
    .unwrap();
    (folder, writer)
}

async fn run(writer: &Writer, statement: &'static str) -> Result<(), WriteError> {
    writer
        .transaction_without_deadline(move |connection| {
            Box::pin(async move {
                let done = sqlx::raw_sql(statement).execute(connection).await;
                done.map(drop).map_err(from_sqlx)
            })
        })
        .await
}

async fn count(writer: &Writer) -> i64 {
    writer
        .transaction(|connection| {
            Box::pin(async move {
                let count = sqlx::query_scalar("select count(*) from things");
                count.fetch_one(connection).await.map_err(from_sqlx)
            })
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_transaction_that_fails_is_rolled_back() {
    let (_folder, writer) = writer().await;
    let refused: Result<(), _> = writer
        .transaction(|connection| {
            Box::pin(async move {
                let insert = sqlx::query("insert into things (id) values (1)");
                insert.execute(connection).await.map_err(from_sqlx)?;
                Err(RepositoryError::Stale { what: "thing" })
            })
        })
        .await;
    assert!(matches!(refused, Err(RepositoryError::Stale { .. })));
    assert_eq!(count(&writer).await, 0);
}

#[tokio::test]
async fn rejected_data_does_not_make_the_store_unavailable() {
    let (_folder, writer) = writer().await;
    let refused = run(
        &writer,
        "insert into things (id, content) values (1, 'text')",
    )
    .await;
    let Err(WriteError::RolledBack(error)) = refused else {
        panic!("{refused:?}");
    };
    assert!(!error.is_retryable(), "{error:?}");
}

#[tokio::test]
async fn writes_succeed_again_when_a_full_disk_has_space() {
    let (_folder, writer) = writer().await;
    let full = run(
        &writer,
        "pragma max_page_count = 1; insert into things (content) values (zeroblob(1000000))",
    )
    .await;
    assert!(matches!(
        full,
        Err(WriteError::RolledBack(RepositoryError::Unavailable(_)))
    ));
    run(
        &writer,
        "insert into things (content) values (zeroblob(1000000))",
    )
    .await
    .unwrap();
    assert_eq!(count(&writer).await, 1);
}

#[tokio::test]
async fn an_unconfirmed_commit_is_followed_by_a_new_connection() {
    let (_folder, writer) = writer().await;
    let unknown = run(
        &writer,
        "pragma defer_foreign_keys = on; insert into things (id, other) values (1, 2)",
    )
    .await;
    assert!(
        matches!(unknown, Err(WriteError::Unknown(_))),
        "{unknown:?}"
    );
    run(&writer, "insert into things (id) values (3)")
        .await
        .unwrap();
    assert_eq!(count(&writer).await, 1);
}

#[tokio::test]
async fn an_abandoned_transaction_does_not_begin() {
    let (_folder, writer) = writer().await;
    let (release, released) = oneshot::channel::<()>();
    let first = writer.transaction_without_deadline(move |_connection| {
        Box::pin(async move {
            let _ = released.await;
            Ok(())
        })
    });
    let abandoned = run(&writer, "insert into things (id) values (1)");
    // Both are polled once, so that both are queued; then both are dropped.
    tokio::select! {
        biased;
        _ = async { tokio::join!(first, abandoned) } => panic!("the first waits for its release"),
        () = std::future::ready(()) => {}
    }
    drop(release);
    assert_eq!(count(&writer).await, 0);
}

#[tokio::test]
async fn a_closed_writer_rejects_transactions() {
    let (_folder, writer) = writer().await;
    assert!(writer.check().is_ok());
    writer.close().await;
    assert!(writer.check().is_err());
    let late = run(&writer, "insert into things (id) values (1)").await;
    assert!(matches!(
        late,
        Err(WriteError::RolledBack(RepositoryError::Unavailable(_)))
    ));
}

#[tokio::test]
async fn a_transaction_that_cannot_begin_in_time_is_withdrawn() {
    let (_folder, writer) = writer().await;
    let (release, released) = oneshot::channel::<()>();
    let busy = writer.transaction_without_deadline(move |_connection| {
        Box::pin(async move {
            let _ = released.await;
            Ok(())
        })
    });
    let waiting = async {
        let withdrawn = run(&writer, "insert into things (id) values (1)").await;
        let _ = release.send(());
        withdrawn
    };
    let (busy, withdrawn) = tokio::join!(busy, waiting);
    busy.unwrap();
    assert!(matches!(
        withdrawn,
        Err(WriteError::RolledBack(RepositoryError::Unavailable(_)))
    ));
    assert_eq!(count(&writer).await, 0);
}

/// The number of pages in the log, and that of copied ones.
fn log_pages(folder: &TempDir) -> (i64, i64) {
    let connection = rusqlite::Connection::open(folder.path().join("test.db")).unwrap();
    let pages = connection.query_row("pragma wal_checkpoint(noop)", [], |row| {
        Ok((row.get(1)?, row.get(2)?))
    });
    pages.unwrap()
}

const WRITE_250_PAGES: &str =
    "insert or replace into things (id, content) values (1, randomblob(1000000))";

#[tokio::test]
async fn the_log_is_copied_without_another_write() {
    let (folder, writer) = writer().await;
    run(&writer, WRITE_250_PAGES).await.unwrap();
    let (pages, copied) = log_pages(&folder);
    assert!(pages > 240 && copied == 0, "{copied} of {pages}");
    run(&writer, WRITE_250_PAGES).await.unwrap();
    let began = Instant::now();
    loop {
        let (pages, copied) = log_pages(&folder);
        // The next write begins the log anew.
        if pages == copied {
            break;
        }
        assert!(began.elapsed() < CALL_TIMEOUT, "{copied} of {pages}");
    }
    run(&writer, WRITE_250_PAGES).await.unwrap();
    assert!(log_pages(&folder).0 < 300);
}

#[tokio::test]
async fn the_log_stays_short_under_steady_writes() {
    let (folder, writer) = writer().await;
    for _ in 0..120 {
        run(&writer, WRITE_250_PAGES).await.unwrap();
    }
    let log = folder.path().join("test.db-wal");
    let bytes = log.metadata().unwrap().len();
    assert!(bytes < 80 << 20, "{bytes} bytes");
}

#[tokio::test]
async fn the_log_is_merged_at_the_end() {
    let (folder, writer) = writer().await;
    run(&writer, WRITE_250_PAGES).await.unwrap();
    writer.close().await;
    assert!(!folder.path().join("test.db-wal").exists());
    assert!(folder.path().join("test.db").metadata().unwrap().len() > 1_000_000);
}
