//! Files.

use relational::repositories::FileSql;

use crate::{
    PostgresStore,
    fragments::{file_uses, visible},
};

impl FileSql for PostgresStore {
    const FIND: &'static str = concat!(
        "select f.id, f.blob, f.name, f.media_type, f.bytes, f.sha256, f.principal, f.created_at, \
            f.expires_at, c.id as conversation_id, c.agent_id, c.user_id, u.is_by_notes \
         from files f ",
        file_uses!(),
        " left join conversations c on c.tenant_id = u.tenant_id and c.id = u.conversation_id and ",
        visible!(),
        " where f.tenant_id = $1 and f.id = any($2) order by f.id"
    );

    const FORGET_BLOBS: &'static str = "delete from deleted_blobs where blob = any($1)";

    const KNOWN_BLOBS: &'static str = "select blob from files where blob = any($1)";
}
