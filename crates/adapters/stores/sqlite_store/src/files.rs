//! Files.

use relational::repositories::FileSql;

use crate::{SqliteStore, fragments::visible};

impl FileSql for SqliteStore {
    const FIND: &'static str = concat!(
        "with named as materialized (select unhex(value) as id from json_each(?2)), \
         u as ( \
            select m.file_id, m.conversation_id, 0 as is_by_notes from named \
            cross join file_uses m on m.tenant_id = ?1 and m.file_id = named.id \
            union all select distinct n.file_id, n.conversation_id, 1 from named \
            cross join note_file_uses n on n.tenant_id = ?1 and n.file_id = named.id) \
         select f.id, f.blob, f.name, f.media_type, f.bytes, f.sha256, f.principal, f.created_at, \
            f.expires_at, c.id as conversation_id, c.agent_id, c.user_id, u.is_by_notes \
         from files f \
         left join u on u.file_id = f.id \
         left join conversations c on c.tenant_id = f.tenant_id and c.id = u.conversation_id and ",
        visible!(),
        " where f.tenant_id = ?1 and f.id in (select id from named) order by f.id"
    );

    const FORGET_BLOBS: &'static str =
        "delete from deleted_blobs where blob in (select unhex(value) from json_each(?1))";

    const KNOWN_BLOBS: &'static str =
        "select blob from files where blob in (select unhex(value) from json_each(?1))";
}
