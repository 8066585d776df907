//! Sockets that wait for the goodbye frame of a shutdown.

use anyhow::{Result, bail};
use dev_load::{
    Endpoint,
    socket::{Frame, Socket, json},
};
use tokio::{task::JoinSet, time::timeout};

use super::chat::TIMEOUT;

/// The number of open sockets.
const SOCKETS: usize = 50;

/// Opens sockets that wait for a goodbye frame.
pub(super) async fn open_sockets(endpoint: &Endpoint) -> Result<JoinSet<Result<()>>> {
    let mut sockets = JoinSet::new();
    let connect = serde_json::json!({"id": 1, "type": "connect", "channels": ["tenant"]});
    for _ in 0..SOCKETS {
        let mut socket = Socket::open(endpoint).await?;
        socket.command(&connect).await?;
        sockets.spawn(async move { timeout(TIMEOUT, wait_for_goodbye(&mut socket)).await? });
    }
    Ok(sockets)
}

async fn wait_for_goodbye(socket: &mut Socket) -> Result<()> {
    let mut is_announced = false;
    loop {
        match socket.next().await? {
            Frame::Text(frame) => {
                let frame = json(&frame)?;
                if frame["type"] == "goodbye" {
                    is_announced = frame["code"] == 4200 && frame["reconnectAfterMs"].is_u64();
                }
            }
            Frame::Close(4200) if is_announced => return Ok(()),
            other => bail!("{other:?}, announced: {is_announced}"),
        }
    }
}
