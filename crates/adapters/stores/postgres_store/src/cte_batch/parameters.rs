//! The parameters of a batch.

use sqlx::{
    Arguments as _, Encode, Postgres, Type,
    error::BoxDynError,
    postgres::{PgArguments, PgHasArrayType},
};

use super::sql_text::SqlText;

/// The parameters of all parts of the statement.
#[derive(Default)]
pub(crate) struct Parameters {
    arguments: PgArguments,
    /// The error of the first parameter that cannot be encoded.
    error: Option<BoxDynError>,
    /// The batch contains one write: the columns of a single row are then values, otherwise arrays.
    is_single: bool,
}

impl Parameters {
    /// Creates parameters of a batch that contains one write if `is_single`.
    pub(super) fn new(is_single: bool) -> Self {
        Self {
            is_single,
            ..Self::default()
        }
    }

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
            [row] if self.is_single => self.bind(value(row)),
            rows => self.bind(rows.iter().map(value).collect::<Vec<T>>()),
        }
    }

    /// The text of a statement whose parameters follow.
    pub(super) fn text<R>(&self, text: &'static str, rows: &[R]) -> SqlText<'static> {
        SqlText {
            text,
            offset: self.arguments.len(),
            has_values: self.is_single && rows.len() == 1,
        }
    }

    /// The parameters for the driver.
    pub(super) fn into_arguments(self) -> sqlx::Result<PgArguments> {
        match self.error {
            Some(error) => Err(sqlx::Error::Encode(error)),
            None => Ok(self.arguments),
        }
    }
}
