//! Large bodies on the way to the home region, over a long distance.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::fixture::{Regions, large_agent};
use crate::api_server::ApiServer;

/// The number of large bodies over a link that loses packets.
const WRITES: u32 = 20;

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
    let (regions, link) = Regions::start_distant(Duration::ZERO).await;
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
    let (regions, link) = Regions::start_distant(round_trip).await;
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
