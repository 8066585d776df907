//! A home service that restarts while requests are on their way.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use futures::future::join_all;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::fixture::{Regions, home_builder};
use crate::caller::Caller;

const WRITES: usize = 64;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Creates an agent, with one idempotency key for all attempts.
async fn create(far: &Caller, number: usize) {
    let began = Instant::now();
    loop {
        let request = far.request("POST", "/api/agents");
        let request = request.json(&json!({"name": format!("agent {number}")}));
        let key = format!("key-{number}");
        let response = request.header("Idempotency-Key", &key).send().await;
        if response.status == 201 {
            return;
        }
        let code = response.json()["code"].clone();
        assert!(
            ["home_unavailable", "store_unavailable", "draining"].map(|it| code == it)
                != [false; 3],
            "{code}"
        );
        assert!(began.elapsed() < TIMEOUT, "no connection");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_write_with_a_key_is_lost_or_doubled() {
    let Regions {
        home,
        far,
        database,
        ..
    } = Regions::start().await;
    let address = home.address;
    let caller = far.writer();
    let writes = join_all((0..WRITES).map(|number| {
        let caller = &caller;
        async move {
            // Some are before the restart, some during it, and some after it.
            let pause = Duration::from_millis(u64::try_from(number * 10).expect("short"));
            tokio::time::sleep(pause).await;
            create(caller, number).await;
        }
    }));
    let restart = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        home.stop().await;
        let again = home_builder(&database);
        let again = again.setting("SERVER__PORT", &address.port().to_string());
        again.join(&far).await
    };
    let (_, home) = tokio::join!(writes, restart);
    let listed = home.reader().get("/api/agents?limit=100").await.ok();
    let agents = listed["data"].as_array().expect("agents");
    let names: HashSet<String> = agents
        .iter()
        .map(|agent| agent["name"].to_string())
        .collect();
    assert_eq!((agents.len(), names.len()), (WRITES, WRITES));
}

/// Reads frames of HTTP/2 up to GOAWAY.
async fn read_to_go_away(stream: &mut TcpStream) {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.expect("a frame");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).expect("a length")];
        stream.read_exact(&mut payload).await.expect("a payload");
        if head[3] == 7 {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_of_http_2_does_not_delay_the_end() {
    let regions = Regions::start().await;
    let mut proxy = TcpStream::connect(regions.home.address)
        .await
        .expect("a service");
    // The preface, and SETTINGS without any.
    let opening = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    proxy.write_all(opening).await.expect("a connection");
    let began = Instant::now();
    let leaving = async {
        read_to_go_away(&mut proxy).await;
        drop(proxy);
    };
    tokio::join!(regions.home.stop(), leaving);
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}
