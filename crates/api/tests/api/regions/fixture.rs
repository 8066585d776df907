//! A home service, and a far service whose sessions on the same database are read-only.

use std::time::{Duration, Instant};

use dev_load::wide_area::Link;
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, PgConnection};
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    postgres::Database,
    script::{Script, scripted},
};

/// The key of the far region.
pub(crate) const KEY: &str = "the-key-of-the-far-region-in-these-tests";

/// The largest body that is accepted by default.
const BODY_BYTES: usize = 256 * 1024;
/// The bytes of one rule of a large agent.
const RULE_BYTES: usize = 8_000;

/// Two services of one deployment.
pub(crate) struct Regions {
    pub(crate) home: ApiServer,
    pub(crate) far: ApiServer,
    /// The calls of the engine `scripted` at home.
    pub(crate) script: Script,
    pub(crate) database: Database,
    /// The database of the far service, if it is another one.
    pub(crate) _replica: Option<Database>,
}

impl Regions {
    pub(crate) async fn start() -> Self {
        Self::start_with(|far| far).await
    }

    /// With a replica that has replayed nothing but the schema.
    pub(crate) async fn start_unreplicated() -> Self {
        let empty = Database::make().await;
        let migrated = ApiServerBuilder::default().setting("DATABASE_URL", &empty.url());
        migrated.start().await.stop().await;
        let replica = read_only(&empty);
        let home = Self::start_home(|home| home).await;
        let id: Uuid = sqlx::query_scalar("select store_id from store_state")
            .fetch_one(&mut connection(&home.database).await)
            .await
            .expect("an id");
        sqlx::query("update store_state set store_id = $1")
            .bind(id)
            .execute(&mut connection(&empty).await)
            .await
            .expect("the same id");
        let far = |far: ApiServerBuilder| far.setting("DATABASE_URL", &replica);
        Self {
            _replica: Some(empty),
            ..home.with_far(far).await
        }
    }

    /// With a link between them that has this round trip.
    pub(crate) async fn start_distant(round_trip: Duration) -> (Self, Link) {
        Self::start_distant_with(round_trip, |home| home).await
    }

    /// With a link between them, and other settings for the home service.
    pub(crate) async fn start_distant_with(
        round_trip: Duration,
        change_home: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder,
    ) -> (Self, Link) {
        let link = Link::open(&Handle::current(), round_trip).expect("a link");
        let home = Self::start_home(change_home).await;
        link.lead_to(home.home.address);
        let url = format!("http://{}", link.address);
        let far = |far: ApiServerBuilder| far.setting("REGION__HOME_URL", &url);
        (home.with_far(far).await, link)
    }

    /// With other settings for the far service.
    pub(crate) async fn start_with(
        change: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder,
    ) -> Self {
        Self::start_both(|home| home, change).await
    }

    /// With other settings for both services.
    pub(crate) async fn start_both(
        change_home: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder,
        change_far: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder,
    ) -> Self {
        Self::start_home(change_home)
            .await
            .with_far(change_far)
            .await
    }

    async fn start_home(change: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder) -> HomeRegion {
        let database = Database::make().await;
        let (engine, script) = scripted();
        let home = home_builder(&database).engine("scripted", engine);
        let home = change(home).start().await;
        HomeRegion {
            home,
            script,
            database,
        }
    }
}

/// A home service without a far one.
struct HomeRegion {
    home: ApiServer,
    script: Script,
    database: Database,
}

impl HomeRegion {
    async fn with_far(self, change: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder) -> Regions {
        let Self {
            home,
            script,
            database,
        } = self;
        let url = format!("http://{}", home.address);
        let far = change(far_builder(&database, &url)).join(&home).await;
        wait_until_ready(&far).await;
        Regions {
            home,
            far,
            script,
            database,
            _replica: None,
        }
    }
}

/// A connection to a database.
pub(super) async fn connection(database: &Database) -> PgConnection {
    let connection = database.options().connect().await;
    connection.expect("the server answers")
}

/// Waits until a far service accepts credentials, which needs a report of its home.
pub(super) async fn wait_until_ready(far: &ApiServer) {
    let began = Instant::now();
    while far.anonymous().get("/readyz").await.status != 200 {
        assert!(began.elapsed() < Duration::from_secs(10), "not ready");
    }
}

/// The settings of a home service.
pub(crate) fn home_builder(database: &Database) -> ApiServerBuilder {
    ApiServerBuilder::default()
        .setting("DATABASE_URL", &database.url())
        .setting("REGION__NAME", "us")
        .setting(
            "REGIONS__EU__KEYS",
            &format!("an-older-key-of-the-same-region-0123,{KEY}"),
        )
        .setting("REGIONS__EU__URL", "https://eu.example.org")
        .setting("AUTH__ISSUER_URL", "https://agents.example.org")
}

/// The settings of a far service whose home is at `url`.
pub(crate) fn far_builder(database: &Database, url: &str) -> ApiServerBuilder {
    let (engine, _) = scripted();
    ApiServerBuilder::default()
        .engine("scripted", engine)
        .setting("DATABASE_URL", &read_only(database))
        .setting("REGION__NAME", "eu")
        .setting("REGION__HOME_URL", url)
        .setting("REGION__KEY", KEY)
        .setting("AUTH__ISSUER_URL", "https://agents.example.org")
}

/// The URL of a database for sessions that accept no writes.
fn read_only(database: &Database) -> String {
    let separator = if database.url().contains('?') {
        '&'
    } else {
        '?'
    };
    let url = database.url();
    format!("{url}{separator}options[default_transaction_read_only]=on")
}

/// An agent whose JSON is nearly the largest body.
pub(crate) fn large_agent() -> Value {
    let reply = "x".repeat(RULE_BYTES - 100);
    let rule = |number| json!({ "pattern": format!("rule {number}"), "reply": reply });
    let rules: Vec<_> = (0..BODY_BYTES / RULE_BYTES).map(rule).collect();
    let agent = json!({ "name": "Ada", "config": { "engine": "rules", "rules": rules } });
    let bytes = agent.to_string().len();
    assert!(
        (BODY_BYTES / 16 * 15..=BODY_BYTES).contains(&bytes),
        "{bytes}"
    );
    agent
}
