//! A batch of writing statements in one round trip, as common table expressions (CTEs).

use std::{fmt::Write as _, mem};

use sqlx::{
    Arguments as _, AssertSqlSafe, Encode, PgConnection, Postgres, Type,
    error::BoxDynError,
    postgres::{PgArguments, PgHasArrayType},
};

/// Statements that do not depend on each other: none changes a row that another changes, or reads a
/// row that another writes. They are sent as parts of one statement, and all see the same state.
#[derive(Default)]
pub(crate) struct CteBatch {
    condition: Option<Condition>,
    parts: Vec<Fragment<'static>>,
    parameters: Parameters,
}

/// The condition of all parts: a common table expression `condition`, which has rows if it is met.
struct Condition {
    start: Fragment<'static>,
    /// Expressions between start and end, which must all be true.
    terms: Vec<Fragment<'static>>,
    end: &'static str,
}

impl CteBatch {
    /// Creates a batch whose statements change nothing unless a condition is met: that the common table
    /// expression `condition` has rows. `start` and `end` are its text, or also define others that it reads.
    /// The terms of [`Self::require`] follow `start`, which ends with a term. Every statement must end with a
    /// `where` clause.
    pub(crate) fn conditional<'r, R>(
        [start, end]: [&'static str; 2],
        rows: &'r [R],
        bind: impl FnOnce(Parameters, &'r [R]) -> Parameters,
    ) -> Self {
        Self {
            condition: Some(Condition {
                start: Fragment::new(start, rows, 0),
                terms: Vec::new(),
                end,
            }),
            parts: Vec::new(),
            parameters: bind(Parameters::default(), rows),
        }
    }

    /// Adds a term on `rows`, which `bind` converts to columns, to the condition of [`Self::conditional`];
    /// adds nothing without rows.
    pub(crate) fn require<'r, R>(
        &mut self,
        term: &'static str,
        rows: &'r [R],
        bind: impl FnOnce(Parameters, &'r [R]) -> Parameters,
    ) {
        let term = self.with_rows(term, rows, bind);
        let condition = self.condition.as_mut();
        let condition = condition.expect("the batch was created with a condition");
        condition.terms.extend(term);
    }

    /// Adds `statement` for all `rows` at once, which `bind` converts to columns; adds nothing
    /// without rows.
    pub(crate) fn add<'r, R>(
        &mut self,
        statement: &'static str,
        rows: &'r [R],
        bind: impl FnOnce(Parameters, &'r [R]) -> Parameters,
    ) {
        let statement = self.with_rows(statement, rows, bind);
        self.parts.extend(statement);
    }

    /// Adds the parameters of `text`, and returns it; `None` without rows.
    fn with_rows<'r, R>(
        &mut self,
        text: &'static str,
        rows: &'r [R],
        bind: impl FnOnce(Parameters, &'r [R]) -> Parameters,
    ) -> Option<Fragment<'static>> {
        if rows.is_empty() {
            return None;
        }
        let fragment = Fragment::new(text, rows, self.parameters.arguments.len());
        self.parameters = bind(mem::take(&mut self.parameters), rows);
        Some(fragment)
    }

    /// Runs all statements. Returns whether the condition, if there is one, was met.
    pub(crate) async fn run(self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        if self.parts.is_empty() && self.condition.is_none() {
            return Ok(true);
        }
        // The text consists of constants; all values are parameters.
        let sql = AssertSqlSafe(self.sql());
        if let Some(error) = self.parameters.error {
            return Err(sqlx::Error::Encode(error));
        }
        let query = sqlx::query_with(sql, self.parameters.arguments);
        let rows = query.fetch_all(connection).await?;
        Ok(!rows.is_empty())
    }

    /// The text of the statement. The database server runs the main query before the parts.
    fn sql(&self) -> String {
        let mut sql = String::with_capacity(4096);
        let mut separator = "with ";
        if let Some(Condition { start, terms, end }) = &self.condition {
            sql.push_str(separator);
            start.append_to(&mut sql);
            for term in terms {
                sql.push_str(" and ");
                term.append_to(&mut sql);
            }
            sql.push_str(end);
            separator = ", ";
        }
        let is_conditional = self.condition.is_some();
        for (number, part) in self.parts.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = write!(sql, "{separator}part_{number} as (");
            part.append_to(&mut sql);
            if is_conditional {
                sql.push_str(" and exists (select from condition)");
            }
            sql.push(')');
            separator = ", ";
        }
        sql.push_str(" select");
        if is_conditional {
            sql.push_str(" from condition");
        }
        sql
    }
}

