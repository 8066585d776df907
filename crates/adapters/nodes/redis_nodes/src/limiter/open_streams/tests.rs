use dev_tools::redis_server::RedisProcess;

use super::*;
use crate::RedisServer;

fn holder(principal: &str) -> QuotaHolder {
    QuotaHolder {
        tenant: domain::TenantId::DEFAULT.parse().unwrap(),
        principal: domain::PrincipalId::new(principal),
    }
}

fn streams() -> Arc<OpenStreams> {
    Arc::new(OpenStreams::new(Uuid::nil(), Uuid::nil()))
}

async fn report(streams: &OpenStreams, connection: &mut Connection) {
    let updates = streams.all().into_iter();
    let changes = updates.map(|it| streams.change(&it.holder, None, &it.open, &it.closed));
    apply_all(connection, &changes.collect::<Vec<_>>())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_stream_that_was_reported_before_its_admission_counts_once() {
    let process = RedisProcess::start(&[]).unwrap();
    let server = RedisServer::parse(&process.url()).unwrap();
    let mut connection = server.connect(LIFETIME, None).await.unwrap();
    let (streams, ada) = (streams(), holder("ada"));
    let others: Vec<_> = (0..3)
        .map(|it| streams.open(&holder(&it.to_string())))
        .collect();
    let first = streams.open(&ada);
    report(&streams, &mut connection).await;
    assert!(streams.admit(&mut connection, &first, 1).await.unwrap());
    let second = streams.open(&ada);
    report(&streams, &mut connection).await;
    assert!(!streams.admit(&mut connection, &second, 1).await.unwrap());
    // The rejected stream was removed again.
    assert!(streams.admit(&mut connection, &first, 1).await.unwrap());
    drop((others, second));
}

#[test]
fn a_closed_stream_is_reported_without_those_of_other_principals() {
    let streams = streams();
    let ada = [streams.open(&holder("ada")), streams.open(&holder("ada"))];
    let _other = streams.open(&holder("grace"));
    assert!(streams.take_changed().is_empty());
    drop(ada);
    let updates = streams.take_changed();
    let expected = Update {
        holder: holder("ada"),
        open: Vec::new(),
        closed: vec![0, 1],
    };
    assert_eq!(updates, [expected]);
    assert!(streams.take_changed().is_empty());
    streams.forget(&updates);
    assert_eq!(streams.all().len(), 1, "the other principal");
}
