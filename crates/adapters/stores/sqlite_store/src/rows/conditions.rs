//! The conditions of a write. Each statement finds a row if its condition holds or, if its name says so,
//! if it does not.

use ports::Conditions;
use rusqlite::{Connection, Params, params};

use crate::facts::key_columns;

relational::statements! {
    const HEAD_IS_CURRENT: &str = "select 1 from tenants where id = ? and head_seq = ?";

    const NODE_IS_LIVE: &str = "select 1 from nodes where id = ? and swept = 0";

    const CREDENTIAL_IS_VALID: &str = "\
        select 1 from credentials \
        where id = ? and tenant_id = ? and kind = ? and revoked_at is null";

    const TURN_IS_RUNNING: &str = "\
        select 1 from turns \
        where tenant_id = ? and id = ? and status = 'in_progress' and node_id = ?";

    const KEY_IS_USED: &str = "\
        select 1 from idempotency_records \
        where tenant_id = ? and principal = ? and operation = ? and key = ?";

    const NAME_IS_USED: &str = "\
        select 1 from conversations \
        where tenant_id = ? and agent_id = ? and coalesce(user_id, '') = ? and key = ? \
            and key is not null and deleted_at is null";
}

/// Returns true if all conditions hold.
pub(super) fn hold(connection: &Connection, conditions: &Conditions) -> rusqlite::Result<bool> {
    let Conditions {
        heads,
        live_nodes,
        unused_keys,
        unused_names,
        valid_credentials,
        running_turns,
    } = conditions;
    for (tenant, head) in heads {
        let head = params![tenant.as_str(), head.0];
        if !exists(connection, HEAD_IS_CURRENT, head)? {
            return Ok(false);
        }
    }
    for node in live_nodes {
        if !exists(connection, NODE_IS_LIVE, [node.uuid().as_bytes()])? {
            return Ok(false);
        }
    }
    for key in valid_credentials {
        let key = (key.id.as_str(), key.tenant.as_str(), key.kind.as_str());
        if !exists(connection, CREDENTIAL_IS_VALID, key)? {
            return Ok(false);
        }
    }
    for turn in running_turns {
        let (id, node) = (turn.id.uuid(), turn.node.uuid());
        let turn = params![turn.tenant.as_str(), id.as_bytes(), node.as_bytes()];
        if !exists(connection, TURN_IS_RUNNING, turn)? {
            return Ok(false);
        }
    }
    for key in unused_keys {
        if exists(connection, KEY_IS_USED, key_columns(key))? {
            return Ok(false);
        }
    }
    for (tenant, name) in unused_names {
        let user = name.user_id.as_deref().unwrap_or_default();
        let agent = name.agent_id.uuid();
        let name = params![tenant.as_str(), agent.as_bytes(), user, name.key.as_str()];
        if exists(connection, NAME_IS_USED, name)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn exists(
    connection: &Connection,
    statement: &str,
    parameters: impl Params,
) -> rusqlite::Result<bool> {
    connection.prepare_cached(statement)?.exists(parameters)
}
