//! A batch of writing statements in one round trip, as common table expressions (CTEs).

use std::{fmt::Write as _, mem};

use sqlx::{
    Arguments as _, AssertSqlSafe, Encode, PgConnection, Postgres, Type, error::BoxDynError,
    postgres::PgArguments,
};

/// Statements that do not depend on each other: none changes a row that another changes, or reads a
/// row that another writes. They are sent as parts of one statement, and all see the same state.
#[derive(Default)]
pub(crate) struct CteBatch {
    condition: Option<&'static str>,
    parts: Vec<String>,
    parameters: Parameters,
}

impl CteBatch {
    /// Creates a batch whose statements change nothing unless `condition`, a list of common table
    /// expressions, yields a row of `condition`. It is evaluated first, so it can take locks. Every
    /// statement must end with a `where` clause.
    pub(crate) fn conditional(
        condition: &'static str,
        bind: impl FnOnce(Parameters) -> Parameters,
    ) -> Self {
        Self {
            condition: Some(condition),
            parts: Vec::new(),
            parameters: bind(Parameters::default()),
        }
    }

    /// Adds `statement` for all `rows` at once, which `bind` converts to columns; adds nothing
    /// without rows.
    pub(crate) fn add<'r, R>(
        &mut self,
        statement: &'static str,
        rows: &'r [R],
        bind: impl FnOnce(Parameters, &'r [R]) -> Parameters,
    ) {
        if rows.is_empty() {
            return;
        }
        let (number, offset) = (self.parts.len(), self.parameters.arguments.len());
        let statement = renumber_parameters(offset, statement);
        let condition = match self.condition {
            Some(_) => " and exists (select from condition)",
            None => "",
        };
        self.parts
            .push(format!("part_{number} as ({statement}{condition})"));
        self.parameters = bind(mem::take(&mut self.parameters), rows);
    }

    /// Runs all statements. Returns whether the condition, if there is one, was met.
    pub(crate) async fn run(self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        if self.parts.is_empty() && self.condition.is_none() {
            return Ok(true);
        }
        if let Some(error) = self.parameters.error {
            return Err(sqlx::Error::Encode(error));
        }
        let mut parts = self.parts;
        let condition = self.condition.map(ToOwned::to_owned);
        let main = condition.as_ref().map_or("", |_| " from condition");
        parts.splice(..0, condition);
        let parts = parts.join(", ");
        // The text consists of constants; all values are parameters. The database server runs the
        // main query before the parts.
        let sql = AssertSqlSafe(format!("with {parts} select{main}"));
        let query = sqlx::query_with(sql, self.parameters.arguments);
        let rows = query.fetch_all(connection).await?;
        Ok(!rows.is_empty())
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
}
