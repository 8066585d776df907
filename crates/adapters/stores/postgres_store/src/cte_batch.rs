//! A batch of writing statements in one round trip, as common table expressions (CTEs).

mod parameters;
mod sql_text;

use std::{fmt::Write as _, mem};

use sqlx::{AssertSqlSafe, PgConnection};

pub(crate) use self::parameters::Parameters;
use self::sql_text::SqlText;
pub(crate) use self::sql_text::with_values;

/// Statements that do not depend on each other: none changes a row that another or the condition changes,
/// or reads a row that another writes. They are sent as parts of one statement, and all see the same state.
#[derive(Default)]
pub(crate) struct CteBatch {
    condition: Option<Condition>,
    parts: Vec<SqlText<'static>>,
    parameters: Parameters,
}

/// The definition of the common table expression `condition`, and of others that it reads. `start` ends with a
/// term; further terms are inserted before `end`.
pub(crate) struct ConditionSql {
    pub(crate) start: &'static str,
    pub(crate) end: &'static str,
}

/// The condition of all parts.
struct Condition {
    start: SqlText<'static>,
    /// Expressions between start and end, which must all be true.
    terms: Vec<SqlText<'static>>,
    end: &'static str,
}

impl CteBatch {
    /// Creates a batch whose statements change nothing unless the common table expression `condition` has rows.
    /// Every statement must end with a `where` clause. `is_single` means that the batch contains one write:
    /// statements with a single row are then sent as values, others always as arrays. A further choice for each
    /// statement of larger batches would lead to more texts than a connection keeps prepared.
    pub(crate) fn conditional<'r, R>(
        is_single: bool,
        condition: &ConditionSql,
        rows: &'r [R],
        bind: impl FnOnce(Parameters, &'r [R]) -> Parameters,
    ) -> Self {
        let parameters = Parameters::new(is_single);
        Self {
            condition: Some(Condition {
                start: parameters.text(condition.start, rows),
                terms: Vec::new(),
                end: condition.end,
            }),
            parts: Vec::new(),
            parameters: bind(parameters, rows),
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
    ) -> Option<SqlText<'static>> {
        if rows.is_empty() {
            return None;
        }
        let parameters = mem::take(&mut self.parameters);
        let text = parameters.text(text, rows);
        self.parameters = bind(parameters, rows);
        Some(text)
    }

    /// Runs all statements. Returns whether the condition, if there is one, was met.
    pub(crate) async fn run(self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        if self.parts.is_empty() && self.condition.is_none() {
            return Ok(true);
        }
        // The text consists of constants; all values are parameters.
        let sql = AssertSqlSafe(self.sql());
        let query = sqlx::query_with(sql, self.parameters.into_arguments()?);
        let rows = query.fetch_all(connection).await?;
        Ok(!rows.is_empty())
    }

    /// The text of the statement. The database server runs the main query before the parts, so the condition
    /// locks its tenants before any part runs.
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

#[cfg(test)]
mod tests {
    use sqlx::Arguments as _;

    use super::*;

    const CONDITION: ConditionSql = ConditionSql {
        start: "condition as (select from t where h = any($1)",
        end: ")",
    };

    #[test]
    fn only_single_rows_of_single_writes_are_values() {
        let bind = |parameters: Parameters, rows: &[i64]| parameters.column(rows, |row| *row);
        let part = |is_single, rows| {
            let mut batch = CteBatch::conditional(is_single, &CONDITION, &[], bind);
            batch.add("delete from t where a = unnest($1::int8[])", rows, bind);
            let sql = batch.sql();
            let (_, part) = sql.split_once("where a = ").expect("the statement");
            part.split(' ').next().map(str::to_owned)
        };
        let (array, value) = ("unnest($2::int8[])", "$2::int8");
        assert_eq!(part(true, &[1]).as_deref(), Some(value));
        assert_eq!(part(true, &[1, 2]).as_deref(), Some(array));
        assert_eq!(part(false, &[1]).as_deref(), Some(array));
    }

    #[test]
    fn parameters_are_numbered_through_conditions_and_parts() {
        let bind = |parameters: Parameters, rows: &[i64]| parameters.bind(rows.to_vec());
        let mut batch = CteBatch::conditional(false, &CONDITION, &[1], bind);
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
        assert_eq!(batch.parameters.into_arguments().unwrap().len(), 4);
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
