//! A home service that restarts while requests are on their way.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use futures::future::join_all;
use serde_json::json;

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
