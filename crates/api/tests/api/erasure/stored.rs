//! Nothing of an erased user is left, neither in answers nor in the store.

use std::time::{Duration, Instant};

use domain::{ProblemCode, Timestamp};
use ports::RetentionCutoffs;
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, Row as _};

use super::{MARK, Marked, SOON, USER, erased, events};
use crate::{api_server::ApiServerBuilder, postgres::Database};

/// Waits until the index of the search has seen the end.
async fn indexed(marked: &Marked, to: &Value) {
    let started = Instant::now();
    loop {
        let page = marked.admin.get("/api/conversations?q=anything").await.ok();
        if page["searchedTo"].as_i64() >= to["seq"].as_i64() {
            return;
        }
        assert!(started.elapsed() < SOON, "{page}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Removes what is deleted, as the purge does within the configured time.
async fn purge(marked: &Marked) {
    let maintenance = &marked.api.storage.maintenance;
    let now = maintenance
        .now()
        .await
        .expect("the store answers")
        .milliseconds();
    let before = |age: Duration| {
        let age = i64::try_from(age.as_millis()).expect("a time");
        Timestamp::from_milliseconds(now - age)
    };
    let cutoffs = RetentionCutoffs {
        deleted_before: before(Duration::from_hours(12)),
        records_before: before(Duration::from_hours(24)),
        ended_before: before(Duration::ZERO),
    };
    while maintenance
        .purge(500, cutoffs)
        .await
        .expect("the store answers")
        > 0
    {}
    maintenance.compact().await.expect("the store answers");
}

/// Erases the user, and checks what the interface shows.
async fn erase(marked: &Marked) {
    let before = events(&marked.admin, "conversation.deleted").await;
    assert_eq!(before.len(), 1);
    let last = marked.erase().await;
    // The one that was deleted before is not counted, and the one that has moved belongs to another user.
    let counts = json!({"conversations": 2, "messages": 6});
    assert_eq!(last["data"]["counts"], counts);
    assert_eq!(last["actor"], "service");
    assert_eq!(last.get("userId"), None);
    let deleted = events(&marked.admin, "conversation.deleted").await;
    assert_eq!(deleted.len(), 3);
    let updates = events(&marked.admin, "user.updated").await;
    let content: Vec<_> = updates.iter().map(|event| &event["data"]).collect();
    assert_eq!(
        content,
        [&json!({"deleted": true}), &json!({"deleted": true})]
    );
    for number in [0, 2, 3] {
        let path = format!("/api/conversations/{}", marked.conversations[number]);
        let gone = marked.backend.get(&path).await;
        gone.problem(ProblemCode::ConversationNotFound);
    }
    let moved = format!("/api/conversations/{}", marked.conversations[1]);
    assert_eq!(marked.backend.get(&moved).await.ok()["userId"], "ada");
    indexed(marked, &last).await;
    let all = marked
        .admin
        .get("/api/events?since=0&limit=100")
        .await
        .ok()
        .to_string();
    let user = all.matches(USER).count();
    assert_eq!(user, 0, "{all}");
}

/// Replaces what has the mark in the conversation that belongs to another user now.
async fn delete_moved(marked: &Marked) {
    let path = format!("/api/conversations/{}", marked.conversations[1]);
    assert_eq!(marked.backend.delete(&path).await.status, 204);
    let second = json!({"context": "none"});
    marked
        .admin
        .put("/api/users?userId=ada", second)
        .await
        .created();
    let path = "/api/users?userId=ada";
    let begun = marked.admin.delete(path).await;
    assert_eq!(begun.status, 202);
    let last = erased(&marked.admin, 2).await;
    indexed(marked, &last).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_of_an_erased_user_is_left_in_the_files_of_sqlite() {
    let marked = Marked::start(ApiServerBuilder::default()).await;
    let file = marked.api.database_file();
    let folder = file.parent().expect("a folder").to_owned();
    let count = || {
        let entries = std::fs::read_dir(&folder).expect("the folder of the store");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        // The contents of files are in a folder of their own.
        let contents = paths.filter(|path| path.is_file()).map(std::fs::read);
        let found = contents.map(|content| {
            let content = content.expect("a file").to_ascii_lowercase();
            let windows = content.windows(MARK.len());
            windows.filter(|window| *window == MARK.as_bytes()).count()
        });
        found.sum::<usize>()
    };
    assert!(count() > 20);
    erase(&marked).await;
    delete_moved(&marked).await;
    purge(&marked).await;
    assert_eq!(count(), 0);
    marked.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_an_erased_user_is_left_in_the_tables_of_postgres() {
    let database = Database::make().await;
    let builder = ApiServerBuilder::default().setting("DATABASE_URL", &database.url());
    let marked = Marked::start(builder).await;
    assert!(marks_in(&database).await.len() > 5);
    erase(&marked).await;
    delete_moved(&marked).await;
    purge(&marked).await;
    assert_eq!(marks_in(&database).await, Vec::<String>::new());
    marked.api.stop().await;
}

/// The tables with rows that contain the mark, as a dump shows them, and the statistics.
async fn marks_in(database: &Database) -> Vec<String> {
    let mut connection = database
        .options()
        .connect()
        .await
        .expect("the server answers");
    let tables = "select quote_ident(table_name) from information_schema.tables \
        where table_schema = 'public' union all select 'pg_stats'";
    let tables = sqlx::query(tables).fetch_all(&mut connection).await;
    let mut found = Vec::new();
    for table in tables.expect("tables") {
        let table: String = table.get(0);
        let count = format!("select count(*) from {table} t where t::text ilike '%{MARK}%'");
        let count = sqlx::query_scalar(sqlx::AssertSqlSafe(count));
        let count: i64 = count.fetch_one(&mut connection).await.expect("a count");
        if count > 0 {
            found.push(table);
        }
    }
    found
}
