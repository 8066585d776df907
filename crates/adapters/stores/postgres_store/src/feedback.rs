//! Ratings of messages.

use relational::{feedback_columns, page_budget, repositories::FeedbackSql};

use crate::{PostgresStore, fragments::visible};

impl FeedbackSql for PostgresStore {
    const LIST: &'static str = concat!(
        "with scan as materialized (select coalesce((select sort_seq from feedback \
            where tenant_id = $1 and sort_seq < $2 order by sort_seq desc limit 1 offset 9999), 0) as until) \
         select t.head_seq, p.conversation_id as id, p.*, m.id as message_id, m.agent_version \
         from tenants t left join ",
        page_budget!(
            concat!(
                "select *, coalesce(octet_length(to_json(comment)::text), 0) + 200 as bytes from (select ",
                feedback_columns!(),
                ", c.agent_id, f.sort_seq, f.sort_seq = (select until from scan) as is_last, coalesce(",
                visible!(),
                " and ($4::uuid[] is null or c.agent_id = any($4)) \
                 and ($5::text is null or f.rating = $5) \
                 and ($6::timestamptz is null or f.updated_at >= $6) \
                 and ($7::timestamptz is null or f.updated_at < $7) \
                 and ($8::text is null or c.user_id = $8 and f.principal = ''), false) as is_match \
                 from feedback f left join lateral (select * from conversations c \
                    where c.tenant_id = f.tenant_id and c.id = f.conversation_id offset 0) c on true \
                 where f.tenant_id = $1 and f.sort_seq < $2 \
                    and f.sort_seq >= (select until from scan)) f \
                 where is_match or is_last order by sort_seq desc limit $3"
            ),
            "sort_seq desc"
        ),
        " p on true left join lateral (select * from messages m where m.tenant_id = t.id \
         and m.conversation_id = p.conversation_id and m.seq = p.message_seq offset 0) m on true \
         where t.id = $1 order by p.place"
    );
}
