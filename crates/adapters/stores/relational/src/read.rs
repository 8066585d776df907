//! Reads rows, among them those of statements that join entities to their tenant's head.

use domain::{AsOf, Listed, Page, Seq};
use ports::RepositoryError;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::{column::corrupt, page_budget, sql_error};

/// A row that can be read as `T`. Unlike bounds on `T`, this one is implied for the rows of a store
/// by the traits of [`repositories`](crate::repositories).
pub trait ReadAs<T>: Row {
    /// Reads the row.
    fn read_as(&self) -> sqlx::Result<T>;
}

impl<R: Row, T: for<'r> FromRow<'r, R>> ReadAs<T> for R {
    fn read_as(&self) -> sqlx::Result<T> {
        T::from_row(self)
    }
}

/// A row that can have the columns of this module.
pub trait JoinedRow:
    ReadAs<HeadColumn> + ReadAs<IdColumn> + ReadAs<TotalColumn> + ReadAs<FoundColumn>
{
}

impl<R> JoinedRow for R where
    R: ReadAs<HeadColumn> + ReadAs<IdColumn> + ReadAs<TotalColumn> + ReadAs<FoundColumn>
{
}

/// Reads a row of `table`.
pub fn row<R: ReadAs<T>, T>(table: &'static str, row: &R) -> Result<T, RepositoryError> {
    let read = row.read_as();
    read.map_err(sql_error::in_table(table, sql_error::from_sqlx))
}

/// Reads and converts the row of `table`, if the statement found one.
pub fn one<R, S, T>(
    table: &'static str,
    found: Option<R>,
    into: impl Fn(S) -> Result<T, RepositoryError>,
) -> Result<Option<T>, RepositoryError>
where
    R: ReadAs<S>,
{
    let convert = |found| into(row(table, &found)?);
    found.map(convert).transpose()
}

/// Reads the only value of a statement on `table` that always has one.
pub fn value<R, T>(
    table: &'static str,
    rows: impl IntoIterator<Item = R>,
) -> Result<T, RepositoryError>
where
    R: ReadAs<(T,)>,
{
    let first = rows.into_iter().next();
    let first = first.ok_or_else(|| corrupt(table)("no row"))?;
    row(table, &first).map(|(value,)| value)
}

/// Reads rows of `table` and converts each. A row is dropped as soon as it is converted.
pub fn rows<R, S, T, C>(
    table: &'static str,
    rows: Vec<R>,
    into: impl Fn(S) -> Result<T, RepositoryError>,
) -> Result<C, RepositoryError>
where
    R: ReadAs<S>,
    C: FromIterator<T>,
{
    let convert = |found| into(row(table, &found)?);
    rows.into_iter().map(convert).collect()
}

/// Reads the row of a statement that joins at most one entity to its tenant's head. The columns of
/// the entity are null if it does not exist, and without the tenant there is no row.
pub fn as_of_one<R, S, T>(
    table: &'static str,
    row: Option<&R>,
    into: impl Fn(S) -> Result<T, RepositoryError>,
) -> Result<AsOf<Option<T>>, RepositoryError>
where
    R: JoinedRow + ReadAs<S>,
{
    let mut found = as_of_many(table, row, into)?;
    Ok(AsOf {
        value: found.value.pop(),
        position: found.position,
    })
}

/// Reads the row of a statement that joins at most one entity of a listing to its tenant's head, as
/// [`as_of_one`] does.
pub fn as_of_listed<R, S, T>(
    table: &'static str,
    row: Option<&R>,
    into: impl Fn(S) -> Result<T, RepositoryError>,
) -> Result<AsOf<Option<Listed<T>>>, RepositoryError>
where
    R: JoinedRow + ReadAs<ListedRow<S>>,
{
    as_of_one(table, row, |row: ListedRow<S>| row.convert(&into))
}

/// Reads the rows of a statement that joins entities to their tenant's head. Rows beyond `limit`
/// and the size of a page are dropped.
pub fn as_of_page<R, S, T>(
    table: &'static str,
    rows: &[R],
    limit: usize,
    into: impl Fn(S) -> Result<T, RepositoryError>,
) -> Result<AsOf<Page<T>>, RepositoryError>
where
    R: JoinedRow + ReadAs<S>,
{
    let found = as_of_many(table, rows, into)?;
    let limit = fitting_rows(rows)?.min(limit);
    Ok(found.map(|items| Page::from_one_more(items, limit)))
}

/// Reads the rows of a statement that joins a listing to its tenant's head.
pub fn as_of_listing<R, S, T>(
    table: &'static str,
    rows: &[R],
    limit: usize,
    into: impl Fn(S) -> Result<T, RepositoryError>,
) -> Result<AsOf<Page<Listed<T>>>, RepositoryError>
where
    R: JoinedRow + ReadAs<ListedRow<S>>,
{
    as_of_page(table, rows, limit, |row: ListedRow<S>| row.convert(&into))
}

