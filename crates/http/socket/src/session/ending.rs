//! The end of a socket.

use std::time::Duration;

use bytestring::ByteString;
use futures::StreamExt as _;
use tokio::time::timeout;

use super::{End, Session};
use crate::{
    CloseCode,
    frames::{ServerFrame, encode},
};

/// The time for running commands to end before the socket closes: longer than the timeout of an
/// unavailable store.
const RUNNING_COMMANDS_TIMEOUT: Duration = Duration::from_secs(5);

impl Session {
    /// Sends the replies of running commands before the socket closes, if the client can still use
    /// them.
    pub(super) async fn finish_running_commands(&mut self, end: &End) {
        let End::Close(CloseCode::RateLimited | CloseCode::Draining) = end else {
            return;
        };
        let replies = async {
            while let Some(finished) = self.commands.next().await {
                // The socket is closing already, so another fatal error changes nothing.
                if let Err(End::Close(CloseCode::SlowConsumer)) = self.apply(finished) {
                    return;
                }
            }
        };
        // Commands that take longer continue without the socket, or are not started.
        let _ = timeout(RUNNING_COMMANDS_TIMEOUT, replies).await;
    }

    /// Sends `goodbye` and closes the connection.
    pub(super) async fn close(&mut self, end: End) {
        // Releases the subscriptions and the stream slot.
        self.subscriber = None;
        self.commands.clear();
        let last = match &end {
            End::Close(code) => Some(self.goodbye(*code)),
            End::Closed(_) | End::Disconnected => None,
        };
        self.connection.close(end, last).await;
    }

    fn goodbye(&self, code: CloseCode) -> ByteString {
        let mut random = [0; 4];
        self.context.state.ids.fill_random(&mut random);
        encode(&ServerFrame::Goodbye {
            code: code.number(),
            reason: code.reason(),
            reconnect_after_ms: code.reconnect_after_ms(u32::from_ne_bytes(random)),
        })
    }
}
