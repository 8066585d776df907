//! Tickets for sockets.

use relational::repositories::TicketSql;

use crate::SqliteStore;

impl TicketSql for SqliteStore {
    const INSERT: &'static str = concat!(
        "insert into tickets (digest, content, ends_at) values (?1, ?2, ",
        now!(),
        " + ?3) on conflict do nothing returning digest"
    );

    const FIND: &'static str = concat!(
        "select content from tickets where digest = ?1 and ends_at > ",
        now!()
    );

    const REDEEM: &'static str = concat!(
        "delete from tickets where digest = ?1 and ends_at > ",
        now!(),
        " returning content"
    );
}
