//! How a socket ends.

use std::time::Duration;

use actix_ws::AggregatedMessage;
use futures::StreamExt as _;
use tokio::time::timeout;

use super::{End, Session};
use crate::socket::{
    CloseCode,
    frames::{ServerFrame, encode},
};

/// How long a client may take to answer a close.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long commands that were taken may take to end when the socket is about to close: a store
/// that is away is given up sooner.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

impl End {
    /// What it is counted as.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Close(code) => code.number().to_string(),
            Self::Closed(_) => "client".to_owned(),
            Self::Gone => "gone".to_owned(),
        }
    }
}

impl Session {
    /// Answers what was taken before the socket closes, where the client can still use it.
    pub(super) async fn answer_what_is_in_hand(&mut self, end: &End) {
        let End::Close(CloseCode::RateLimited | CloseCode::Draining) = end else {
            return;
        };
        let answers = async {
            while let Some(finished) = self.commands.next().await {
                // What is wrong with one of them closes the socket no more than it closes anyway.
                if let Err(End::Close(CloseCode::SlowConsumer)) = self.finish(finished) {
                    return;
                }
            }
        };
        // What takes longer goes on without the socket, or is not begun.
        let _ = timeout(LAST_ANSWERS, answers).await;
    }

    /// Says goodbye, and waits a moment for the client to say so too. What was written by then it
    /// takes soon, or never.
    pub(super) async fn part(mut self, end: End) {
        // Whatever it held is free from now on.
        self.member = None;
        self.commands.clear();
        self.progress.part();
        match end {
            End::Close(code) => {
                self.say_goodbye(code);
                if !self.is_read_to_the_end().await {
                    return;
                }
            }
            End::Closed(reason) => {
                // It does not want what still waits.
                self.outgoing.clear();
                self.outgoing.close(reason);
            }
            End::Gone => {}
        }
        self.progress.hang_up();
    }

    /// Waits for the client to answer the close, or to have had the time for it. False when it
    /// cannot be read any more: what it still sends has to be discarded, or the close would be
    /// lost on its way.
    async fn is_read_to_the_end(&mut self) -> bool {
        let answer = async {
            loop {
                match self.messages.next().await {
                    Some(Ok(AggregatedMessage::Close(_))) => return true,
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return false,
                }
            }
        };
        timeout(PATIENCE, answer).await.unwrap_or(true)
    }

    fn say_goodbye(&self, code: CloseCode) {
        let mut random = [0; 4];
        self.context.state.ids.fill_random(&mut random);
        let goodbye = encode(&ServerFrame::Goodbye {
            code: code.number(),
            reason: code.reason(),
            reconnect_after_ms: code.reconnect_after_ms(u32::from_ne_bytes(random)),
        });
        if code == CloseCode::SlowConsumer || self.outgoing.push(goodbye.clone()).is_err() {
            self.outgoing.clear();
            // It finds nothing before it, so it is taken.
            let _ = self.outgoing.push(goodbye);
        }
        self.outgoing.close(Some(code.into()));
    }
}
