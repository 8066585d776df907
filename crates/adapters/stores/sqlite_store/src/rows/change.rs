//! Writing statements with the values of their parameters.

use std::borrow::Cow;

use domain::{
    AgentId, BlobKey, ConversationId, ErasureId, FileId, MessageId, NodeId, NoteId, Timestamp,
    TurnId,
};
use ports::RepositoryError;
use rusqlite::{
    Connection, ToSql, params_from_iter,
    types::{ToSqlOutput, Value, ValueRef},
};
use serde::Serialize;
use serde_json::Value as Json;
use sqlx::{SqliteConnection, query::Query, sqlite::Sqlite, sqlite::SqliteArguments};
use uuid::Uuid;

use crate::{batch_query::to_json, error::from_sqlx};

type DriverQuery = Query<'static, Sqlite, SqliteArguments>;

/// Statements that run in sequence, each with the values of its parameters.
#[derive(Default)]
pub(super) struct Changes<'r>(Vec<(&'static str, Vec<Parameter<'r>>)>);

impl<'r> Changes<'r> {
    /// Adds `statement`, whose parameters have the values of `parameters` in this order.
    pub(super) fn add<const N: usize>(
        &mut self,
        statement: &'static str,
        parameters: [Parameter<'r>; N],
    ) {
        self.0.push((statement, parameters.into()));
    }

    /// Adds the statements of `add` for each of `rows`.
    pub(super) fn each<R>(&mut self, rows: &'r [R], add: impl Fn(&mut Self, &'r R)) {
        for row in rows {
            add(self, row);
        }
    }

    /// Like [`Self::each`], for rows that contain JSON.
    pub(super) fn try_each<R>(
        &mut self,
        rows: &'r [R],
        add: impl Fn(&mut Self, &'r R) -> Result<(), RepositoryError>,
    ) -> Result<(), RepositoryError> {
        rows.iter().try_for_each(|row| add(self, row))
    }

    /// Runs all statements through the driver.
    pub(super) async fn run(
        self,
        connection: &mut SqliteConnection,
    ) -> Result<(), RepositoryError> {
        for (statement, parameters) in self.0 {
            let query = sqlx::query(statement);
            let query = parameters.into_iter().fold(query, bind);
            query.execute(&mut *connection).await.map_err(from_sqlx)?;
        }
        Ok(())
    }

    /// Runs all statements in this thread.
    pub(super) fn run_directly(self, connection: &Connection) -> rusqlite::Result<()> {
        for (statement, parameters) in self.0 {
            let mut statement = connection.prepare_cached(statement)?;
            statement.execute(params_from_iter(parameters))?;
        }
        Ok(())
    }
}

/// The value of a parameter.
pub(super) enum Parameter<'r> {
    Null,
    Integer(i64),
    Text(Cow<'r, str>),
    Id(Uuid),
    Bytes(Cow<'r, [u8]>),
}

impl Parameter<'_> {
    /// The JSON text of `value`.
    pub(super) fn json(value: &(impl Serialize + ?Sized)) -> Result<Self, RepositoryError> {
        to_json(value).map(Self::from)
    }
}

fn bind(query: DriverQuery, value: Parameter<'_>) -> DriverQuery {
    match value {
        Parameter::Null => query.bind(None::<i64>),
        Parameter::Integer(number) => query.bind(number),
        Parameter::Text(text) => query.bind(text.into_owned()),
        Parameter::Id(id) => query.bind(id),
        Parameter::Bytes(bytes) => query.bind(bytes.into_owned()),
    }
}

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Integer(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Id(id) => ToSqlOutput::Borrowed(ValueRef::Blob(id.as_bytes())),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

impl From<i64> for Parameter<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for Parameter<'_> {
    fn from(flag: bool) -> Self {
        Self::Integer(flag.into())
    }
}

impl<'r> From<&'r str> for Parameter<'r> {
    fn from(text: &'r str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Parameter<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<&Json> for Parameter<'_> {
    fn from(json: &Json) -> Self {
        json.to_string().into()
    }
}

impl From<Timestamp> for Parameter<'_> {
    fn from(time: Timestamp) -> Self {
        Self::Integer(time.milliseconds())
    }
}

macro_rules! from_ids {
    ($($id:ty),*) => {$(
        impl From<$id> for Parameter<'_> {
            fn from(id: $id) -> Self {
                Self::Id(id.uuid())
            }
        }
    )*};
}

from_ids!(
    AgentId,
    ConversationId,
    BlobKey,
    ErasureId,
    FileId,
    MessageId,
    NodeId,
    NoteId,
    TurnId
);

impl<'r> From<&'r [u8]> for Parameter<'r> {
    fn from(bytes: &'r [u8]) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<Vec<u8>> for Parameter<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl<T: Into<Self>> From<Option<T>> for Parameter<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The value as JSON text, or null if it is empty.
pub(super) fn json_unless_empty<'r>(
    is_empty: bool,
    value: &impl Serialize,
) -> Result<Parameter<'r>, RepositoryError> {
    if is_empty {
        return Ok(Parameter::Null);
    }
    Parameter::json(value)
}
