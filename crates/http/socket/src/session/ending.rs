//! The end of a socket.

use std::time::Duration;

use actix_ws::AggregatedMessage;
use futures::StreamExt as _;
use tokio::time::timeout;

use super::{End, Session};
use crate::{
    CloseCode,
    frames::{ServerFrame, encode},
};

/// The time for the client's answer to a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The time for running commands to end before the socket closes: longer than the timeout of an
/// unavailable store.
const RUNNING_COMMANDS_TIMEOUT: Duration = Duration::from_secs(5);

impl End {
    /// The label of the metric.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Close(code) => code.number().to_string(),
            Self::Closed(_) => "client".to_owned(),
            Self::Disconnected => "gone".to_owned(),
        }
    }
}

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

    /// Sends `goodbye` and a close frame, and waits briefly for the answer. The client can read the
    /// frames soon or not at all.
    pub(super) async fn close(&mut self, end: End) {
        // Releases the subscriptions and the stream slot.
        self.subscriber = None;
        self.commands.clear();
        self.progress.begin_closing();
        match end {
            End::Close(code) => {
                self.send_goodbye(code);
                if !self.wait_for_close_answer().await {
                    return;
                }
            }
            End::Closed(reason) => {
                // The client does not read the queued frames.
                self.send_queue.clear();
                self.send_queue.close(reason);
            }
            End::Disconnected => {}
        }
        self.progress.close_read();
    }

    /// Waits until the client answers the close frame, or the time for it is over. Returns false if
    /// the connection cannot be read any more: the rest of the input must then be discarded, or the
    /// close frame would be lost.
    async fn wait_for_close_answer(&mut self) -> bool {
        let answer = async {
            loop {
                match self.messages.next().await {
                    Some(Ok(AggregatedMessage::Close(_))) => return true,
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return false,
                }
            }
        };
        timeout(CLOSE_TIMEOUT, answer).await.unwrap_or(true)
    }

    fn send_goodbye(&self, code: CloseCode) {
        let mut random = [0; 4];
        self.context.state.ids.fill_random(&mut random);
        let goodbye = encode(&ServerFrame::Goodbye {
            code: code.number(),
            reason: code.reason(),
            reconnect_after_ms: code.reconnect_after_ms(u32::from_ne_bytes(random)),
        });
        if code == CloseCode::SlowConsumer || self.send_queue.push(goodbye.clone()).is_err() {
            self.send_queue.clear();
            // An empty queue accepts every frame.
            let _ = self.send_queue.push(goodbye);
        }
        self.send_queue.close(Some(code.into()));
    }
}
