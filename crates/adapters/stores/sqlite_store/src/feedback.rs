//! Ratings of messages.

use relational::{feedback_columns, page_budget, repositories::FeedbackSql};

use crate::{SqliteStore, fragments::visible};

impl FeedbackSql for SqliteStore {
    const LIST: &'static str = concat!(
        "with scan as materialized (select coalesce((select sort_seq from feedback \
            where tenant_id = ?1 and sort_seq < ?2 order by sort_seq desc limit 1 offset 9999), 0) as until) \
         select t.head_seq, p.conversation_id as id, p.*, m.id as message_id, m.agent_version \
         from tenants t left join ",
        page_budget!(
            concat!(
                "select *, coalesce(octet_length(json_quote(comment)), 0) + 200 as bytes from (select ",
                feedback_columns!(),
                ", c.agent_id, f.sort_seq, f.sort_seq = (select until from scan) as is_last, coalesce(",
                visible!(),
                " and (?4 is null or c.agent_id in (select unhex(value) from json_each(?4))) \
                 and (?5 is null or f.rating = ?5) \
                 and (?6 is null or f.updated_at >= ?6) and (?7 is null or f.updated_at < ?7) \
                 and (?8 is null or c.user_id = ?8 and f.principal = ''), 0) as is_match \
                 from feedback f left join conversations c \
                 on c.tenant_id = f.tenant_id and c.id = f.conversation_id \
                 where f.tenant_id = ?1 and f.sort_seq < ?2 and f.sort_seq >= (select until from scan)) \
                 where is_match or is_last order by sort_seq desc limit ?3"
            ),
            "sort_seq desc"
        ),
        " p on true left join messages m on m.tenant_id = t.id \
         and m.conversation_id = p.conversation_id and m.seq = p.message_seq \
         where t.id = ?1 order by p.place"
    );
}
