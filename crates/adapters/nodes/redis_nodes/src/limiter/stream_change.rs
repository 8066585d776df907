//! Changes of the open streams of principals in the server.

use std::{sync::LazyLock, time::Duration};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use redis::{RedisResult, Script};

use crate::connection::Connection;

const SOURCE: &str = include_str!("open_streams.lua");
static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(SOURCE));

/// The time after which the streams of a process that has crashed are forgotten.
pub(super) const LIFETIME: Duration = Duration::from_secs(10);
/// The number of calls of a Cluster at the same time.
const CONCURRENT_CALLS: usize = 32;

/// A change of the open streams of a principal.
pub(super) struct StreamChange {
    pub(super) key: String,
    /// The maximum number of streams; `None` if they are added in any case.
    pub(super) most: Option<u32>,
    /// The streams to add. One that exists already counts once.
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
}

impl StreamChange {
    /// Applies the change. Returns `false` if too many streams are open; none is added then.
    pub(super) async fn apply(&self, connection: &mut Connection) -> RedisResult<bool> {
        let mut script = SCRIPT.key(&self.key);
        script.arg(self.arguments());
        script.invoke_async(connection).await
    }

    fn arguments(&self) -> Vec<String> {
        let lifetime = LIFETIME.as_millis().to_string();
        let most = self.most.map_or(-1, i64::from).to_string();
        let mut arguments = vec![lifetime, most, self.added.len().to_string()];
        arguments.extend_from_slice(&self.added);
        arguments.extend_from_slice(&self.removed);
        arguments
    }
}

/// Applies changes without a maximum: in one round trip, except in a Cluster, whose servers have
/// different keys.
pub(super) async fn apply_all(
    connection: &mut Connection,
    changes: &[StreamChange],
) -> RedisResult<()> {
    if let Connection::Cluster(_) = connection {
        let connection = &*connection;
        return stream::iter(changes)
            .map(Ok)
            .try_for_each_concurrent(CONCURRENT_CALLS, async |change: &StreamChange| {
                change.apply(&mut connection.clone()).await.map(drop)
            })
            .await;
    }
    let mut pipeline = redis::pipe();
    for (index, change) in changes.iter().enumerate() {
        // The first command loads the script.
        let (command, script) = match index {
            0 => ("EVAL", SOURCE),
            _ => ("EVALSHA", SCRIPT.get_hash()),
        };
        let call = pipeline.cmd(command).arg(script).arg(1).arg(&change.key);
        call.arg(change.arguments()).ignore();
    }
    pipeline.query_async(connection).await
}
