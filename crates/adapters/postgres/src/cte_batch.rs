//! A batch of writing statements in one round trip, as common table expressions (CTEs).

use std::{borrow::Cow, fmt::Write as _, mem};

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
    parts: Vec<String>,
    parameters: Parameters,
}

/// The condition of all parts.
struct Condition {
    /// A common table expression that locks rows.
    locks: String,
    /// Expressions that must all be true.
    terms: Vec<String>,
}

impl CteBatch {
    /// Creates a batch whose statements change nothing unless `term` and those of [`Self::require`] are
    /// true. The common table expression `locks`, which `term` reads, locks `rows` before any change. Every
    /// statement must end with a `where` clause.
    pub(crate) fn conditional<'r, R>(
        locks: &'static str,
        term: &'static str,
        rows: &'r [R],
        bind: impl FnOnce(Parameters, &'r [R]) -> Parameters,
    ) -> Self {
        let locks = text_for(rows, locks).into_owned();
        let terms = vec![term.to_owned()];
        Self {
            condition: Some(Condition { locks, terms }),
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

    /// Adds the parameters of `text`, and returns it with their numbers; `None` without rows.
    fn with_rows<'r, R>(
        &mut self,
        text: &'static str,
        rows: &'r [R],
        bind: impl FnOnce(Parameters, &'r [R]) -> Parameters,
    ) -> Option<String> {
        if rows.is_empty() {
            return None;
        }
        let text = text_for(rows, text);
        let numbered = renumber_parameters(self.parameters.arguments.len(), &text);
        self.parameters = bind(mem::take(&mut self.parameters), rows);
        Some(numbered)
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
        let (mut expressions, condition, main) = match &self.condition {
            Some(Condition { locks, terms }) => {
                let terms = terms.join(" and ");
                let condition = format!("condition as materialized (select where {terms})");
                let expressions = vec![locks.clone(), condition];
                let met = " and exists (select from condition)";
                (expressions, met, " from condition")
            }
            None => (Vec::new(), "", ""),
        };
        let parts = self.parts.iter().enumerate();
        expressions
            .extend(parts.map(|(number, part)| format!("part_{number} as ({part}{condition})")));
        format!("with {} select{main}", expressions.join(", "))
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

/// The text of a statement for `rows`.
fn text_for<R>(rows: &[R], text: &'static str) -> Cow<'static, str> {
    match rows {
        [_] => for_one_row(text).into(),
        _ => text.into(),
    }
}

/// The text of a statement whose columns are values in place of arrays. With a single row, about a third of
/// the processor time of a chat in the database server went into arrays, their rows and joins with them.
pub(crate) fn for_one_row(statement: &str) -> String {
    let mut parts = statement.split("unnest($");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (column, rest) = part.split_once("[]").expect("columns are arrays");
        // Writing to a String cannot fail.
        let _ = write!(text, "(${column}{rest}");
    }
    text
}

/// Adds `offset` to the numbers of all parameters of a statement.
fn renumber_parameters(offset: usize, statement: &str) -> String {
    let mut parts = statement.split('$');
    let mut renumbered = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = part.split_at(digits);
        let number: usize = number.parse().expect("a number follows `$`");
        // Writing to a String cannot fail.
        let _ = write!(renumbered, "${}{rest}", offset + number);
    }
    renumbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_numbers_continue_after_the_offset() {
        let statement = "select $1::text[], $12 from t where a = $2";
        assert_eq!(renumber_parameters(0, statement), statement);
        assert_eq!(
            renumber_parameters(23, statement),
            "select $24::text[], $35 from t where a = $25"
        );
        assert_eq!(renumber_parameters(7, "select 1"), "select 1");
    }

    #[test]
    fn columns_of_one_row_are_values() {
        let statement = "select * from (select unnest($1::text[]), unnest($2::uuid[])) as n \
            where n.id = any($3::uuid[])";
        assert_eq!(
            for_one_row(statement),
            "select * from (select ($1::text), ($2::uuid)) as n where n.id = any($3::uuid[])"
        );
        assert_eq!(for_one_row("select $1::text"), "select $1::text");
    }

    #[test]
    fn parameters_are_numbered_through_conditions_and_parts() {
        let bind = |parameters: Parameters, rows: &[i64]| parameters.bind(rows.to_vec());
        let mut batch = CteBatch::conditional(
            "l as (select from t where h = any($1))",
            "$1 = $2",
            &[1, 2],
            |parameters, rows: &[i64]| parameters.column(rows, |row| *row).bind(2_i64),
        );
        batch.require("a = $1", &[], bind);
        batch.require("b = $1", &[1], bind);
        batch.add("delete from t where c = $1", &[1], bind);
        batch.add("delete from u where d = $1", &[], bind);
        batch.add("delete from v where e = $1", &[1], bind);
        assert_eq!(
            batch.sql(),
            "with l as (select from t where h = any($1)), \
             condition as materialized (select where $1 = $2 and b = $3), \
             part_0 as (delete from t where c = $4 and exists (select from condition)), \
             part_1 as (delete from v where e = $5 and exists (select from condition)) \
             select from condition"
        );
        assert_eq!(batch.parameters.arguments.len(), 5);
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
