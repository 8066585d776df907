//! Tickets for sockets.

use relational::repositories::TicketSql;

use crate::PostgresStore;

impl TicketSql for PostgresStore {
    const INSERT: &'static str = "\
        insert into tickets (digest, content, ends_at) \
        values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond') \
        on conflict do nothing returning digest";

    const FIND: &'static str = "\
        select content from tickets where digest = $1 and ends_at > clock_timestamp()";

    const REDEEM: &'static str = "\
        delete from tickets where digest = $1 and ends_at > clock_timestamp() returning content";
}
