//! From values of SQLite to those of the domain: ids are 16 bytes, times are milliseconds, JSON is
//! text.

use domain::{AsOf, Listed, Page, Seq, Timestamp};
use ports::RepositoryError;
use relational::{column::corrupt, page_room};
use serde::{Serialize, de::DeserializeOwned};
use sqlx::{FromRow, Row, sqlite::SqliteRow};
use uuid::Uuid;

use crate::error::in_table;

/// Reads a JSON text of `column`.
pub(crate) fn from_json<T: DeserializeOwned>(
    column: &'static str,
    text: &str,
) -> Result<T, RepositoryError> {
    serde_json::from_str(text).map_err(corrupt(column))
}

/// Writes a value as JSON text; what the service stores always can be.
pub(crate) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<String, RepositoryError> {
    serde_json::to_string(value).map_err(corrupt("a value to be stored"))
}

/// Reads a time.
pub(crate) const fn time(milliseconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(milliseconds)
}

/// Reads the row of a statement that joins at most one thing to its tenant's head: the columns of
/// the thing are null when it is not there, and there is no row at all without the tenant.
pub(crate) fn as_of_one<'r, R, T>(
    table: &'static str,
    row: Option<&'r SqliteRow>,
    into: impl Fn(R) -> Result<T, RepositoryError>,
) -> Result<AsOf<Option<T>>, RepositoryError>
where
    R: FromRow<'r, SqliteRow>,
{
    let mut found = as_of_many(table, row, into)?;
    Ok(AsOf {
        value: found.value.pop(),
        position: found.position,
    })
}

/// Reads the rows of a statement that joins things to their tenant's head, at most one more than
/// `limit` and than the page has room for.
pub(crate) fn as_of_page<R, T>(
    table: &'static str,
    rows: &[SqliteRow],
    limit: usize,
    into: impl Fn(R) -> Result<T, RepositoryError>,
) -> Result<AsOf<Page<T>>, RepositoryError>
where
    R: for<'r> FromRow<'r, SqliteRow>,
{
    let found = as_of_many(table, rows, into)?;
    let limit = fitting(rows)?.min(limit);
    Ok(found.map(|items| Page::from_one_more(items, limit)))
}

/// Reads the rows of a statement that joins a listing to its tenant's head.
pub(crate) fn as_of_listing<R, T>(
    table: &'static str,
    rows: &[SqliteRow],
    limit: usize,
    into: impl Fn(R) -> Result<T, RepositoryError>,
) -> Result<AsOf<Page<Listed<T>>>, RepositoryError>
where
    R: for<'r> FromRow<'r, SqliteRow>,
{
    as_of_page(table, rows, limit, |row: ListedRow<R>| {
        Ok(Listed {
            item: into(row.item)?,
            sort_seq: row.sort_seq,
        })
    })
}

/// A row of a listing.
pub(crate) struct ListedRow<R> {
    pub(crate) item: R,
    pub(crate) sort_seq: Seq,
}

impl<'r, R: FromRow<'r, SqliteRow>> FromRow<'r, SqliteRow> for ListedRow<R> {
    fn from_row(row: &'r SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            item: R::from_row(row)?,
            sort_seq: Seq(row.try_get("sort_seq")?),
        })
    }
}

/// The number of rows of a statement with a `total` that a page has room for.
pub(crate) fn fitting(rows: &[SqliteRow]) -> Result<usize, RepositoryError> {
    let total = |row: &SqliteRow| row.try_get::<Option<i64>, _>("total");
    let totals = rows.iter().map(|row| Ok(total(row)?.unwrap_or(0)));
    let totals: Vec<i64> = totals
        .collect::<Result<_, _>>()
        .map_err(in_table("a page"))?;
    Ok(page_room::fitting(&totals))
}

fn as_of_many<'r, R, T>(
    table: &'static str,
    rows: impl IntoIterator<Item = &'r SqliteRow>,
    into: impl Fn(R) -> Result<T, RepositoryError>,
) -> Result<AsOf<Vec<T>>, RepositoryError>
where
    R: FromRow<'r, SqliteRow>,
{
    let unreadable = in_table(table);
    let mut position = Seq::default();
    let mut items = Vec::new();
    for row in rows {
        position = Seq(row.try_get("head_seq").map_err(in_table("tenants"))?);
        if row
            .try_get::<Option<Uuid>, _>("id")
            .map_err(&unreadable)?
            .is_some()
        {
            items.push(into(R::from_row(row).map_err(&unreadable)?)?);
        }
    }
    Ok(AsOf {
        value: items,
        position,
    })
}

/// A number of rows, as statements take it.
pub(crate) fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// One more than a page shows, which tells whether more follow.
pub(crate) fn one_more(limit: usize) -> i64 {
    count(limit).saturating_add(1)
}