/// The parameters of all parts of the statement.
#[derive(Default)]
pub(crate) struct Parameters {
    arguments: PgArguments,
    /// The error of the first parameter that cannot be encoded.
    error: Option<BoxDynError>,
}

impl Parameters {
    /// Adds the next parameter.
    pub(crate) fn bind<'t, T: Encode<'t, Postgres> + Type<Postgres>>(mut self, value: T) -> Self {
        if let Err(error) = self.arguments.add(value) {
            self.error.get_or_insert(error);
        }
        self
    }

    /// Adds the next column of `rows`, as a parameter for `unnest!`.
    pub(crate) fn column<'r, R, T>(self, rows: &'r [R], value: impl Fn(&'r R) -> T) -> Self
    where
        T: Encode<'r, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        match rows {
            [row] => self.bind(value(row)),
            rows => self.bind(rows.iter().map(value).collect::<Vec<T>>()),
        }
    }
}

/// A part of the statement.
struct Fragment<'s> {
    text: &'s str,
    /// The number of parameters before its own.
    offset: usize,
    /// Whether its columns are values in place of arrays. With a single row, a third of the processor time of
    /// a chat in the database server went into arrays, their rows and joins with them.
    has_one_row: bool,
}

impl<'s> Fragment<'s> {
    const fn new<R>(text: &'s str, rows: &[R], offset: usize) -> Self {
        Self {
            text,
            offset,
            has_one_row: rows.len() == 1,
        }
    }

    /// Appends the text, in which the numbers of parameters continue those before it.
    fn append_to(&self, sql: &mut String) {
        let mut parts = self.text.split('$');
        let mut before = parts.next().unwrap_or_default();
        for part in parts {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, after) = part.split_at(digits);
            let number: usize = number.parse().expect("a number follows `$`");
            let number = self.offset + number;
            let column = before.strip_suffix("unnest(").filter(|_| self.has_one_row);
            sql.push_str(column.unwrap_or(before));
            // Writing to a String cannot fail.
            let _ = write!(sql, "${number}");
            before = match column {
                Some(_) => {
                    let (kind, after) = after.split_once("[])").expect("columns are arrays");
                    sql.push_str(kind);
                    after
                }
                None => after,
            };
        }
        sql.push_str(before);
    }
}

/// The text of a statement for a single row.
pub(crate) fn for_one_row(text: &str) -> String {
    let mut sql = String::new();
    Fragment::new(text, &[()], 0).append_to(&mut sql);
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<R>(text: &str, rows: &[R], offset: usize) -> String {
        let mut sql = String::new();
        Fragment::new(text, rows, offset).append_to(&mut sql);
        sql
    }

    #[test]
    fn parameter_numbers_continue_after_the_offset() {
        let statement = "select $1::text[], $12 from t where a = $2";
        assert_eq!(text(statement, &[1, 2], 0), statement);
        assert_eq!(
            text(statement, &[1, 2], 23),
            "select $24::text[], $35 from t where a = $25"
        );
        assert_eq!(text("select 1", &[1], 7), "select 1");
    }

    #[test]
    fn columns_of_one_row_are_values() {
        let statement = "select * from (select unnest($1::text[]), unnest($2::uuid[])) as n \
            where n.id = any($3::uuid[])";
        assert_eq!(text(statement, &[1, 2], 0), statement);
        assert_eq!(
            text(statement, &[1], 10),
            "select * from (select $11::text, $12::uuid) as n where n.id = any($13::uuid[])"
        );
    }

    #[test]
    fn parameters_are_numbered_through_conditions_and_parts() {
        let bind = |parameters: Parameters, rows: &[i64]| parameters.bind(rows.to_vec());
        let condition = ["condition as (select from t where h = any($1)", ")"];
        let mut batch = CteBatch::conditional(condition, &[1], bind);
        batch.require("a = $1", &[], bind);
        batch.require("b = $1", &[1], bind);
        batch.add("delete from t where c = $1", &[1], bind);
        batch.add("delete from u where d = $1", &[], bind);
        batch.add("delete from v where e = $1", &[1], bind);
        assert_eq!(
            batch.sql(),
            "with condition as (select from t where h = any($1) and b = $2), \
             part_0 as (delete from t where c = $3 and exists (select from condition)), \
             part_1 as (delete from v where e = $4 and exists (select from condition)) \
             select from condition"
        );
        assert_eq!(batch.parameters.arguments.len(), 4);
    }

    #[test]
    fn parts_without_a_condition_always_run() {
        let mut batch = CteBatch::default();
        batch.add("delete from t where c = $1", &[1], |parameters, rows| {
            parameters.bind(rows.to_vec())
        });
        let expected = "with part_0 as (delete from t where c = $1) select";
        assert_eq!(batch.sql(), expected);
    }
}
