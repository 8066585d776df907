//! Rows that are not needed are deleted, a page at a time.

use postgres_nodes::Sweep;
use sqlx::{Executor as _, PgConnection};
use tokio::time::Instant;

use crate::database::Database;

const INSERT: &str = "\
    insert into nodes (id, lease_until, swept) values \
        ('00000000-0000-0000-0000-000000000001', now() - interval '1 hour', false), \
        ('00000000-0000-0000-0000-000000000002', now() - interval '1 hour', true); \
    insert into quota_counters (key, full_at, held, held_until) \
        select int4send(n), 0, 0, 0 from generate_series(1, 2500) n; \
    update quota_counters set full_at = 9000000000000000000 where key = int4send(7); \
    update quota_counters set held_until = 9000000000000000000 where key = int4send(8); \
    insert into stream_counters values \
        ('\\x01', '{\"00000000-0000-0000-0000-000000000001\": 1}'), \
        ('\\x02', '{\"00000000-0000-0000-0000-000000000002\": 1}'), \
        ('\\x03', '{}')";

async fn counters(connection: &mut PgConnection) -> i64 {
    let count = sqlx::query_scalar("select count(*) from quota_counters");
    count.fetch_one(connection).await.expect("a count")
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_without_effect_are_deleted_in_pages() {
    let database = Database::new().await;
    let mut connection = database.connect().await;
    connection.execute(INSERT).await.unwrap();
    let mut sweep = Sweep::new(Instant::now());
    for left in [1_502, 502, 2] {
        sweep.check_page(&mut connection).await.unwrap();
        assert_eq!(counters(&mut connection).await, left);
    }
    while sweep.is_due() {
        sweep.check_page(&mut connection).await.unwrap();
    }
    assert_eq!(counters(&mut connection).await, 2);
    // A node that is not marked as dead may renew its lease.
    let holders = sqlx::query_scalar::<_, Vec<u8>>("select holder from stream_counters");
    assert_eq!(holders.fetch_all(&mut connection).await.unwrap(), [[1]]);
}
