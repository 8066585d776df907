//! The deletion of rows without effect: full quotas, and streams of dead nodes.

use std::time::Duration;

use sqlx::PgConnection;
use tokio::time::Instant;

/// The pause after all rows were checked.
const PAUSE: Duration = Duration::from_mins(1);

/// Check the rows after the key $1, and return the last key.
pub(crate) const PAGES: [&str; 2] = [
    "with page as materialized ( \
        select key from quota_counters where key > $1 order by key limit 1000), \
    unneeded as materialized ( \
        select c.key from page p join quota_counters c on c.key = p.key \
        where greatest(c.full_at, c.held_until) \
            < (extract(epoch from clock_timestamp()) * 1000000000)::int8 \
        for update of c skip locked), \
    deleted as (delete from quota_counters where key in (select key from unneeded)) \
    select key from page order by key desc limit 1",
    "with page as materialized ( \
        select holder from stream_counters where holder > $1 order by holder limit 1000), \
    unneeded as materialized ( \
        select c.holder from page p join stream_counters c on c.holder = p.holder \
        where not exists ( \
            select from jsonb_object_keys(c.counts) k join nodes n on n.id = k::uuid \
            where not n.swept) \
        for update of c skip locked), \
    deleted as (delete from stream_counters where holder in (select holder from unneeded)) \
    select holder from page order by holder desc limit 1",
];

/// A pass over all rows in pages of 1,000, so that requests between them do not wait long.
#[derive(Debug)]
pub struct Sweep {
    due: Instant,
    table: usize,
    after: Vec<u8>,
}

impl Sweep {
    /// Creates a pass that begins at `due`.
    pub const fn new(due: Instant) -> Self {
        Self {
            due,
            table: 0,
            after: Vec::new(),
        }
    }

    /// Creates a pass that begins after the pause.
    pub(crate) fn after_pause() -> Self {
        Self::new(Instant::now() + PAUSE)
    }

    /// Returns true if a page is to be checked.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Checks a page. Begins again after the last one, when the pause is over.
    pub async fn check_page(&mut self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let page = sqlx::query_scalar(PAGES[self.table]).bind(&self.after);
        match page.fetch_optional(connection).await? {
            Some(last) => self.after = last,
            None if self.table + 1 < PAGES.len() => {
                self.table += 1;
                self.after.clear();
            }
            None => *self = Self::after_pause(),
        }
        Ok(())
    }
}
