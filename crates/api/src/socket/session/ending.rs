//! How a socket ends.

use super::{End, Session};
use crate::socket::{
    CloseCode,
    frames::{ServerFrame, encode},
};

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
    /// Says goodbye. What is written by then the client takes soon, or never.
    pub(super) fn part(self, end: End) {
        match end {
            End::Close(code) => self.say_goodbye(code),
            End::Closed(reason) => {
                // It does not want what still waits.
                self.outgoing.clear();
                self.outgoing.close(reason);
            }
            End::Gone => {}
        }
        self.progress.part();
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
