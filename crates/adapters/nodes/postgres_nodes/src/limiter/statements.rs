//! The statements, and the rows of their responses.

use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use crate::limiter::{
    rate::{Nanos, Rate},
    streams::StreamRowRequest,
    sweep::PAGES,
    units::{RowRequest, RowResponse},
};

/// The settings of the connection, which are also those of the store's connections. The statements
/// find rows by their keys, whatever the size of the tables was when they were planned. A commit
/// need not be made asynchronous: the server does not wait for the log of unlogged tables.
pub const SETTINGS: &str = "\
    set jit = off; \
    set plan_cache_mode = force_generic_plan; \
    set enable_seqscan = off; \
    set enable_bitmapscan = off; \
    set enable_hashjoin = off; \
    set enable_mergejoin = off; \
    set statement_timeout = '5s'; \
    set idle_in_transaction_session_timeout = '10s'; \
    set default_transaction_isolation = 'read committed'";

/// Charges rows and takes units. Rows are locked in the order of their keys, so that nodes do not
/// block each other forever, and read by the database's clock once they are locked. Times are in
/// nanoseconds since 1970. `full_at` is at most a burst from now, also after the clock was set back,
/// and at least the time in which the units are refilled that nodes hold (`kept`) and that this node
/// has used. Nodes hold at most `most_held`, so that what killed nodes held does not add up. A row that
/// another node inserted meanwhile has no response.
const TAKE_UNITS: &str = "\
    with requested as materialized ( \
        select * from unnest($1::bytea[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], \
            $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::int8[]) \
            with ordinality \
            as a (key, per_unit, burst, charged, returned, used, refilled_in, at_least, at_most, \
                at_once, most_held, position)), \
    found as materialized ( \
        select a.*, c.full_at, c.held, c.held_until \
        from requested a join quota_counters c on c.key = a.key \
        order by a.key for update of c), \
    timed as materialized ( \
        select *, true as is_known, \
            (extract(epoch from clock_timestamp()) * 1000000000)::int8 as now from found \
        union all \
        select a.*, 0::int8, 0::int8, 0::int8, false, \
            (extract(epoch from clock_timestamp()) * 1000000000)::int8 from requested a \
        where not exists (select from found f where f.key = a.key)), \
    reserved as materialized ( \
        select *, greatest(case when held_until > now then held else 0 end - used, 0) as valid \
        from timed), \
    returned as materialized ( \
        select *, least(greatest(valid - returned, 0), most_held) as kept, \
            least(full_at, now + burst * per_unit) - least(returned, valid) as missing_until \
        from reserved), \
    charged as materialized ( \
        select *, greatest(missing_until, now + kept + refilled_in) + charged as owed \
        from returned), \
    counted as materialized ( \
        select *, greatest((now + burst * per_unit - owed) / per_unit, 0) as room from charged), \
    granted as materialized ( \
        select *, case when room >= at_least then least(room, at_most) else 0 end as units \
        from counted), \
    written as materialized ( \
        select key, position, is_known, now, units, owed + units * per_unit as full_at, \
            kept + greatest(units - at_once, 0) * per_unit as held, \
            case when units > 0 then now + 2000000000 \
                else least(held_until, now + 2000000000) end as held_until \
        from granted), \
    updated as ( \
        update quota_counters c \
        set full_at = w.full_at, held = w.held, held_until = w.held_until \
        from written w where c.key = w.key and w.is_known returning c.key), \
    inserted as ( \
        insert into quota_counters (key, full_at, held, held_until) \
        select key, full_at, held, held_until from written where not is_known order by key \
        on conflict do nothing returning key) \
    select w.position, w.units, w.full_at - w.now as full_in \
    from (select key from updated union all select key from inserted) d \
    join written w on w.key = d.key";

