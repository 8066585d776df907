//! A chat service as a team would write it by hand: actix-web, sqlx and one transaction for each
//! turn, with nothing that this project adds (no access control, log, queue or recovery).
//!
//! `cargo xtask bench` compares the service with it, so it uses the same framework, database driver,
//! allocator, build profile and number of workers.
//!
//! Arguments: the number of workers, the database URL, and the base URL of the language model.

#![expect(clippy::print_stdout, reason = "the caller reads the address there")]

use std::{io, net::TcpListener};

use actix_web::{
    App, HttpResponse, HttpServer,
    error::{ErrorInternalServerError, ErrorNotFound},
    web::{self, Data, Json},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::{
    Connection as _, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TABLES: &str = "\
    create table conversations (id bigint primary key, instructions text not null, \
        updated_at timestamptz not null default now()); \
    create table messages (id bigint generated always as identity primary key, \
        conversation_id bigint not null references conversations, role text not null, \
        content text not null, created_at timestamptz not null default now()); \
    create index on messages (conversation_id, id); \
    insert into conversations (id, instructions) \
        select n, 'You are Ada, friendly and brief.' from generate_series(1, 1000) as n; \
    analyze;";
const INSTRUCTIONS: &str = "select instructions from conversations where id = $1";
const HISTORY: &str = "\
    select role, content from messages where conversation_id = $1 order by id desc limit 20";
const INSERT_MESSAGE: &str =
    "insert into messages (conversation_id, role, content) values ($1, $2, $3)";
const TOUCH: &str = "update conversations set updated_at = now() where id = $1";

/// The number of database connections: a common choice.
const CONNECTIONS: u32 = 10;

struct Services {
    database: PgPool,
    client: reqwest::Client,
    completions: String,
}

#[derive(Deserialize)]
struct Chat {
    conversation: i64,
    message: String,
    /// Commits the message before the model is called, as this project does.
    #[serde(default)]
    commits_twice: bool,
}

#[derive(Serialize)]
struct Reply {
    message: String,
}

async fn chat(services: Data<Services>, chat: Json<Chat>) -> actix_web::Result<HttpResponse> {
    let messages = prompt(&services.database, &chat)
        .await
        .map_err(ErrorInternalServerError)?
        .ok_or_else(|| ErrorNotFound("no such conversation"))?;
    let mut rows = vec![("user", chat.message.as_str())];
    if chat.commits_twice {
        store(&services.database, &chat, &rows)
            .await
            .map_err(ErrorInternalServerError)?;
        rows.clear();
    }
    let reply = complete(&services, messages)
        .await
        .map_err(ErrorInternalServerError)?;
    rows.push(("assistant", &reply));
    store(&services.database, &chat, &rows)
        .await
        .map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Ok().json(Reply { message: reply }))
}

/// Reads the instructions and the newest messages of the conversation.
async fn prompt(database: &PgPool, chat: &Chat) -> sqlx::Result<Option<Vec<Value>>> {
    let mut connection = database.acquire().await?;
    let instructions: Option<(String,)> = sqlx::query_as(INSTRUCTIONS)
        .bind(chat.conversation)
        .fetch_optional(&mut *connection)
        .await?;
    let Some((instructions,)) = instructions else {
        return Ok(None);
    };
    let history: Vec<(String, String)> = sqlx::query_as(HISTORY)
        .bind(chat.conversation)
        .fetch_all(&mut *connection)
        .await?;
    let mut messages = vec![json!({ "role": "system", "content": instructions })];
    let history = history.into_iter().rev();
    messages.extend(history.map(|(role, content)| json!({ "role": role, "content": content })));
    messages.push(json!({ "role": "user", "content": chat.message }));
    Ok(Some(messages))
}

/// Requests a streamed reply and returns its text.
async fn complete(services: &Services, messages: Vec<Value>) -> Result<String, reqwest::Error> {
    let body = json!({ "model": "mock", "stream": true, "messages": messages });
    let request = services.client.post(&services.completions).json(&body);
    let mut response = request.send().await?.error_for_status()?;
    let (mut received, mut reply) = (Vec::new(), String::new());
    while let Some(chunk) = response.chunk().await? {
        received.extend_from_slice(&chunk);
        while let Some(end) = received.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = received.drain(..=end).collect();
            let data = line.strip_prefix(b"data: ").unwrap_or_default();
            let event: Value = serde_json::from_slice(data).unwrap_or_default();
            let delta = &event["choices"][0]["delta"]["content"];
            reply.push_str(delta.as_str().unwrap_or_default());
        }
    }
    Ok(reply)
}

async fn store(database: &PgPool, chat: &Chat, rows: &[(&str, &str)]) -> sqlx::Result<()> {
    let mut connection = database.acquire().await?;
    let mut transaction = connection.begin().await?;
    for (role, content) in rows {
        sqlx::query(INSERT_MESSAGE)
            .bind(chat.conversation)
            .bind(*role)
            .bind(*content)
            .execute(&mut *transaction)
            .await?;
    }
    sqlx::query(TOUCH)
        .bind(chat.conversation)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await
}

#[actix_web::main]
async fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workers, database, model] = arguments.as_slice() else {
        return Err(io::Error::other(
            "usage: reference_service <workers> <database URL> <base URL of the model>",
        ));
    };
    let workers = workers.parse().map_err(io::Error::other)?;
    // A connection keeps the plans that it made while the tables were nearly empty. They must not
    // read whole tables once these have grown.
    let options: PgConnectOptions = database.parse().map_err(io::Error::other)?;
    let options = options.options([("enable_seqscan", "off")]);
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS);
    let database = pool.connect_with(options).await;
    let database = database.map_err(io::Error::other)?;
    let created = sqlx::raw_sql(TABLES).execute(&database).await;
    created.map_err(io::Error::other)?;
    let services = Data::new(Services {
        database,
        client: reqwest::Client::builder()
            .no_proxy()
            .build()
            .map_err(io::Error::other)?,
        completions: format!("{model}/chat/completions"),
    });
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = HttpServer::new(move || {
        App::new()
            .app_data(services.clone())
            .route("/chat", web::post().to(chat))
    })
    .workers(workers)
    .listen(listener)?
    .run();
    println!("listening on http://{address}");
    server.await
}
