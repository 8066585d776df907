use std::str::FromStr as _;

use dev_tools::postgres::test_server_url;
use sqlx::postgres::PgListener;

use super::*;

const COMMIT: &str = "show synchronous_commit";

fn server() -> PgConnectOptions {
    PgConnectOptions::from_str(&test_server_url()).expect("a URL of Postgres")
}

#[tokio::test]
async fn a_session_that_has_sent_signals_still_commits_to_disk() {
    let server = server().options([("synchronous_commit", "on")]);
    let mut listener = PgListener::connect_with(&sqlx::PgPool::connect_lazy_with(server.clone()))
        .await
        .unwrap();
    let channel = format!("sender_{}", std::process::id());
    listener.listen(&channel).await.unwrap();
    let outbox = Arc::new(Outbox::default());
    let mut sender = Sender::new(server, channel, Uuid::nil(), outbox, Arc::default());
    let mut connection = sender.connect().await.unwrap();
    sender.send(&mut connection).await.unwrap();
    let setting = sqlx::query_scalar::<_, String>(COMMIT).fetch_one(&mut connection);
    assert_eq!(setting.await.unwrap(), "on");
    let sent = listener.recv().await.unwrap();
    assert!(sent.payload().contains("\"number\":0"));
}