/// Reports the open streams of the node $1, and opens others while all nodes with a valid lease have
/// less than the maximum together. Removes the counts of dead nodes only: another node may renew its
/// lease late, and does not report its streams again.
const OPEN_STREAMS: &str = "\
    with requested as materialized ( \
        select * from unnest($2::bytea[], $3::int8[], $4::int8[], $5::int8[]) with ordinality \
            as a (holder, open, wanted, most, position)), \
    found as materialized ( \
        select a.*, c.counts from requested a join stream_counters c on c.holder = a.holder \
        order by a.holder for update of c), \
    listed as materialized ( \
        select *, true as is_known from found \
        union all \
        select a.*, '{}'::jsonb, false from requested a \
        where not exists (select from found f where f.holder = a.holder)), \
    counted as materialized ( \
        select l.*, o.others, greatest(least(wanted, most - open - o.streams), 0) as granted \
        from listed l cross join lateral ( \
            select coalesce(jsonb_object_agg(e.key, e.value), '{}') as others, \
                coalesce(sum(e.value::int8) filter (where n.lease_until > clock_timestamp()), \
                    0)::int8 as streams \
            from jsonb_each(l.counts) e join nodes n on n.id = e.key::uuid \
            where n.id <> $1 and not n.swept) o), \
    written as materialized ( \
        select holder, position, is_known, granted, case when open + granted = 0 then others \
            else others || jsonb_build_object($1::text, open + granted) end as counts \
        from counted), \
    updated as ( \
        update stream_counters c set counts = w.counts \
        from written w where c.holder = w.holder and w.is_known returning c.holder), \
    inserted as ( \
        insert into stream_counters (holder, counts) \
        select holder, counts from written where not is_known order by holder \
        on conflict do nothing returning holder) \
    select w.position, w.granted \
    from (select holder from updated union all select holder from inserted) d \
    join written w on w.holder = d.holder";

/// All statements of this crate.
pub const STATEMENTS: &[&str] = &[TAKE_UNITS, OPEN_STREAMS, PAGES[0], PAGES[1]];

/// A row that units are taken from.
#[derive(Debug)]
pub(crate) struct UnitRow {
    pub(crate) key: Vec<u8>,
    pub(crate) rate: Rate,
    pub(crate) request: RowRequest,
    /// The time of the units that all nodes hold at most.
    pub(crate) most_held: Nanos,
}

/// A row that streams are counted in.
#[derive(Debug)]
pub(crate) struct StreamRow {
    pub(crate) holder: Vec<u8>,
    pub(crate) request: StreamRowRequest,
}

/// Charges rows and takes units. Returns the responses in the order of `rows`; `None` for a row that
/// must be queried again.
pub(crate) async fn take_units(
    connection: &mut PgConnection,
    rows: &[UnitRow],
) -> Result<Vec<Option<RowResponse>>, sqlx::Error> {
    let column = |value: fn(&UnitRow) -> i64| rows.iter().map(value).collect::<Vec<_>>();
    let keys: Vec<&[u8]> = rows.iter().map(|row| &*row.key).collect();
    let responses = sqlx::query(TAKE_UNITS)
        .bind(keys)
        .bind(column(|row| row.rate.interval))
        .bind(column(|row| row.rate.burst.into()))
        .bind(column(|row| row.request.charged))
        .bind(column(|row| row.request.returned))
        .bind(column(|row| row.request.used))
        .bind(column(|row| row.request.refilled_in))
        .bind(column(|row| row.request.least.into()))
        .bind(column(|row| row.request.most.into()))
        .bind(column(|row| row.request.at_once.into()))
        .bind(column(|row| row.most_held))
        .fetch_all(connection)
        .await?;
    let mut received = vec![None; rows.len()];
    for response in responses {
        let units: i64 = response.try_get("units")?;
        let full_in = response.try_get("full_in")?;
        *slot(&mut received, &response)? = Some(RowResponse {
            granted: u32::try_from(units).unwrap_or(0),
            full_in,
        });
    }
    Ok(received)
}

/// Reports and opens streams. Returns the numbers of opened ones in the order of `rows`; `None` for
/// a row that must be queried again.
pub(crate) async fn open_streams(
    connection: &mut PgConnection,
    node: Uuid,
    rows: &[StreamRow],
) -> Result<Vec<Option<u32>>, sqlx::Error> {
    let column = |value: fn(&StreamRow) -> i64| rows.iter().map(value).collect::<Vec<_>>();
    let holders: Vec<&[u8]> = rows.iter().map(|row| &*row.holder).collect();
    let responses = sqlx::query(OPEN_STREAMS)
        .bind(node)
        .bind(holders)
        .bind(column(|row| row.request.open.into()))
        .bind(column(|row| row.request.wanted.into()))
        .bind(column(|row| row.request.most.into()))
        .fetch_all(connection)
        .await?;
    let mut received = vec![None; rows.len()];
    for response in responses {
        let granted: i64 = response.try_get("granted")?;
        *slot(&mut received, &response)? = Some(u32::try_from(granted).unwrap_or(0));
    }
    Ok(received)
}

/// The place of a response, by its ordinality from 1.
fn slot<'a, T>(
    received: &'a mut [T],
    response: &sqlx::postgres::PgRow,
) -> Result<&'a mut T, sqlx::Error> {
    let position: i64 = response.try_get("position")?;
    let index = usize::try_from(position - 1).ok();
    index
        .and_then(|index| received.get_mut(index))
        .ok_or_else(|| sqlx::Error::ColumnNotFound("position".into()))
}
