//! Large bodies on the way to the home region, over a long distance.

use std::time::{Duration, Instant};

use dev_load::wide_area::Link;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::fixture::{Regions, far_builder, home_builder, large_agent};
use crate::{api_server::ApiServer, postgres::Database, script::scripted};

/// The number of large bodies over a link that loses packets.
const WRITES: u32 = 20;

/// Two regions with a link between them.
async fn regions(round_trip: Duration) -> (Regions, Link) {
    let database = Database::make().await;
    let (engine, script) = scripted();
    let home = home_builder(&database).engine("scripted", engine);
    let home = home.start().await;
    let link = Link::open(&Handle::current(), round_trip).expect("a link");
    link.lead_to(home.address);
    let far = far_builder(&database, &format!("http://{}", link.address));
    let far = far.join(&home).await;
    let regions = Regions {
        home,
        far,
        script,
        database,
        _replica: None,
    };
    (regions, link)
}

/// Creates the agent in the far region, and returns the time.
async fn create(far: &ApiServer, agent: &Value) -> Duration {
    let far = far.writer();
    let began = Instant::now();
    let created = far.post("/api/agents", agent.clone()).await;
    let elapsed = began.elapsed();
    assert_eq!(created.header("x-served-by"), "home");
    // The whole agent returns.
    assert_eq!(
        created.created()["config"]["rules"],
        agent["config"]["rules"]
    );
    elapsed
}

/// Creates a small agent until there is a connection.
async fn connect(far: &ApiServer) {
    while far
        .writer()
        .post("/api/agents", json!({"name": "Ada"}))
        .await
        .status
        != 201
    {
        tokio::task::yield_now().await;
    }
}

/// The shortest of several times.
async fn fastest(far: &ApiServer, agent: &Value) -> Duration {
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        fastest = fastest.min(create(far, agent).await);
    }
    fastest
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_takes_one_round_trip() {
    let round_trip = Duration::from_millis(500);
    let (regions, link) = regions(Duration::ZERO).await;
    connect(&regions.far).await;
    let agent = large_agent();
    let near = fastest(&regions.far, &agent).await;
    link.set_round_trip(round_trip);
    let distant = fastest(&regions.far, &agent).await;
    let added = distant.saturating_sub(near);
    // A smaller window would cost another round trip.
    let range = round_trip / 4 * 3..round_trip / 4 * 7;
    assert!(range.contains(&added), "{near:?} becomes {distant:?}");
    assert_eq!(link.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_arrive_although_packets_are_lost() {
    let round_trip = Duration::from_millis(50);
    let (regions, link) = regions(round_trip).await;
    connect(&regions.far).await;
    let agent = large_agent();
    let without_loss = create(&regions.far, &agent).await;
    // 0.5 %: about one packet of each body, and one of each response.
    link.lose_one_of(200);
    let began = Instant::now();
    for _ in 0..WRITES {
        create(&regions.far, &agent).await;
    }
    // A round trip for each lost packet, and as much for the machine.
    let mean = began.elapsed() / WRITES;
    let limit = without_loss * 2 + round_trip * 4;
    assert!(
        mean < limit,
        "{mean:?} with and {without_loss:?} without loss"
    );
    // No connection was given up.
    assert_eq!(link.connections(), 1);
}
