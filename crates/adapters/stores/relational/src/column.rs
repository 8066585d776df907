//! Conversion of column values to domain values.

use std::str::FromStr;

use domain::{Fingerprint, Handler, Timestamp, ToolCall, TurnStatus, Usage};
use ports::{BoxError, RepositoryError};
use sqlx::{Database, Decode, Type, ValueRef as _, error::BoxDynError, types::Json};
use time::OffsetDateTime;

/// Returns the stored tool calls of a turn with this status. Unless one of them `waits`, those that seem to
/// were answered or dismissed since.
pub fn tool_calls(
    stored: Option<Json<Vec<ToolCall>>>,
    status: TurnStatus,
    waits: bool,
) -> Vec<ToolCall> {
    let calls = stored.map_or_else(Vec::new, |calls| calls.0);
    let shown = calls.into_iter().map(|call| {
        if waits || call.needs.is_none() {
            call
        } else if status.is_final() {
            call.dismissed()
        } else {
            call.answered()
        }
    });
    shown.collect()
}

/// Returns who answers in a conversation: the agent unless something else is stored.
pub fn handler(stored: Option<&str>) -> Handler {
    stored.map_or(Handler::Agent, Handler::read)
}

/// A time, stored as milliseconds since 1970 or with the database's own type for times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredTime(pub Timestamp);

impl From<StoredTime> for Timestamp {
    fn from(time: StoredTime) -> Self {
        time.0
    }
}

impl<DB: Database> Type<DB> for StoredTime
where
    i64: Type<DB>,
    OffsetDateTime: Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        <OffsetDateTime as Type<DB>>::type_info()
    }

    fn compatible(column: &DB::TypeInfo) -> bool {
        <i64 as Type<DB>>::compatible(column) || <OffsetDateTime as Type<DB>>::compatible(column)
    }
}

impl<'r, DB: Database> Decode<'r, DB> for StoredTime
where
    i64: Decode<'r, DB> + Type<DB>,
    OffsetDateTime: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
        let is_integer = <i64 as Type<DB>>::compatible(&value.type_info());
        Ok(Self(if is_integer {
            Timestamp::from_milliseconds(i64::decode(value)?)
        } else {
            Timestamp::from_date_time(OffsetDateTime::decode(value)?)
        }))
    }
}

/// A list of texts, stored as an array or, where the database has none, as JSON.
pub trait TextList {
    /// Returns the texts.
    fn into_texts(self) -> Vec<String>;
}

impl TextList for Vec<String> {
    fn into_texts(self) -> Vec<String> {
        self
    }
}

impl TextList for Json<Vec<String>> {
    fn into_texts(self) -> Vec<String> {
        self.0
    }
}

/// Returns the error of a value in `column` (`table.name`) that this service cannot have written.
pub fn corrupt<E: Into<BoxError>>(column: &'static str) -> impl Fn(E) -> RepositoryError {
    move |source| RepositoryError::Corrupt {
        what: column.to_owned(),
        source: source.into(),
    }
}

/// Parses a text of `column`.
pub fn parse<T>(column: &'static str, text: &str) -> Result<T, RepositoryError>
where
    T: FromStr<Err: Into<BoxError>>,
{
    text.parse().map_err(corrupt(column))
}

/// Builds the token counts of a message, if both are stored.
pub fn usage(input_tokens: Option<i64>, output_tokens: Option<i64>) -> Option<Usage> {
    let (input_tokens, output_tokens) = input_tokens.zip(output_tokens)?;
    Some(Usage {
        input_tokens,
        output_tokens,
        ..Usage::default()
    })
}

/// Reads the fingerprint of an idempotency record.
pub fn fingerprint(bytes: &[u8]) -> Result<Fingerprint, RepositoryError> {
    let bytes = bytes.try_into();
    let bytes = bytes.map_err(corrupt("idempotency_records.fingerprint"))?;
    Ok(Fingerprint::new(bytes))
}
