//! Conversion of SQLite values to domain values: ids are 16 bytes, times are milliseconds, JSON is
//! text.

use domain::{AsOf, Listed, Page, Seq, Timestamp};
use ports::RepositoryError;
use relational::{column::corrupt, page_budget};
use serde::{Serialize, de::DeserializeOwned};
use sqlx::{FromRow, Row, sqlite::SqliteRow};
use uuid::Uuid;

use crate::error::in_table;

pub(crate) use relational::page_budget::{one_more, row_count};

/// Parses a JSON text of `column`.
pub(crate) fn from_json<T: DeserializeOwned>(
    column: &'static str,
    text: &str,
) -> Result<T, RepositoryError> {
    serde_json::from_str(text).map_err(corrupt(column))
}

/// Serialises a value as JSON text.
pub(crate) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<String, RepositoryError> {
    serde_json::to_string(value).map_err(corrupt("a value to store"))
}

/// Converts a time.
pub(crate) const fn time(milliseconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(milliseconds)
}

/// Reads the row of a statement that joins at most one entity to its tenant's head. The columns of
/// the entity are null if it does not exist, and without the tenant there is no row.
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

/// Reads the rows of a statement that joins entities to their tenant's head. Rows beyond `limit`
/// and the size of a page are dropped.
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
    let limit = fitting_rows(rows)?.min(limit);
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

/// The number of leading rows that fit into a page, by their column `total`.
pub(crate) fn fitting_rows(rows: &[SqliteRow]) -> Result<usize, RepositoryError> {
    let total = |row: &SqliteRow| row.try_get::<Option<i64>, _>("total");
    let totals = rows.iter().map(|row| Ok(total(row)?.unwrap_or(0)));
    let totals: Vec<i64> = totals.collect::<Result<_, _>>().map_err(in_table("page"))?;
    Ok(page_budget::fitting_rows(&totals))
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
