//! Statements that write, all in one round trip.

use std::{fmt::Write as _, mem};

use ports::RepositoryError;
use sqlx::{
    Arguments as _, AssertSqlSafe, Encode, PgConnection, Postgres, Type, error::BoxDynError,
    postgres::PgArguments,
};

use crate::error::from_sqlx;

/// Statements of which none changes a row that another changes, or reads what another writes: they
/// go to the server as parts of one, which all see the same state.
#[derive(Default)]
pub(crate) struct JointStatement {
    parts: Vec<String>,
    parameters: Parameters,
}

impl JointStatement {
    /// Adds `statement` for all `rows` at once, as `bind` turns them into columns; not at all
    /// without any.
    pub(crate) fn add<'r, R>(
        &mut self,
        statement: &'static str,
        rows: &'r [R],
        bind: impl FnOnce(Parameters, &'r [R]) -> Parameters,
    ) {
        if rows.is_empty() {
            return;
        }
        let (number, before) = (self.parts.len(), self.parameters.arguments.len());
        let statement = numbered_from(before, statement);
        self.parts.push(format!("part_{number} as ({statement})"));
        self.parameters = bind(mem::take(&mut self.parameters), rows);
    }

    /// Runs all of them.
    pub(crate) async fn run(self, connection: &mut PgConnection) -> Result<(), RepositoryError> {
        if self.parts.is_empty() {
            return Ok(());
        }
        if let Some(error) = self.parameters.error {
            return Err(from_sqlx(sqlx::Error::Encode(error)));
        }
        // All of it was written here: what comes from outside is in the parameters.
        let sql = AssertSqlSafe(format!("with {} select", self.parts.join(", ")));
        let query = sqlx::query_with(sql, self.parameters.arguments);
        query.execute(connection).await.map_err(from_sqlx)?;
        Ok(())
    }
}

/// Parameters of all parts of a statement.
#[derive(Default)]
pub(crate) struct Parameters {
    arguments: PgArguments,
    /// Why the first of them that cannot be sent cannot.
    error: Option<BoxDynError>,
}

impl Parameters {
    /// Adds the next one.
    pub(crate) fn bind<'t, T: Encode<'t, Postgres> + Type<Postgres>>(mut self, value: T) -> Self {
        if let Err(error) = self.arguments.add(value) {
            self.error.get_or_insert(error);
        }
        self
    }
}

/// A statement that begins with `$1`, as it is behind so many parameters of others.
fn numbered_from(before: usize, statement: &str) -> String {
    let mut parts = statement.split('$');
    let mut numbered = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = part.split_at(digits);
        let number: usize = number.parse().expect("a number stands behind `$`");
        // Writing to a String cannot fail.
        let _ = write!(numbered, "${}{rest}", before + number);
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted_on_from_those_before() {
        let statement = "select $1::text[], $12 from t where a = $2";
        assert_eq!(numbered_from(0, statement), statement);
        assert_eq!(
            numbered_from(23, statement),
            "select $24::text[], $35 from t where a = $25"
        );
        assert_eq!(numbered_from(7, "select 1"), "select 1");
    }
}