/// Replaces `page` with `None` if the entity of `table` to which it belongs does not exist, according
/// to the column `is_found`.
pub fn if_found<R, T>(
    table: &'static str,
    rows: &[R],
    page: AsOf<T>,
) -> Result<AsOf<Option<T>>, RepositoryError>
where
    R: JoinedRow,
{
    let found: Option<FoundColumn> = rows.first().map(|first| row(table, first)).transpose()?;
    let is_found = found.is_some_and(|found| found.is_found);
    Ok(page.map(|page| is_found.then_some(page)))
}

/// Reads the rows of a listing that is not joined to a tenant's head.
pub fn listing<R, S, T>(
    table: &'static str,
    found: Vec<R>,
    limit: usize,
    into: impl Fn(S) -> Result<T, RepositoryError>,
) -> Result<Page<Listed<T>>, RepositoryError>
where
    R: JoinedRow + ReadAs<ListedRow<S>>,
{
    let limit = fitting_rows(&found)?.min(limit);
    let items = rows(table, found, |row: ListedRow<S>| row.convert(&into))?;
    Ok(Page::from_one_more(items, limit))
}

/// Reads the rows of a scan that is joined to its tenant's head: those that match, and the last of the page if
/// another page may follow.
#[expect(clippy::type_complexity, reason = "the caller destructures it")]
pub fn as_of_scan<R, S, T>(
    table: &'static str,
    rows: &[R],
    limit: usize,
    into: impl Fn(S) -> Result<T, RepositoryError>,
) -> Result<AsOf<(Vec<Listed<T>>, Option<Listed<T>>)>, RepositoryError>
where
    R: JoinedRow + ReadAs<ScannedRow<S>>,
    T: Clone,
{
    let convert = |row: ScannedRow<S>| {
        Ok(Scanned {
            listed: row.listed.convert(&into)?,
            is_match: row.is_match,
            is_last: row.is_last,
        })
    };
    let page = as_of_page(table, rows, limit, convert)?;
    Ok(page.map(|page| {
        let last = page.items.last();
        let last = last.filter(|last| page.has_more || last.is_last);
        let last = last.map(|last| last.listed.clone());
        let matches = page.items.into_iter().filter(|it| it.is_match);
        (matches.map(|it| it.listed).collect(), last)
    }))
}

/// An entity that a scan has looked at.
struct Scanned<T> {
    listed: Listed<T>,
    is_match: bool,
    is_last: bool,
}

/// A row of a scan.
#[derive(sqlx::FromRow)]
pub struct ScannedRow<S> {
    #[sqlx(flatten)]
    listed: ListedRow<S>,
    is_match: bool,
    is_last: bool,
}

/// A row of a listing.
#[derive(sqlx::FromRow)]
pub struct ListedRow<S> {
    #[sqlx(flatten)]
    item: S,
    sort_seq: i64,
}

impl<S> ListedRow<S> {
    fn convert<T>(
        self,
        into: impl Fn(S) -> Result<T, RepositoryError>,
    ) -> Result<Listed<T>, RepositoryError> {
        Ok(Listed {
            item: into(self.item)?,
            sort_seq: Seq(self.sort_seq),
        })
    }
}

/// The joined column of the tenant's head.
#[derive(sqlx::FromRow)]
pub struct HeadColumn {
    head_seq: i64,
}

/// The column of the entity's id, which is null if the entity does not exist.
#[derive(sqlx::FromRow)]
pub struct IdColumn {
    id: Option<Uuid>,
}

/// The column that is true if the entity to which the rows belong exists.
#[derive(sqlx::FromRow)]
pub struct FoundColumn {
    is_found: bool,
}

/// The column of [`page_budget!`](crate::page_budget!) with the running total of bytes.
#[derive(sqlx::FromRow)]
pub struct TotalColumn {
    total: Option<i64>,
}

/// The number of leading rows that fit into a page.
fn fitting_rows<R: JoinedRow>(rows: &[R]) -> Result<usize, RepositoryError> {
    let total = |found| row("page", found).map(|found: TotalColumn| found.total.unwrap_or(0));
    let totals: Vec<i64> = rows.iter().map(total).collect::<Result<_, _>>()?;
    Ok(page_budget::fitting_rows(&totals))
}

/// Reads the rows of a statement that joins any number of entities to their tenant's head.
pub fn as_of_many<'r, R, S, T>(
    table: &'static str,
    rows: impl IntoIterator<Item = &'r R>,
    into: impl Fn(S) -> Result<T, RepositoryError>,
) -> Result<AsOf<Vec<T>>, RepositoryError>
where
    R: JoinedRow + ReadAs<S> + 'r,
{
    let mut position = Seq::default();
    let mut items = Vec::new();
    for found in rows {
        let head: HeadColumn = row("tenants", found)?;
        position = Seq(head.head_seq);
        let entity: IdColumn = row(table, found)?;
        if entity.id.is_some() {
            items.push(into(row(table, found)?)?);
        }
    }
    Ok(AsOf {
        value: items,
        position,
    })
}
