//! The rows of `usage_entries`, which no port reads.

use contract::{fixture, usage};
use domain::RequestUsage;

use sqlx::PgConnection;

use crate::database::Database;

const ENTRIES: &str = "\
    select number, kind, agent_version, user_id, principal, engine, model, input_tokens, \
        cached_input_tokens, output_tokens, reasoning_tokens \
    from usage_entries where tenant_id = 'default' and turn_id = $1 and agent_id = $2 \
        and conversation_id = $3 order by kind, number";
const TIMES: &str = "select at from usage_entries order by number";

/// The number of a request, and what is stored with it.
#[derive(Debug, PartialEq, sqlx::FromRow)]
struct Entry {
    number: i64,
    kind: String,
    agent_version: Option<i64>,
    user_id: Option<String>,
    principal: String,
    engine: String,
    model: Option<String>,
    input_tokens: Option<i64>,
    cached_input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    reasoning_tokens: Option<i64>,
}

/// The entries of the turn and the conversation with this number.
async fn entries(connection: &mut PgConnection, number: u32) -> Vec<Entry> {
    let entries = sqlx::query_as(ENTRIES)
        .bind(fixture::turn_id(number).uuid())
        .bind(fixture::agent_id(1).uuid())
        .bind(fixture::conversation_id(number).uuid());
    let entries = entries.fetch_all(connection).await;
    entries.expect("the store answers")
}

/// The entries of a title whose second request has reported 5 input tokens.
fn expected_of_title() -> Vec<Entry> {
    let of_title = |entry| Entry {
        kind: "title".to_owned(),
        principal: "service".to_owned(),
        ..entry
    };
    expected(5).into_iter().map(of_title).collect()
}

/// The entries of a turn whose second request has reported these input tokens.
fn expected(input_tokens: i64) -> Vec<Entry> {
    let requests = fixture::requests(input_tokens).into_iter();
    let entry = |request: RequestUsage| Entry {
        number: request.number,
        kind: "chat".to_owned(),
        agent_version: Some(1),
        user_id: Some("ada".to_owned()),
        principal: fixture::principal().as_str().to_owned(),
        engine: request.engine,
        model: request.model,
        input_tokens: request.usage.map(|usage| usage.input_tokens),
        cached_input_tokens: request.usage.and_then(|usage| usage.cached_input_tokens),
        output_tokens: request.usage.map(|usage| usage.output_tokens),
        reasoning_tokens: request.usage.and_then(|usage| usage.reasoning_tokens),
    };
    requests.map(entry).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_to_a_model_is_a_row() {
    let database = Database::new().await;
    usage::turns_that_end_together_have_their_own_usage(&database).await;
    let mut connection = database.connect().await;
    for number in 1..=3 {
        let entries = entries(&mut connection, number).await;
        assert_eq!(entries, expected(10 * i64::from(number)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_requests_for_a_title_are_rows_beside_those_of_the_turn() {
    let database = Database::new().await;
    usage::requests_for_titles_are_stored_with_and_without_a_title(&database).await;
    let mut connection = database.connect().await;
    let mut of_both = expected(10);
    of_both.extend(expected_of_title());
    assert_eq!(entries(&mut connection, 1).await, of_both);
    for number in 2..=3 {
        assert_eq!(entries(&mut connection, number).await, expected_of_title());
    }
    // The user of a deleted conversation may be erased.
    let of_deleted = expected_of_title().into_iter().map(|entry| Entry {
        user_id: None,
        ..entry
    });
    let found = entries(&mut connection, 4).await;
    assert_eq!(found, of_deleted.collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_is_not_replaced() {
    let database = Database::new().await;
    usage::a_request_to_a_model_is_written_once(&database).await;
    let mut connection = database.connect().await;
    let times: Vec<time::OffsetDateTime> = sqlx::query_scalar(TIMES)
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert_eq!(times, [fixture::at(10).date_time(); 2]);
}
